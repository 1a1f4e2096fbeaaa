// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/streaming/upgrade_request.hpp"

#include <algorithm>
#include <cctype>

#include "base/ascii.hpp"
#include "embedded/apiserver/streaming/websocket.hpp"

namespace athanor::apiserver {
std::vector<std::string> header_elements(std::string_view header) {
  std::vector<std::string> elements;
  while (!header.empty()) {
    const std::size_t end = std::min(header.find(','), header.size());
    std::string_view element = header.substr(0, end);
    header.remove_prefix(std::min(end + 1, header.size()));
    while (element.starts_with(' ')) {
      element.remove_prefix(1);
    }
    while (element.ends_with(' ')) {
      element.remove_suffix(1);
    }
    if (!element.empty()) {
      elements.emplace_back(element);
    }
  }
  return elements;
}

bool asks_to_upgrade(const Request& request, std::string_view protocol) {
  const std::vector<std::string> connection = header_elements(request.header_list("connection"));
  const bool upgrades =
      std::any_of(connection.begin(), connection.end(),
                  [](const std::string& element) { return lower(element) == "upgrade"; });
  return upgrades && lower(request.header("upgrade")) == protocol;
}

std::vector<std::string> offered_subprotocols(const Request& request) {
  constexpr std::string_view kToken = "base64url.bearer.authorization.k8s.io.";
  std::vector<std::string> offered = header_elements(request.header_list("sec-websocket-protocol"));
  std::erase_if(offered, [&](const std::string& one) { return one.starts_with(kToken); });
  return offered;
}

Response websocket_response(const Request& request, const std::string& subprotocol,
                            std::unique_ptr<Tunnel> tunnel) {
  Response response;
  response.status = 101;
  response.content_type.clear();
  response.headers.emplace_back("Connection", "Upgrade");
  response.headers.emplace_back("Upgrade", "websocket");
  response.headers.emplace_back("Sec-WebSocket-Accept",
                                websocket_accept(request.header("sec-websocket-key")));
  if (!subprotocol.empty()) {
    response.headers.emplace_back("Sec-WebSocket-Protocol", subprotocol);
  }
  response.tunnel = std::move(tunnel);
  return response;
}

}  // namespace athanor::apiserver
