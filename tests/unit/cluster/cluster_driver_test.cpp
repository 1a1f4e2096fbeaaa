// SPDX-License-Identifier: Apache-2.0
// The driver with a client that a test holds in its hands.
#include "cluster/cluster_driver.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>

#include "api/builtin.hpp"
#include "base/mutex.hpp"
#include "runtime/metrics/metrics.hpp"
#include "runtime/view/tls_profile.hpp"
#include "support/eventually.hpp"
#include "unit/cluster/fake_client.hpp"

namespace athanor::cluster::cluster_driver_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::eventually;

constexpr const Kind* kKinds[] = {&api::kConfigMap};
constexpr Access kAccess[] = {{&api::kConfigMap, "patch"}};

// Copies data.wish to data.done.
Plan fulfil(const View& view, const Key& key, Instant /*now*/) {
  Plan plan;
  const auto map = view.get(api::kConfigMap, key);
  if (map && map->body()["data"]["wish"] != map->body()["data"]["done"]) {
    plan.then(Patch{.target = {&api::kConfigMap, key},
                    .merge = Value::object(
                        {{"data", Value::object({{"done", map->body()["data"]["wish"]}})}})});
  }
  return plan;
}

constexpr Operator kFairy{.name = "fairy",
                          .primary = &api::kConfigMap,
                          .reads = kKinds,
                          .writes = kKinds,
                          .reconcile = fulfil,
                          .access = kAccess};

class ClusterDriverTest : public ::testing::Test {
 protected:
  ~ClusterDriverTest() override {
    if (driver) {
      driver->stop();
    }
    client->stop();
  }

  void make(DriverOptions options = {}, const std::vector<const Operator*>& more = {}) {
    options.client = client;
    options.clock = clock.get();
    options.entropy = entropy.get();
    options.executors = &executors;
    options.metrics = &metrics;
    std::vector<const Operator*> all = operators;
    all.insert(all.end(), more.begin(), more.end());
    driver = std::make_unique<ClusterDriver>(all, std::move(options));
  }
  void start(DriverOptions options = {}, const std::vector<const Operator*>& more = {}) {
    make(std::move(options), more);
    driver->start();
  }
  void wish(const std::string& name, const std::string& what, const std::string& ns = "a") {
    client->put(ns, name, Value::object({{"wish", what}}));
  }
  [[nodiscard]] bool done(const std::string& name, const std::string& what,
                          const std::string& ns = "a") const {
    return client->data(ns, name)["done"] == Value(what);
  }

  std::vector<const Operator*> operators{&kFairy};
  std::shared_ptr<FakeClient> client = std::make_shared<FakeClient>();
  std::unique_ptr<Clock> clock = wall_clock();
  std::unique_ptr<Entropy> entropy = seeded_entropy(1);
  runtime::Executors executors{};
  Metrics metrics{};
  std::unique_ptr<ClusterDriver> driver{};
};

// The pause is ten minutes (docs/spec/das.md 10.6, O-B6).
TEST_F(ClusterDriverTest, LooksForOpenShiftAtItsOwnPace) {
  EXPECT_EQ(DriverOptions().platform_look, std::chrono::minutes(10));
  std::atomic<int> looks = 0;
  client->set_fault([&](const client::ApiRequest& request) -> std::optional<client::ApiResult> {
    if (!request.path.starts_with("/apis/config.openshift.io/v1/apiservers")) {
      return std::nullopt;
    }
    ++looks;
    return client::ApiResult{.status = 404, .error = Error::not_found("no such kind")};
  });
  static constexpr const Kind* kReads[] = {&kOpenShiftServer};
  static constexpr Operator kReader{
      .name = "reader", .primary = &kOpenShiftServer, .reads = kReads, .reconcile = fulfil};
  start({.platform_look = milliseconds(20)}, {&kReader});
  EXPECT_TRUE(eventually([&] { return looks > 3; }));
  EXPECT_TRUE(driver->synced()) << "a cluster without it is a cluster";
  driver->stop();
}

