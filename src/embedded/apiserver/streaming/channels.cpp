// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/streaming/channels.hpp"

#include <algorithm>
#include <utility>

#include "base/digest.hpp"
#include "embedded/apiserver/streaming/websocket.hpp"

namespace athanor::apiserver {
namespace {

constexpr ChannelProtocol kExecProtocols[] = {
    {.name = "v5.channel.k8s.io", .closes_input = true},
    {.name = "v4.channel.k8s.io"},
    {.name = "v4.base64.channel.k8s.io", .is_text = true},
    {.name = "channel.k8s.io", .has_status = false},
    {.name = "base64.channel.k8s.io", .is_text = true, .has_status = false},
    {.name = "", .has_status = false},
};
constexpr ChannelProtocol kPortProtocols[] = {
    {.name = "v4.channel.k8s.io"},
    {.name = "v4.base64.channel.k8s.io", .is_text = true},
};

}  // namespace

std::span<const ChannelProtocol> exec_protocols() {
  return kExecProtocols;
}

std::span<const ChannelProtocol> port_protocols() {
  return kPortProtocols;
}

const ChannelProtocol& find_protocol(std::span<const ChannelProtocol> protocols,
                                     std::string_view name) {
  const auto at = std::ranges::find(protocols, name, &ChannelProtocol::name);
  return at == protocols.end() ? protocols.front() : *at;
}

std::vector<std::string> names_of(std::span<const ChannelProtocol> protocols) {
  std::vector<std::string> names;
  for (const ChannelProtocol& one : protocols) {
    names.emplace_back(one.name);
  }
  return names;
}

std::string channel_frame(const ChannelProtocol& protocol, const ChannelMessage& message) {
  if (protocol.is_text) {
    return websocket_frame(
        WebSocketOpcode::Text,
        std::string(1, static_cast<char>('0' + message.channel)) + base64_encode(message.bytes));
  }
  return websocket_frame(WebSocketOpcode::Binary,
                         std::string(1, static_cast<char>(message.channel)) + message.bytes);
}

std::optional<ChannelMessage> read_channel_message(const ChannelProtocol& protocol,
                                                   std::string_view message) {
  if (message.empty()) {
    return std::nullopt;
  }
  const std::size_t number = static_cast<unsigned char>(message.front());
  const std::string_view rest = message.substr(1);
  if (!protocol.is_text) {
    return ChannelMessage{.channel = number, .bytes = std::string(rest)};
  }
  auto bytes = base64_decode(rest);
  if (number < '0' || !bytes) {
    return std::nullopt;
  }
  return ChannelMessage{.channel = number - '0', .bytes = *std::move(bytes)};
}

}  // namespace athanor::apiserver
