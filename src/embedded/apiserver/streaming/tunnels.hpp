// SPDX-License-Identifier: Apache-2.0
// The protocols of exec, attach and port-forward over an upgraded connection
// (docs/spec/apiserver.md 12.5).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/apiserver/request/http.hpp"
#include "embedded/apiserver/streaming/channels.hpp"
#include "embedded/apiserver/streaming/pod_streams.hpp"

namespace athanor::apiserver {

// Returns a command or an attached container as channels of WebSocket messages, in one of
// exec_protocols(), which outlives it.
std::unique_ptr<Tunnel> websocket_exec(std::unique_ptr<PodSession> session,
                                       const ExecOptions& options, const ChannelProtocol& protocol);
// Returns the same as streams of SPDY, with v4's status on the error stream.
std::unique_ptr<Tunnel> spdy_exec(std::unique_ptr<PodSession> session, const ExecOptions& options);

using PortDialer = std::function<Result<std::unique_ptr<PodSession>>(std::uint16_t port)>;

// Pairs of SPDY streams, one pair a connection.
std::unique_ptr<Tunnel> spdy_ports(PortDialer dial);
// Returns two channels a port, connected at once, in one of port_protocols().
Result<std::unique_ptr<Tunnel>> websocket_ports(const PortDialer& dial,
                                                const std::vector<std::uint16_t>& ports,
                                                const ChannelProtocol& protocol);
// Wraps another tunnel's bytes in binary messages (SPDY/3.1+portforward.k8s.io).
std::unique_ptr<Tunnel> inside_websocket(std::unique_ptr<Tunnel> inner);

// Returns a watch's events, one document a line, as text messages.
std::unique_ptr<Tunnel> websocket_watch(std::unique_ptr<Stream> events);

// Returns the Status of a command's end.
std::string exit_status(const PodSession::Output& output);
// Applies {"Width":80,"Height":24}; anything else is ignored.
void apply_resize(PodSession& session, std::string_view json_text);

}  // namespace athanor::apiserver