TEST_F(ClusterDriverTest, WatchesKindsWithoutAPlaceEverywhere) {
  std::set<std::string> listed;
  Mutex mutex;
  client->set_fault([&](const client::ApiRequest& request) -> std::optional<client::ApiResult> {
    const MutexLock lock(mutex);
    listed.insert(request.path.substr(0, request.path.find('?')));
    return std::nullopt;
  });
  static constexpr const Kind* kReads[] = {&api::kSecret, &api::kNode};
  static constexpr Operator kReader{
      .name = "reader", .primary = &api::kSecret, .reads = kReads, .reconcile = fulfil};
  start({.places = {{&api::kConfigMap, {.watched = {"a"}}}}}, {&kReader});
  const auto is_listed = [&](const char* path) {
    const MutexLock lock(mutex);
    return listed.contains(path);
  };
  EXPECT_TRUE(eventually([&] {
    return is_listed("/api/v1/secrets") && is_listed("/api/v1/nodes") &&
           is_listed("/api/v1/namespaces/a/configmaps");
  }));
  EXPECT_FALSE(is_listed("/api/v1/configmaps"));
  EXPECT_FALSE(is_listed("/api/v1/namespaces/a/secrets"));
  driver->stop();
}

// /readyz and /metrics may be asked as soon as their ports are open.
TEST_F(ClusterDriverTest, NamesKindsBeforeItStarts) {
  make();
  EXPECT_FALSE(driver->synced());
  const Value watches = driver->watches();
  ASSERT_EQ(watches.items().size(), 1U);
  EXPECT_FALSE(watches.items().front()["listed"].as_bool());
  driver->start();
  EXPECT_TRUE(eventually([&] { return driver->synced(); }));
  driver->stop();
}

TEST_F(ClusterDriverTest, FollowsPresentAndNewObjects) {
  wish("m", "gold");
  start();
  EXPECT_TRUE(eventually([&] { return done("m", "gold"); }));
  wish("m", "silver");
  EXPECT_TRUE(eventually([&] { return done("m", "silver"); }));
  EXPECT_TRUE(eventually([&] { return driver->idle(); }));
  EXPECT_TRUE(driver->synced());
  const auto patches = client->requests("PATCH");
  ASSERT_EQ(patches.size(), 2U) << "nothing is sent twice";
  EXPECT_EQ(patches[0].path, "/api/v1/namespaces/a/configmaps/m?fieldManager=fairy");
  EXPECT_EQ(patches[0].content_type, "application/merge-patch+json");
}

TEST_F(ClusterDriverTest, WritesDifferentKeysTogetherUpToLimit) {
  for (int i = 0; i < 10; ++i) {
    wish("m" + std::to_string(i), "gold");
  }
  client->hold(true);
  start({.writes_per_controller = 3});
  EXPECT_TRUE(eventually([&] {
    const auto state = driver->debug(100, seconds(5));
    return state.ok() && (*state)["sending"]["fairy"]["waiting"] == Value(7);
  }));
  EXPECT_EQ(client->requests("PATCH").size(), 3U);
  client->hold(false);
  EXPECT_TRUE(eventually([&] {
    for (int i = 0; i < 10; ++i) {
      if (!done("m" + std::to_string(i), "gold")) {
        return false;
      }
    }
    return true;
  }));
}

// Fulfils the wishes of maps m0 to m4 in one plan.
Plan fulfil_all(const View& view, const Key& /*key*/, Instant now) {
  Plan plan;
  for (int i = 0; i < 5; ++i) {
    plan.merge(fulfil(view, {"a", "m" + std::to_string(i)}, now));
  }
  return plan;
}

TEST_F(ClusterDriverTest, WritesOfOnePlanKeepTheirOrder) {
  static constexpr Operator kAllAtOnce{.name = "all-at-once",
                                       .primary = &api::kConfigMap,
                                       .reads = kKinds,
                                       .writes = kKinds,
                                       .reconcile = fulfil_all,
                                       .singleton = true,
                                       .independent_steps = true,
                                       .access = kAccess};
  operators = {&kAllAtOnce};
  for (int i = 0; i < 5; ++i) {
    wish("m" + std::to_string(i), "gold");
  }
  client->hold(true);
  start({.writes_per_controller = 1});
  EXPECT_TRUE(eventually([&] {
    const auto state = driver->debug(100, seconds(5));
    return state.ok() && (*state)["sending"]["all-at-once"]["waiting"] == Value(4);
  }));
  client->hold(false);
  EXPECT_TRUE(eventually([&] { return driver->idle() && done("m4", "gold"); }));
  const auto patches = client->requests("PATCH");
  ASSERT_EQ(patches.size(), 5U);
  for (std::size_t i = 0; i < patches.size(); ++i) {
    EXPECT_EQ(patches[i].path, "/api/v1/namespaces/a/configmaps/m" + std::to_string(i) +
                                   "?fieldManager=all-at-once");
  }
}

