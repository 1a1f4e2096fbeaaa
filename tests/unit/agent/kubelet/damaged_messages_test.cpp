// SPDX-License-Identifier: Apache-2.0
// Damaged gRPC messages to the agent's sockets and from a kubelet: each is answered, and right ones
// are served as before (docs/spec/das.md 8.3).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "fake_kubelet/node_sockets.hpp"

namespace athanor::fake_kubelet::damaged_messages_test {
namespace {

constexpr int kInvalidArgument = 3;

const std::string kContainer = field(1, "1g.5gb-0");
const std::string kAsk = field(1, kContainer);
const std::string kClaims = field(1, field(1, "ns") + field(2, "u-1") + field(3, "c-1"));
const std::string kPods = field(
    1, field(1, "p") + field(2, "ns") +
           field(3, field(1, "c") + field(2, field(1, "mig.das.com/1g.5gb") + field(2, "i"))));

TEST(DamagedMessages, AreAnsweredWithAnError) {
  NodeSockets node;
  struct Case {
    const char* name;
    std::string body;
    int status;
  };
  for (const Case& one : std::vector<Case>{
           {"cut off", kAsk.substr(0, kAsk.size() - 1), kInvalidArgument},
           {"a length beyond the message", "\x0a\xff\xff\xff\xff\x07", kInvalidArgument},
           {"a length of 2^64", "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", kInvalidArgument},
           {"an endless number", std::string(40, '\xff'), kInvalidArgument},
           {"a text that is no UTF-8", field(1, field(1, "\xff\xfe")), kInvalidArgument},
           {"no container", "", kInvalidArgument},
           {"a number where a container belongs", "\x08\x07", kInvalidArgument},
           {"a container without devices", field(1, ""), kInvalidArgument},
           {"a device without a name", field(1, field(1, "")), kInvalidArgument},
           {"a number where a device belongs", field(1, "\x08\x07"), kInvalidArgument},
           {"a device twice", field(1, kContainer + kContainer), kInvalidArgument},
           {"one container right, one empty", kAsk + field(1, ""), kInvalidArgument},
           {"unknown fields beside right ones", kAsk + field(99, "x"), 0}}) {
    EXPECT_EQ(node.allocate(one.body).status, one.status) << one.name;
    EXPECT_EQ(node.still_serves(), "") << one.name;
  }
}

TEST(DamagedMessages, IgnoreClaimsWithoutNames) {
  NodeSockets node;
  std::string many;
  for (int i = 0; i < 2000; ++i) {
    many += field(1, field(1, "ns") + field(2, std::to_string(i)) + field(3, "c"));
  }
  for (const std::string& body :
       {std::string(1 << 20, '\0'), field(1, ""), kClaims + field(1, field(2, "u-2")),
        kClaims + kClaims, many, kClaims.substr(0, 5)}) {
    for (const char way : {'p', 'u', 'r', 'k'}) {
      EXPECT_EQ(node.send(way, body), "") << way << " " << body.size();
    }
  }
  EXPECT_EQ(node.still_serves(), "");
}

// A message of more than 4 MiB is refused, and so is what is not even HTTP/2.
TEST(DamagedMessages, LargeOnesAndNoise) {
  NodeSockets node;
  EXPECT_EQ(node.allocate(field(1, field(1, std::string(5 << 20, 'x')))).status, 8);
  EXPECT_EQ(node.send('k', field(1, field(1, std::string(20 << 20, 'x')))), "");
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  for (const std::string& noise :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(100'000, '\xff'), preface,
        preface + std::string(100'000, '\xff'),
        preface + std::string("\xff\xff\xff\4\0\0\0\0\0", 9), std::string()}) {
    EXPECT_EQ(node.send('h', noise), "");
    EXPECT_EQ(node.still_serves(), "");
  }
}

TEST(DamagedMessages, OfEveryMethodByChance) {
  NodeSockets node;
  const std::vector<std::pair<char, std::string>> right{
      {'a', kAsk + kAsk},  {'w', ""},      {'o', ""},      {'f', field(1, field(2, "i"))},
      {'s', kContainer},   {'p', kClaims}, {'u', kClaims}, {'r', "\x08\x01" + field(2, "no")},
      {'k', kPods + kPods}};
  for (unsigned int seed = 1; seed <= 600; ++seed) {
    std::mt19937 random(seed);
    const auto& [way, message] = right[seed % right.size()];
    std::string body = message;
    for (unsigned int i = 0; i < 1 + random() % 4; ++i) {
      const std::size_t at = random() % (body.size() + 1);
      switch (random() % 4) {
        case 0:
          body.resize(at);
          break;
        case 1:
          body.insert(at, std::string(random() % 9, static_cast<char>(random())));
          break;
        case 2:
          body.insert(at, body);
          break;
        default:
          if (at < body.size()) {
            body[at] = static_cast<char>(random());
          }
      }
    }
    ASSERT_EQ(node.send(way, body), "") << "seed " << seed;
  }
  EXPECT_EQ(node.still_serves(), "");
}

}  // namespace
}  // namespace athanor::fake_kubelet::damaged_messages_test
