// SPDX-License-Identifier: Apache-2.0
// What concurrent writers and watchers may rely on (docs/spec/apiserver.md 22, A5, A6, A8).
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::consistency_test {
namespace {

constexpr std::string_view kMaps = "/api/v1/namespaces/tst/configmaps";

std::string item(std::string_view name) {
  return std::string(kMaps) + "/" + std::string(name);
}

using State = std::map<std::string, std::string>;  // name to revision

State state_of(const Value& list) {
  State state;
  for (const Value& object : list["items"].items()) {
    state[object["metadata"]["name"].str()] = object["metadata"]["resourceVersion"].str();
  }
  return state;
}

void replay(const std::vector<Value>& events, State& state, std::uint64_t& last) {
  for (const Value& event : events) {
    if (event["type"].as_string() == "BOOKMARK") {
      continue;
    }
    const Value& metadata = event["object"]["metadata"];
    const std::uint64_t revision = std::stoull(metadata["resourceVersion"].str());
    EXPECT_GT(revision, last) << "out of order or twice";
    last = revision;
    if (event["type"].as_string() == "DELETED") {
      EXPECT_EQ(state.erase(metadata["name"].str()), 1U);
    } else {
      const bool known = state.contains(metadata["name"].str());
      EXPECT_EQ(event["type"].as_string(), known ? "MODIFIED" : "ADDED");
      state[metadata["name"].str()] = metadata["resourceVersion"].str();
    }
  }
}

struct Observer {
  Answer watch{};
  State state{};
  std::uint64_t last = 0;
};

TEST(Consistency, EveryWatchReplaysToTheList) {
  TestServer server;
  std::mt19937 random(4711);  // NOLINT(cert-msc51-cpp): the same run every time
  std::vector<std::unique_ptr<Observer>> observers;
  for (int step = 0; step < 600; ++step) {
    const std::string name = "m" + std::to_string(random() % 12);
    switch (random() % 4) {
      case 0:
        server.post(kMaps, config_map(name));
        break;
      case 1:
        server.remove(item(name));
        break;
      default:
        server.patch(item(name), "merge", R"({"data":{"k":")" + std::to_string(step) + R"("}})");
    }
    if (step % 20 == 0) {
      const Answer list = server.get(kMaps);
      auto observer = std::make_unique<Observer>();
      observer->state = state_of(list.value);
      observer->last = std::stoull(list.value["metadata"]["resourceVersion"].str());
      observer->watch = server.get(std::string(kMaps) +
                                   "?watch=1&resourceVersion=" + std::to_string(observer->last));
      observers.push_back(std::move(observer));
    }
    const auto& observer = observers[random() % observers.size()];
    replay(TestServer::events(observer->watch), observer->state, observer->last);
  }
  const State final_state = state_of(server.get(kMaps).value);
  for (const auto& observer : observers) {
    replay(TestServer::events(observer->watch), observer->state, observer->last);
    EXPECT_EQ(observer->state, final_state);
  }
}

TEST(Consistency, OneCounterManyWriters) {
  TestServer server;
  server.post(kMaps, config_map("counter", R"({"n":"0"})"));
  constexpr int kWriters = 4;
  constexpr int kRounds = 50;
  std::mutex mutex;
  int successes = 0;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        Value object = server.get(item("counter")).value;
        const int count = std::stoi(object["data"]["n"].str());
        object.member("data").set("n", std::to_string(count + 1));
        const int code = server.put(item("counter"), object).status;
        EXPECT_TRUE(code == 200 || code == 409) << code;
        const std::lock_guard lock(mutex);
        successes += code == 200 ? 1 : 0;
      }
    });
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
  EXPECT_GE(successes, kRounds);
  EXPECT_EQ(server.get(item("counter")).value["data"]["n"].as_string(), std::to_string(successes));
}

TEST(Consistency, PatchesLoseNothingAndWatchersSeeAll) {
  TestServer server;
  server.post(kMaps, config_map("shared"));
  Answer watch = server.get(std::string(kMaps) + "?watch=1");
  constexpr int kWriters = 4;
  constexpr int kRounds = 25;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&server, writer] {
      for (int round = 0; round < kRounds; ++round) {
        const std::string key = "w" + std::to_string(writer) + "-" + std::to_string(round);
        int code = 409;
        while (code == 409) {  // more than five lost races in a row are reported
          code = server.patch(item("shared"), "merge", R"({"data":{")" + key + R"(":"1"}})").status;
        }
        EXPECT_EQ(code, 200);
      }
    });
  }
  for (std::thread& writer : writers) {
    writer.join();
  }
  EXPECT_EQ(server.get(item("shared")).value["data"].size(),
            static_cast<std::size_t>(kWriters * kRounds));
  const auto events = TestServer::events(watch);
  EXPECT_EQ(events.size(), static_cast<std::size_t>(kWriters * kRounds) + 1);
  EXPECT_EQ(events.back()["object"]["data"].size(), static_cast<std::size_t>(kWriters * kRounds));
}

TEST(Consistency, PagesUnderWritesAreTheFirstPagesState) {
  TestServer server;
  for (int i = 0; i < 25; ++i) {
    server.post(kMaps, config_map("m" + std::to_string(100 + i)));
  }
  const State before = state_of(server.get(kMaps).value);
  State pages;
  std::string token;
  int step = 0;
  do {
    const Answer page =
        server.get(std::string(kMaps) + "?limit=4" + (token.empty() ? "" : "&continue=" + token));
    ASSERT_EQ(page.status, 200) << page.text;
    pages.merge(state_of(page.value));
    token = page.value["metadata"]["continue"].str();
    server.remove(item("m" + std::to_string(124 - step)));
    server.post(kMaps, config_map("n" + std::to_string(step++)));
  } while (!token.empty());
  EXPECT_EQ(pages, before);
}

}  // namespace
}  // namespace athanor::apiserver::consistency_test
