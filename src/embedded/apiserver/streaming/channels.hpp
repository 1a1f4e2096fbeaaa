// SPDX-License-Identifier: Apache-2.0
// Channels of exec, attach and port-forward as messages of a WebSocket: a channel's number and
// bytes (docs/spec/apiserver.md 12.5).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace athanor::apiserver {

// A subprotocol and how it differs from the others.
struct ChannelProtocol {
  std::string_view name{};  // empty: the client names none
  bool is_text = false;     // the channel is a digit, the bytes are in base64
  bool has_status = true;   // the error channel has a Status at every end; else a failure's message
  bool closes_input = false;  // the client can close a channel
};

// Returns the subprotocols of exec and attach.
std::span<const ChannelProtocol> exec_protocols();
// Returns the subprotocols of port-forward that have channels.
std::span<const ChannelProtocol> port_protocols();
// Returns the protocol of that name; without one the first.
const ChannelProtocol& find_protocol(std::span<const ChannelProtocol> protocols,
                                     std::string_view name);
std::vector<std::string> names_of(std::span<const ChannelProtocol> protocols);

struct ChannelMessage {
  std::size_t channel = 0;
  std::string bytes{};
};
// Returns the frame of a message.
std::string channel_frame(const ChannelProtocol& protocol, const ChannelMessage& message);
// Reads a client's message; nullopt: it has no channel, or no base64 where this is due.
std::optional<ChannelMessage> read_channel_message(const ChannelProtocol& protocol,
                                                   std::string_view message);

}  // namespace athanor::apiserver
