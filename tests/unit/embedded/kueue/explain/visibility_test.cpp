// SPDX-License-Identifier: Apache-2.0
// Which Workloads wait at which place (docs/spec/kueue.md 14).
#include "embedded/kueue/explain/visibility.hpp"

#include <gtest/gtest.h>

#include "embedded/kueue/cycle/scheduler.hpp"
#include "embedded/kueue/cycle/waiting.hpp"
#include "unit/embedded/kueue/fixture.hpp"

namespace athanor::kueue::test::visibility_test {
namespace {

class Visibility : public ::testing::Test {
 protected:
  Visibility() {
    world.put(small_queue("cq", "0"));
    world.put(local_queue("a", "cq"));
    world.put(local_queue("b", "cq"));
    world.put(workload("low", "a", "gpu: 1", ", priority: 1"));
    world.now += std::chrono::seconds(1);
    world.put(workload("high", "b", "gpu: 1", ", priority: 9"));
    world.put(workload("later", "a", "gpu: 1", ", priority: 1"));
    world.put(workload("idle", "a", "gpu: 1", ", active: false"));
    world.settle({&local_queue_operator()});  // it keeps the index
  }

  GroupAnswer ask(const std::string& path, const std::string& query = "") {
    Reads reads;
    const std::string whole = "/apis/visibility.kueue.x-k8s.io/" + path;
    return visibility_group().answer(View(world, reads),
                                     {.path = whole, .query = query, .now = world.now});
  }
  static std::string places(const GroupAnswer& answer) {
    std::string text;
    for (const Value& item : answer.body["items"].items()) {
      text += (text.empty() ? "" : " ") + item["metadata"]["name"].str() + "=" +
              std::to_string(item["positionInClusterQueue"].as_int()) + "/" +
              std::to_string(item["positionInLocalQueue"].as_int());
    }
    return text;
  }

  FakeWorld world{};
};

TEST_F(Visibility, ReportsPlacesInBothQueues) {
  EXPECT_EQ(places(ask("v1beta2/clusterqueues/cq/pendingworkloads")), "high=0/0 low=1/0 later=2/1");
  EXPECT_EQ(places(ask("v1beta1/namespaces/bench/localqueues/a/pendingworkloads")),
            "low=1/0 later=2/1");
}

TEST_F(Visibility, CutsByOffsetAndLimit) {
  const GroupAnswer answer = ask("v1beta2/clusterqueues/cq/pendingworkloads", "offset=1&limit=1");
  EXPECT_EQ(places(answer), "low=1/0");
  EXPECT_EQ(answer.body["kind"].as_string(), "PendingWorkloadsSummary");
  EXPECT_EQ(answer.body["apiVersion"].as_string(), "visibility.kueue.x-k8s.io/v1beta2");
  EXPECT_EQ(answer.body["items"][0]["localQueueName"].as_string(), "a");
  EXPECT_EQ(answer.body["items"][0]["priority"].as_int(), 1);
  EXPECT_EQ(ask("v1beta2/clusterqueues/cq/pendingworkloads", "limit=-1").code, 400);
}

TEST_F(Visibility, ReportsMissingQueues) {
  EXPECT_EQ(ask("v1beta2/clusterqueues/x/pendingworkloads").code, 404);
  EXPECT_EQ(ask("v1beta2/namespaces/bench/localqueues/x/pendingworkloads").code, 404);
  EXPECT_EQ(ask("v1alpha1/clusterqueues/cq/pendingworkloads").code, 404);
  EXPECT_EQ(ask("v1beta2").body["kind"].as_string(), "APIResourceList");
}

}  // namespace
}  // namespace athanor::kueue::test::visibility_test
