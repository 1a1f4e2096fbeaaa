// SPDX-License-Identifier: Apache-2.0
// Requests to leave HTTP for another protocol (docs/spec/apiserver.md 2.3), and the answer to those
// for WebSocket.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.hpp"

namespace athanor::apiserver {

// "a, b,c" as its elements.
std::vector<std::string> header_elements(std::string_view header);
// Whether the request wants that protocol ("websocket", "spdy/3.1").
bool asks_to_upgrade(const Request& request, std::string_view protocol);
// 101 with that tunnel. An empty subprotocol is not named.
Response websocket_response(const Request& request, const std::string& subprotocol,
                            std::unique_ptr<Tunnel> tunnel);

}  // namespace athanor::apiserver
