// SPDX-License-Identifier: Apache-2.0
// The embedded driver: store events in, server calls out, acts and answers by executors.
#include "embedded/lab/engine_driver.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "api/builtin.hpp"
#include "kube/text/json.hpp"

namespace athanor::lab::engine_driver_test {
namespace {

using api::kConfigMap;

Value parsed(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value.ok()) << text;
  return value.value_or({});
}

// Copies data.in to data.out; data.act becomes an act and its answer data.answer; data.ask a probe
// and data.said.
Plan copy(const View& view, const Key& key, Instant) {
  const auto map = view.get(kConfigMap, key);
  if (!map) {
    return Plan::done();
  }
  const Value& data = map->body()["data"];
  Plan plan;
  Value out = Value::object();
  if (data.contains("in")) {
    out.set("out", data["in"]);
  }
  if (data.contains("act")) {
    const Observed answer = view.observe("do:" + data["act"].str(), Duration::max());
    plan.then(Act{.id = data["act"].str(), .verb = "do", .args = data["act"]});
    if (answer.value) {
      out.set("answer", *answer.value);
    }
  }
  if (data.contains("ask")) {
    const Observed answer = view.observe("ask:" + data["ask"].str(), std::chrono::hours(1));
    if (answer.value) {
      out.set("said", *answer.value);
    }
  }
  plan.then(Patch{.target = {&kConfigMap, key}, .merge = Value::object({{"data", out}})});
  return plan;
}

constexpr const Kind* kMaps[] = {&kConfigMap};
const Operator kCopier{.name = "copier",
                       .primary = &kConfigMap,
                       .reads = kMaps,
                       .writes = kMaps,
                       .reconcile = copy,
                       .user = "system:admin"};

class EngineDriverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = store::Store::open(store::memory_journal(), {});
    ASSERT_TRUE(opened.ok());
    store = *std::move(opened);
    auto created = apiserver::Server::create(
        {.always_allow = true, .default_roles = false},
        {.store = store.get(), .clock = clock.get(), .entropy = entropy.get()});
    ASSERT_TRUE(created.ok());
    server = *std::move(created);
    listening = store->listen([this](std::span<const store::EventPtr>) {
      const std::scoped_lock lock(mutex);
      ++events;
      changed.notify_all();
    });
  }

  std::unique_ptr<EngineDriver> started() {
    const Operator* const operators[] = {&kCopier};
    auto driver = std::make_unique<EngineDriver>(operators, DriverOptions{.server = server.get(),
                                                                          .store = store.get(),
                                                                          .clock = clock.get(),
                                                                          .entropy = entropy.get(),
                                                                          .executors = &executors});
    EXPECT_TRUE(driver->start().ok());
    return driver;
  }

  void create(std::string_view name, std::string_view data) {
    Value body =
        Value::object({{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"data", parsed(data)}});
    body.set_path({"metadata", "name"}, name);
    net::Request request{
        .method = "POST", .path = "/api/v1/namespaces/default/configmaps", .body = std::move(body)};
    request.headers.emplace("content-type", "application/json");
    request.credentials.internal_user = "system:admin";
    const auto response = server->handle(std::move(request), clock->now());
    ASSERT_EQ(response.status, 201)
        << (response.value ? json::print(*response.value) : response.body);
  }

  [[nodiscard]] std::string data_of(std::string_view name, std::string_view field) const {
    const auto stored = store->get("configmaps", {"default", std::string(name)});
    return stored == nullptr ? std::string() : stored->body["data"][field].str();
  }

  // Waits, event by event, until the field has the value; false after a minute.
  bool becomes(std::string_view name, std::string_view field, std::string_view value) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    std::unique_lock lock(mutex);
    while (true) {
      const int seen = events;
      lock.unlock();
      if (data_of(name, field) == value) {
        return true;
      }
      lock.lock();
      if (seen == events &&
          changed.wait_until(lock, deadline, [&] { return events != seen; }) == false) {
        return false;
      }
    }
  }

  std::unique_ptr<Clock> clock = wall_clock();
  std::unique_ptr<Entropy> entropy = seeded_entropy(1);
  std::unique_ptr<store::Store> store{};
  std::unique_ptr<apiserver::Server> server{};
  runtime::Executors executors{};
  std::mutex mutex{};
  std::condition_variable changed{};
  int events = 0;
  std::shared_ptr<void> listening{};
};

TEST_F(EngineDriverTest, ActsOnPresentAndNewObjects) {
  create("before", R"({"in": "1"})");
  const auto driver = started();
  EXPECT_TRUE(becomes("before", "out", "1"));
  create("after", R"({"in": "2"})");
  EXPECT_TRUE(becomes("after", "out", "2"));
}

TEST_F(EngineDriverTest, AnActIsAnsweredFromAnotherThread) {
  std::thread worker;
  executors.on_act(
      "do", [&](const std::string& id, const Value& args, runtime::Executors::Completion done) {
        EXPECT_EQ(id, args.as_string());
        worker = std::thread([done = std::move(done)] { done(Value("done")); });
      });
  const auto driver = started();
  create("m", R"({"act": "7"})");
  EXPECT_TRUE(becomes("m", "answer", "done"));
  worker.join();
}

TEST_F(EngineDriverTest, ProbesAreAnsweredByPrefix) {
  executors.on_probe("ask", [](const std::string& query,
                               const runtime::Executors::Completion& done) { done(Value(query)); });
  const auto driver = started();
  create("m", R"({"ask": "q"})");
  EXPECT_TRUE(becomes("m", "said", "ask:q"));
}

TEST_F(EngineDriverTest, StopsAndLeavesTheRest) {
  const auto driver = started();
  driver->stop();
  create("m", R"({"in": "1"})");
  EXPECT_EQ(data_of("m", "out"), "");
}

TEST_F(EngineDriverTest, ManyObjectsAreWorkedOffInOnePass) {
  const auto driver = started();
  for (int i = 0; i < 500; ++i) {
    create("m" + std::to_string(i), R"({"in": "1"})");
  }
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(becomes("m" + std::to_string(i), "out", "1")) << i;
  }
}

}  // namespace
}  // namespace athanor::lab::engine_driver_test
