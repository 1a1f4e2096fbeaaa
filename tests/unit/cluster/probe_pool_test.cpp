// SPDX-License-Identifier: Apache-2.0
// Fairness among targets, with a network that a test holds in its hands.
#include "cluster/probe_pool.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <utility>
#include <vector>

namespace athanor::cluster {
namespace {

using std::chrono::milliseconds;

// Answers when told to; virtual time.
struct FakeNetwork {
  struct Call {
    client::HttpQuery query{};
    ProbePool::Done done{};
    milliseconds at{};
  };
  std::deque<Call> calls{};
  milliseconds now{};

  ProbePool::Transport transport() {
    return [this](client::HttpQuery query, ProbePool::Done done) {
      calls.push_back({std::move(query), std::move(done), now});
    };
  }
  // Time passes: live targets answer, dead ones time out.
  void tick(milliseconds step = milliseconds(1)) {
    now += step;
    std::deque<Call> taken = std::exchange(calls, {});
    for (Call& call : taken) {
      const bool dead = call.query.url.starts_with("https://dead");
      client::HttpReply reply;
      if (!dead) {
        reply.status = 200;
      } else if (now - call.at >= call.query.timeout) {
        reply.failure = "timeout";
      } else {
        calls.push_back(std::move(call));
        continue;
      }
      call.done(std::move(reply));
    }
  }
};

client::HttpQuery to(const std::string& host) {
  client::HttpQuery query;
  query.url = "https://" + host;
  return query;
}

TEST(ProbePool, AThousandDeadTargetsDoNotDelayALiveOne) {
  FakeNetwork network;
  ProbePool pool(network.transport());
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "dead-" + std::to_string(i);
    for (int again = 0; again < 3; ++again) {
      pool.ask(name, to(name), [](const client::HttpReply&) {});
    }
  }
  // Let the pool learn who is dead: each has been asked once.
  while (network.now < milliseconds(7000)) {
    network.tick(milliseconds(100));
  }
  EXPECT_LE(pool.in_flight(), 512U);
  for (int round = 0; round < 20; ++round) {
    const milliseconds asked = network.now;
    std::optional<milliseconds> answered;
    pool.ask("live", to("live"), [&](const client::HttpReply& reply) {
      EXPECT_TRUE(reply.failure.empty());
      answered = network.now;
    });
    while (!answered && network.now < asked + milliseconds(1000)) {
      network.tick();
    }
    ASSERT_TRUE(answered.has_value());
    EXPECT_LE(*answered - asked, milliseconds(2)) << "round " << round;
  }
}

TEST(ProbePool, ATargetIsAskedOneThingAtATime) {
  FakeNetwork network;
  ProbePool pool(network.transport());
  int answers = 0;
  for (int i = 0; i < 3; ++i) {
    pool.ask("a", to("a"), [&](const client::HttpReply&) { ++answers; });
  }
  EXPECT_EQ(network.calls.size(), 1U);
  for (int i = 0; i < 3; ++i) {
    network.tick();
  }
  EXPECT_EQ(answers, 3);
}

TEST(ProbePool, OneChattyTargetDoesNotStarveTheOthers) {
  FakeNetwork network;
  ProbePool pool(network.transport(), {.in_flight = 1});
  std::vector<std::string> order;
  const auto ask = [&](const std::string& name) {
    pool.ask(name, to(name), [&, name](const client::HttpReply&) { order.push_back(name); });
  };
  for (int i = 0; i < 4; ++i) {
    ask("chatty");
  }
  ask("b");
  ask("c");
  for (int i = 0; i < 8; ++i) {
    network.tick();
  }
  EXPECT_EQ(order, (std::vector<std::string>{"chatty", "b", "c", "chatty", "chatty", "chatty"}));
}

TEST(ProbePool, RefusesWhatDoesNotFitAndEndsWhatWaits) {
  FakeNetwork network;
  std::vector<std::string> failures;
  const auto note = [&](const client::HttpReply& reply) { failures.push_back(reply.failure); };
  {
    ProbePool pool(network.transport(), {.waiting_per_target = 1});
    pool.ask("a", to("dead"), note);  // under way
    pool.ask("a", to("dead"), note);  // waits
    pool.ask("a", to("dead"), note);
    EXPECT_EQ(failures, (std::vector<std::string>{"too many questions wait for this target"}));
  }
  EXPECT_EQ(failures.back(), "the program ends");
  EXPECT_EQ(failures.size(), 2U);
}

TEST(ProbePool, DeadlinesAreCutAndShorterForStrangers) {
  FakeNetwork network;
  ProbePool pool(network.transport());
  client::HttpQuery query = to("a");
  query.timeout = milliseconds(60'000);
  pool.ask("a", query, [](const client::HttpReply&) {});
  EXPECT_EQ(network.calls.front().query.timeout, milliseconds(3000));
  network.tick();
  pool.ask("a", query, [](const client::HttpReply&) {});
  EXPECT_EQ(network.calls.front().query.timeout, milliseconds(10'000));
}

}  // namespace
}  // namespace athanor::cluster
