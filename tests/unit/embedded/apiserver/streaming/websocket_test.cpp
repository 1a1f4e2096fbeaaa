// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/streaming/websocket.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "embedded/apiserver/streaming/websocket_peer.hpp"

namespace athanor::apiserver::websocket_test {
namespace {

// A client's frame: masked with 1, 2, 3, 4.
std::string masked(unsigned first, const std::string& payload) {
  std::string frame(1, static_cast<char>(first));
  if (payload.size() < 126) {
    frame += static_cast<char>(0x80U | payload.size());
  } else {
    frame += static_cast<char>(0x80U | 126U);
    frame += static_cast<char>(payload.size() >> 8U);
    frame += static_cast<char>(payload.size() & 0xFFU);
  }
  frame += "\x01\x02\x03\x04";
  for (std::size_t i = 0; i < payload.size(); ++i) {
    frame += static_cast<char>(static_cast<unsigned char>(payload[i]) ^ (i % 4 + 1));
  }
  return frame;
}

constexpr unsigned kText = 0x81;
constexpr unsigned kBinary = 0x82;
constexpr unsigned kClose = 0x88;
constexpr unsigned kPing = 0x89;

TEST(WebSocket, AcceptsAsTheStandardSays) {
  EXPECT_EQ(websocket_accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(WebSocket, ReadsMessagesHoweverTheyArrive) {
  const std::string bytes = masked(kBinary, "hello") + masked(kText, std::string(300, 'x'));
  for (const std::size_t step : {std::size_t{1}, std::size_t{3}, bytes.size()}) {
    WebSocketReader reader;
    std::vector<std::string> messages;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      reader.feed(std::string_view(bytes).substr(at, step));
      while (auto message = reader.next()) {
        messages.push_back(message->payload);
      }
    }
    EXPECT_EQ(messages, (std::vector<std::string>{"hello", std::string(300, 'x')})) << step;
    EXPECT_EQ(reader.broken(), 0);
  }
}

TEST(WebSocket, PutsFragmentsTogetherAroundPings) {
  WebSocketReader reader;
  reader.feed(masked(0x02, "ab") + masked(kPing, "p") + masked(0x00, "cd") + masked(0x80, "e"));
  EXPECT_EQ(reader.next()->opcode, WebSocketOpcode::Ping);
  const auto message = reader.next();
  ASSERT_TRUE(message);
  EXPECT_EQ(message->payload, "abcde");
  EXPECT_EQ(message->opcode, WebSocketOpcode::Binary);
}

TEST(WebSocket, RefusesProtocolViolations) {
  const std::string huge("\x82\xff\x00\x00\x00\x00\x7f\xff\xff\xff", 10);
  const struct {
    std::string bytes;
    int code;
  } cases[] = {
      {std::string("\x82\x05hello", 7), 1002},           // no mask
      {masked(0xC2, "x"), 1002},                         // a reserved bit
      {masked(0x83, "x"), 1002},                         // an unknown opcode
      {masked(0x09, "x"), 1002},                         // a ping in pieces
      {masked(kPing, std::string(126, 'x')), 1002},      // a long ping
      {masked(0x80, "x"), 1002},                         // goes on with nothing
      {masked(0x02, "x") + masked(kBinary, "y"), 1002},  // begins inside another
      {huge, 1009},                                      // 2 GiB
  };
  for (const auto& c : cases) {
    WebSocketReader reader;
    reader.feed(c.bytes);
    while (reader.next()) {
    }
    EXPECT_EQ(reader.broken(), c.code);
  }
}

TEST(WebSocket, SurvivesDamage) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = masked(kBinary, "hello") + masked(0x02, "a") + masked(0x80, "b");
    bytes[random() % bytes.size()] = static_cast<char>(random());
    WebSocketReader reader;
    reader.feed(bytes);
    std::size_t messages = 0;
    while (reader.next()) {
      ++messages;
    }
    EXPECT_LE(messages, 3U);
  }
}

TEST(WebSocket, WritesEveryLength) {
  EXPECT_EQ(websocket_frame(WebSocketOpcode::Binary, "hi"), "\x82\x02hi");
  EXPECT_EQ(websocket_frame(WebSocketOpcode::Binary, std::string(126, 'x')).substr(0, 4),
            std::string("\x82\x7e\x00\x7e", 4));
  EXPECT_EQ(websocket_frame(WebSocketOpcode::Binary, std::string(65536, 'x')).substr(0, 10),
            std::string("\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00", 10));
  EXPECT_EQ(websocket_close(1000), std::string("\x88\x02\x03\xe8", 4));
}

TEST(WebSocket, PeersAnswerPingsAndCloses) {
  WebSocketPeer peer;
  std::vector<std::string> taken;
  const auto take = [&taken](std::string_view message) { taken.emplace_back(message); };
  peer.feed(masked(kPing, "now") + masked(kBinary, "a") + masked(kClose, "\x03\xe8") +
                masked(kBinary, "late"),
            take);
  std::string out;
  peer.flush(out);
  EXPECT_EQ(taken, std::vector<std::string>{"a"});
  EXPECT_TRUE(peer.closed());
  EXPECT_EQ(out, "\x8a\x03now" + websocket_close(1000));
  WebSocketPeer broken;
  broken.feed("\x82\x01x", take);
  out.clear();
  broken.flush(out);
  EXPECT_TRUE(broken.closed());
  EXPECT_EQ(out, websocket_close(1002));
}

// Clients that ping and never read cost one answer (RFC 6455, 5.5.3).
TEST(WebSocket, OfManyPingsTheLastIsAnswered) {
  WebSocketPeer peer;
  for (int i = 0; i < 10'000; ++i) {
    peer.feed(masked(kPing, std::string(100, 'x')), [](std::string_view) {});
  }
  peer.feed(masked(kPing, "last"), [](std::string_view) {});
  std::string out;
  peer.flush(out);
  EXPECT_EQ(out, "\x8a\x04last");
  out.clear();
  peer.flush(out);
  EXPECT_EQ(out, "");
}

// A million small frames at once: each is read once, not moved for each that comes before it.
TEST(WebSocket, ReadsManySmallFramesInLinearTime) {
  std::string bytes;
  for (int i = 0; i < 500'000; ++i) {
    bytes += masked(kPing, "");
  }
  WebSocketReader reader;
  reader.feed(bytes);
  const auto began = std::chrono::steady_clock::now();
  std::size_t count = 0;
  while (reader.next()) {
    ++count;
  }
  EXPECT_EQ(count, 500'000U);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

TEST(WebSocket, BoundsMessagesByReaderLimit) {
  for (const bool fragments : {false, true}) {
    WebSocketReader reader(300);
    reader.feed(masked(kBinary, std::string(300, 'x')));
    EXPECT_TRUE(reader.next());
    if (fragments) {
      reader.feed(masked(0x02, std::string(200, 'x')) + masked(0x80, std::string(101, 'x')));
    } else {
      reader.feed(masked(kBinary, std::string(301, 'x')));
    }
    EXPECT_FALSE(reader.next());
    EXPECT_EQ(reader.broken(), 1009);
  }
}

}  // namespace
}  // namespace athanor::apiserver::websocket_test
