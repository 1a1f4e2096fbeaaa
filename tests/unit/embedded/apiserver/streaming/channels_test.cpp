// SPDX-License-Identifier: Apache-2.0
// The channel protocols of exec, attach and port-forward, from the first to the newest.
#include "embedded/apiserver/streaming/channels.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "embedded/apiserver/streaming/tunnels.hpp"
#include "embedded/apiserver/streaming/websocket.hpp"
#include "unit/embedded/apiserver/streaming/fake_session.hpp"

namespace athanor::apiserver::channels_test {
namespace {

// A client's frame, masked with zeros.
std::string client_frame(WebSocketOpcode opcode, const std::string& payload) {
  std::string frame = websocket_frame(opcode, payload);
  frame[1] = static_cast<char>(frame[1] | '\x80');
  return frame.insert(2, 4, '\0');
}

// The server's frames, each as opcode and payload; payloads are short.
std::vector<std::pair<int, std::string>> frames_in(std::string_view bytes) {
  std::vector<std::pair<int, std::string>> frames;
  while (bytes.size() >= 2) {
    const auto size = static_cast<std::size_t>(bytes[1]);
    const bool is_long = size == 126;
    const std::size_t head = is_long ? 4 : 2;
    const std::size_t length =
        is_long ? static_cast<unsigned char>(bytes[2]) * 256U + static_cast<unsigned char>(bytes[3])
                : size;
    frames.emplace_back(bytes[0] & 0x0F, std::string(bytes.substr(head, length)));
    bytes.remove_prefix(head + length);
  }
  return frames;
}

// What a client sees of a command that reads "in" and ends with an exit code.
struct Seen {
  std::string input{};
  std::vector<std::pair<int, std::string>> frames{};
};
Seen talk(const ChannelProtocol& protocol, int exit_code) {
  auto log = std::make_shared<test::SessionLog>();
  const ExecOptions options{.command = {"x"}, .input = true, .output = true};
  auto tunnel = websocket_exec(std::make_unique<test::FakeSession>(log), options, protocol);
  tunnel->feed(protocol.is_text ? client_frame(WebSocketOpcode::Text, "0aW4=")
                                : client_frame(WebSocketOpcode::Binary, std::string("\0in", 3)));
  log->out = "out";
  log->exit_code = exit_code;
  std::string bytes;
  EXPECT_EQ(tunnel->pull(bytes), Tunnel::State::Ended);
  return {.input = log->input, .frames = frames_in(bytes)};
}

TEST(Channels, CarryInputOutputAndEnd) {
  constexpr int kText = 1;
  constexpr int kBinary = 2;
  for (const ChannelProtocol& protocol : exec_protocols()) {
    const Seen seen = talk(protocol, 3);
    EXPECT_EQ(seen.input, "in") << protocol.name;
    ASSERT_EQ(seen.frames.size(), 3U) << protocol.name;
    EXPECT_EQ(seen.frames[0].first, protocol.is_text ? kText : kBinary);
    EXPECT_EQ(seen.frames[0].second, protocol.is_text ? "1b3V0" : "\1out") << protocol.name;
    const auto end = read_channel_message(protocol, seen.frames[1].second);
    ASSERT_TRUE(end.has_value()) << protocol.name;
    EXPECT_EQ(end->channel, 3U);
    EXPECT_NE(end->bytes.find("exit code 3"), std::string::npos) << end->bytes;
    EXPECT_EQ(end->bytes.starts_with("{"), protocol.has_status) << end->bytes;
  }
}

// Before the fourth protocol a good end has no words.
TEST(Channels, EndWellAsTheirProtocolSays) {
  EXPECT_EQ(talk(find_protocol(exec_protocols(), "v4.base64.channel.k8s.io"), 0).frames.size(), 3U);
  EXPECT_EQ(talk(find_protocol(exec_protocols(), "base64.channel.k8s.io"), 0).frames.size(), 2U);
  EXPECT_EQ(talk(find_protocol(exec_protocols(), ""), 0).frames.size(), 2U);
}

TEST(Channels, IgnoreMessagesWithoutChannel) {
  const ChannelProtocol& text = find_protocol(exec_protocols(), "base64.channel.k8s.io");
  for (const char* message : {"", "0not base64!", "\x01YQ=="}) {
    EXPECT_FALSE(read_channel_message(text, message).has_value()) << message;
  }
  EXPECT_FALSE(
      read_channel_message(find_protocol(exec_protocols(), "v4.channel.k8s.io"), "").has_value());
}

TEST(Channels, CarryPortsInBase64) {
  auto log = std::make_shared<test::SessionLog>();
  const PortDialer dial = [&](std::uint16_t) -> Result<std::unique_ptr<PodSession>> {
    return std::unique_ptr<PodSession>(std::make_unique<test::FakeSession>(log));
  };
  auto tunnel =
      websocket_ports(dial, {80}, find_protocol(port_protocols(), "v4.base64.channel.k8s.io"));
  ASSERT_TRUE(tunnel.ok());
  (*tunnel)->feed(client_frame(WebSocketOpcode::Text, "0aW4="));
  EXPECT_EQ(log->input, "in");
  log->out = "out";
  std::string bytes;
  EXPECT_EQ((*tunnel)->pull(bytes), Tunnel::State::Open);
  const std::vector<std::pair<int, std::string>> expected = {
      {1, "0UAA="}, {1, "1UAA="}, {1, "0b3V0"}};
  EXPECT_EQ(frames_in(bytes), expected);
}

}  // namespace
}  // namespace athanor::apiserver::channels_test
