// SPDX-License-Identifier: Apache-2.0
// Requests to leave HTTP for another protocol (docs/spec/apiserver.md 2.3), and the answer to those
// for WebSocket.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/apiserver/request/http.hpp"

namespace athanor::apiserver {

// Splits "a, b,c" into its elements.
std::vector<std::string> header_elements(std::string_view header);
// Returns true if the request wants that protocol ("websocket", "spdy/3.1").
bool asks_to_upgrade(const Request& request, std::string_view protocol);
// Returns the client's WebSocket subprotocols without the one that carries its token.
std::vector<std::string> offered_subprotocols(const Request& request);
// Returns 101 with that tunnel. An empty subprotocol is not named.
Response websocket_response(const Request& request, const std::string& subprotocol,
                            std::unique_ptr<Tunnel> tunnel);

}  // namespace athanor::apiserver