TEST_F(ClusterDriverTest, LooksForUnansweredWriteInsteadOfRepeating) {
  wish("m", "gold");
  std::atomic<int> faults{0};
  client->set_fault([&](const client::ApiRequest& request) -> std::optional<client::ApiResult> {
    if (request.method == "PATCH" && faults++ == 0) {
      return client::ApiResult{.error = Error::unavailable("the answer is lost"), .unknown = true};
    }
    return std::nullopt;
  });
  start();
  EXPECT_TRUE(eventually([&] { return done("m", "gold"); }));
  EXPECT_TRUE(eventually([&] { return driver->idle(); }));
  EXPECT_EQ(client->requests("PATCH").size(), 1U);
  EXPECT_GE(client->requests("GET").size(), 2U) << "listed anew";
}

TEST_F(ClusterDriverTest, NamespacesAreWatchedOneByOne) {
  wish("m", "gold", "a");
  wish("m", "gold", "b");
  wish("m", "gold", "c");
  start({.namespaces = {"a", "c"}});
  EXPECT_TRUE(eventually([&] { return done("m", "gold", "a") && done("m", "gold", "c"); }));
  wish("n", "tin", "b");
  wish("n", "tin", "c");
  EXPECT_TRUE(eventually([&] { return done("n", "tin", "c"); }));
  EXPECT_TRUE(eventually([&] { return driver->idle(); }));
  EXPECT_FALSE(done("m", "gold", "b"));
  EXPECT_FALSE(done("n", "tin", "b"));
}

TEST_F(ClusterDriverTest, DrainAwaitsRunningWritesAndStartsNone) {
  wish("m", "gold");
  client->hold(true);
  start();
  EXPECT_TRUE(eventually([&] { return client->requests("PATCH").size() == 1; }));
  EXPECT_FALSE(driver->drain(milliseconds(50)));
  client->hold(false);
  EXPECT_TRUE(driver->drain(seconds(20)));
  wish("n", "tin");
  EXPECT_TRUE(eventually([&] { return driver->debug(0, seconds(5)).ok(); }));
  EXPECT_EQ(client->requests("PATCH").size(), 1U);
}

TEST_F(ClusterDriverTest, ReportsItsState) {
  wish("m", "gold");
  client->hold(true);
  start();
  EXPECT_TRUE(eventually([&] {
    const auto state = driver->debug(10, seconds(5));
    return state.ok() && (*state)["keys"][0]["state"] == Value("writing") &&
           (*state)["keys"][0]["key"] == Value("a/m");
  }));
  const Value watches = driver->watches();
  ASSERT_EQ(watches.size(), 1U);
  EXPECT_EQ(watches[0]["resource"].as_string(), "configmaps");
  client->hold(false);
}

// Leases are not this fake's: the election is told what the test wants.
TEST_F(ClusterDriverTest, HeldDriverFollowsAndWritesOnceReleased) {
  wish("m", "gold");
  start({.held = true});
  EXPECT_TRUE(eventually([&] {
    const auto state = driver->debug(10, seconds(5));
    return driver->synced() && state.ok() && !(*state)["keys"].empty();
  }));
  EXPECT_TRUE(client->requests("PATCH").empty());
  driver->release();
  EXPECT_TRUE(eventually([&] { return done("m", "gold"); }));
}

TEST_F(ClusterDriverTest, KeepsCachesWithoutWritingBeforeLease) {
  wish("m", "gold");
  Leadership leadership(client, {.lease = {"ns", "l"}, .identity = "me", .entropy = entropy.get()},
                        *clock, {});
  start({.leadership = &leadership});
  EXPECT_TRUE(eventually([&] { return driver->synced(); }));
  EXPECT_TRUE(client->requests("PATCH").empty());
  driver->lead();  // told so, but the lease's time has run out
  EXPECT_TRUE(eventually([&] {
    const auto state = driver->debug(10, seconds(5));
    return state.ok() && !(*state)["keys"].empty();
  }));
  EXPECT_TRUE(client->requests("PATCH").empty());
  driver->stop();  // before its leadership ends
}

}  // namespace
}  // namespace athanor::cluster::cluster_driver_test
