// SPDX-License-Identifier: Apache-2.0
// Deployments and ReplicaSets together: roll-outs, sizes, history, what is said about them.
#include "embedded/workloads/sets/deployment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "api/builtin.hpp"
#include "embedded/workloads/controlled_pods.hpp"
#include "embedded/workloads/sets/deployment_facts.hpp"
#include "embedded/workloads/sets/replica_set.hpp"
#include "kube/text/yaml.hpp"
#include "kube/value/condition.hpp"
#include "support/fake_world.hpp"

namespace athanor::workloads::deployment_test {
namespace {

using std::chrono::seconds;

class DeploymentTest : public testing::Test {
 protected:
  void deploy(const std::string& more) {
    world.put(
        yaml::parse("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: "
                    "ns}, spec: {selector: {matchLabels: {app: web}}, template: {metadata: "
                    "{labels: {app: web}}, spec: {containers: [{name: c, image: v1}]}}, " +
                    more + "}}")
            .value());
    settle();
  }
  void set_spec(Value::Path path, const Value& value) {
    world.update(api::kDeployment, {"ns", "web"},
                 [&](Value& body) { body.member("spec").set_path(path, value); });
    settle();
  }
  void set_image(const std::string& image) {
    set_spec({"template", "spec", "containers"},
             Value::list({Value::object({{"name", "c"}, {"image", image}})}));
  }
  void settle() { world.settle({&deployment_operator(), &replica_set_operator()}); }
  void pass(Duration duration) {
    world.settle_for({&deployment_operator(), &replica_set_operator()}, duration);
  }
  std::vector<Object> pods(const std::string& image = "") {
    std::vector<Object> some;
    for (const Object& pod : world.list(api::kPod)) {
      if (image.empty() || pod.spec()["containers"][0]["image"].as_string() == image) {
        some.push_back(pod);
      }
    }
    return some;
  }
  // The nodes make pods ready, at most so many.
  void make_ready(std::size_t most = 1000) {
    for (const Object& pod : pods()) {
      if (!is_ready(pod) && most-- > 0) {
        world.update(api::kPod, pod.key(), [&](Value& body) {
          body.set_path({"spec", "nodeName"}, "n1");
          body.set_path({"status", "phase"}, "Running");
          Value conditions = Value::list();
          set_condition(conditions, {.type = "Ready", .status = "True"}, world.now);
          body.set_path({"status", "conditions"}, conditions);
        });
      }
    }
    settle();
  }
  Value status() { return world.must(api::kDeployment, {"ns", "web"}).status(); }
  std::string condition(const char* type) {
    const Value found = find_condition(status()["conditions"], type);
    return found["status"].str() + " " + found["reason"].str();
  }
  std::int64_t available() { return status()["availableReplicas"].as_int(); }
  std::string revision() {
    return std::string(world.must(api::kDeployment, {"ns", "web"}).annotation(kRevisionAnnotation));
  }

  test::FakeWorld world{};
};

TEST_F(DeploymentTest, MakesAReplicaSetAndItsPods) {
  deploy("replicas: 3");
  const auto sets = world.list(api::kReplicaSet);
  ASSERT_EQ(sets.size(), 1U);
  const std::string hash(sets[0].label(kTemplateHashLabel));
  EXPECT_EQ(hash.size(), 10U);
  EXPECT_EQ(sets[0].name(), "web-" + hash);
  EXPECT_EQ(sets[0].spec()["selector"]["matchLabels"][kTemplateHashLabel].str(), hash);
  ASSERT_EQ(pods().size(), 3U);
  EXPECT_EQ(pods()[0].label("app"), "web");
  EXPECT_EQ(pods()[0].label(kTemplateHashLabel), hash);
  EXPECT_EQ(pods()[0].controller()->kind, "ReplicaSet");
  EXPECT_EQ(revision(), "1");
  EXPECT_EQ(condition("Available"), "False MinimumReplicasUnavailable");
  EXPECT_EQ(status()["unavailableReplicas"].as_int(), 3);
  EXPECT_EQ(world.event_count("ScalingReplicaSet"), 1);
  EXPECT_EQ(world.event_count("SuccessfulCreate"), 3);
  make_ready();
  EXPECT_EQ(available(), 3);
  EXPECT_EQ(condition("Available"), "True MinimumReplicasAvailable");
  EXPECT_EQ(condition("Progressing"), "True NewReplicaSetAvailable");
  EXPECT_EQ(status()["observedGeneration"].as_int(),
            world.must(api::kDeployment, {"ns", "web"}).generation());
  const std::size_t written = world.writes.size();
  pass(std::chrono::hours(1));
  EXPECT_EQ(world.writes.size(), written);
}

TEST_F(DeploymentTest, ScalesUpAndDown) {
  deploy("replicas: 2");
  make_ready();
  set_spec({"replicas"}, 5);
  EXPECT_EQ(pods().size(), 5U);
  make_ready(1);
  set_spec({"replicas"}, 3);
  ASSERT_EQ(pods().size(), 3U);
  EXPECT_TRUE(std::ranges::all_of(pods(), is_ready)) << "those that are not ready go first";
  set_spec({"replicas"}, 0);
  EXPECT_TRUE(pods().empty());
  EXPECT_EQ(condition("Available"), "True MinimumReplicasAvailable");
}

TEST_F(DeploymentTest, ARollOutNeverLeavesItsBounds) {
  deploy(
      "replicas: 4, strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: "
      "1}}");
  make_ready();
  set_image("v2");
  for (int round = 0; round < 20 && pods("v2").size() + pods("v1").size() > 0; ++round) {
    EXPECT_LE(pods().size(), 5U);
    EXPECT_GE(static_cast<std::size_t>(std::ranges::count_if(pods(), is_ready)), 3U);
    if (pods("v1").empty() && available() == 4) {
      break;
    }
    make_ready(1);
  }
  EXPECT_EQ(pods("v2").size(), 4U);
  EXPECT_TRUE(pods("v1").empty());
  EXPECT_EQ(revision(), "2");
  EXPECT_EQ(condition("Progressing"), "True NewReplicaSetAvailable");
  EXPECT_EQ(status()["updatedReplicas"].as_int(), 4);
}

TEST_F(DeploymentTest, DefaultBoundsAreAQuarterEach) {
  struct Case {
    int replicas;
    std::int64_t surge;
    std::int64_t unavailable;
  };
  for (const Case& c : {Case{1, 1, 0}, Case{4, 1, 1}, Case{5, 2, 1}, Case{10, 3, 2}}) {
    const DeploymentFacts facts = gather_deployment(
        Object(Value::object({{"spec", Value::object({{"replicas", c.replicas}})}})), {});
    EXPECT_EQ(facts.max_surge, c.surge) << c.replicas;
    EXPECT_EQ(facts.max_unavailable, c.unavailable) << c.replicas;
  }
}

TEST_F(DeploymentTest, StopsBadRollOutAndRevivesOldSet) {
  deploy("replicas: 4");
  make_ready();
  set_image("broken");
  EXPECT_EQ(pods("broken").size(), 2U);
  EXPECT_EQ(std::ranges::count_if(pods(), is_ready), 3);
  pass(seconds(600));
  EXPECT_EQ(condition("Progressing"), "False ProgressDeadlineExceeded");
  EXPECT_EQ(condition("Available"), "True MinimumReplicasAvailable");
  set_image("v1");
  make_ready();
  EXPECT_EQ(pods("v1").size(), 4U);
  EXPECT_TRUE(pods("broken").empty());
  EXPECT_EQ(world.count(api::kReplicaSet), 2U);
  EXPECT_EQ(revision(), "3");
  EXPECT_EQ(condition("Progressing"), "True NewReplicaSetAvailable");
}

TEST_F(DeploymentTest, RecreateEndsAllBeforeItStartsAny) {
  world.graceful_pods = true;
  deploy("replicas: 2, strategy: {type: Recreate}");
  make_ready();
  set_image("v2");
  EXPECT_EQ(pods("v1").size(), 2U) << "they are ending";
  EXPECT_TRUE(pods("v2").empty());
  EXPECT_EQ(status()["terminatingReplicas"].as_int(), 2);
  for (const Object& pod : pods("v1")) {
    Plan plan;
    plan.then(Delete{.target = {&api::kPod, pod.key()}, .grace_seconds = 0});
    ASSERT_TRUE(world.apply(plan).ok());
  }
  settle();
  EXPECT_TRUE(pods("v1").empty());
  EXPECT_EQ(pods("v2").size(), 2U);
}

TEST_F(DeploymentTest, PausedItRollsNothingOutButScales) {
  deploy("replicas: 2");
  make_ready();
  set_spec({"paused"}, true);
  set_image("v2");
  EXPECT_TRUE(pods("v2").empty());
  set_spec({"paused"}, false);
  EXPECT_FALSE(pods("v2").empty());
}

TEST_F(DeploymentTest, HistoryIsLimited) {
  deploy("replicas: 1, revisionHistoryLimit: 2");
  for (const char* image : {"v2", "v3", "v4", "v5"}) {
    make_ready();
    set_image(image);
    make_ready();
    world.advance(seconds(1));
  }
  EXPECT_EQ(world.count(api::kReplicaSet), 3U);
  EXPECT_EQ(revision(), "5");
}

TEST_F(DeploymentTest, LostPodsAreReplaced) {
  deploy("replicas: 2");
  make_ready();
  world.remove(api::kPod, pods()[0].key());
  settle();
  EXPECT_EQ(pods().size(), 2U);
  world.update(api::kPod, pods()[0].key(), [](Value& body) {
    body.set_path({"status", "phase"}, "Failed");
  });
  pass(seconds(10));  // none of its containers has started
  EXPECT_EQ(pods().size(), 3U) << "the failed one stays to be looked at";
}

TEST_F(DeploymentTest, PodsAreAvailableAfterTheirMinimumOfReadiness) {
  deploy("replicas: 1, minReadySeconds: 10");
  make_ready();
  EXPECT_EQ(status()["readyReplicas"].as_int(), 1);
  EXPECT_EQ(available(), 0);
  pass(seconds(10));
  EXPECT_EQ(available(), 1);
}

TEST_F(DeploymentTest, AStaleViewMakesNoPodTwice) {
  deploy("replicas: 0");
  set_spec({"replicas"}, 3);
  const Key set = world.list(api::kReplicaSet)[0].key();
  for (const Object& pod : pods()) {
    world.remove(api::kPod, pod.key());
  }
  const Plan plan = world.reconcile(replica_set_operator(), set);
  ASSERT_TRUE(world.apply(plan).ok());
  static_cast<void>(world.apply(plan));
  EXPECT_EQ(pods().size(), 3U);
}

TEST_F(DeploymentTest, ScalingInARollOutKeepsTheShares) {
  deploy(
      "replicas: 10, strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 3, maxUnavailable: "
      "2}}");
  make_ready();
  set_image("broken");
  EXPECT_EQ(pods("v1").size(), 8U);
  EXPECT_EQ(pods("broken").size(), 5U);
  set_spec({"paused"}, true);
  set_spec({"replicas"}, 15);
  EXPECT_EQ(pods("v1").size(), 11U);
  EXPECT_EQ(pods("broken").size(), 7U);
}

TEST_F(DeploymentTest, ReportsPauseAndItsEnd) {
  deploy("replicas: 1");
  make_ready();
  set_spec({"paused"}, true);
  EXPECT_EQ(condition("Progressing"), "Unknown DeploymentPaused");
  set_spec({"paused"}, false);
  EXPECT_EQ(condition("Progressing"), "True NewReplicaSetAvailable");
}

TEST_F(DeploymentTest, ReplicaSetsCarryAnnotationsForKubectl) {
  deploy("replicas: 4");
  make_ready();
  world.update(api::kDeployment, {"ns", "web"}, [](Value& body) {
    body.set_path({"metadata", "annotations", "kubernetes.io/change-cause"}, "why not");
  });
  set_image("v2");
  make_ready();
  set_image("v1");
  make_ready();
  make_ready();
  for (const Object& set : world.list(api::kReplicaSet)) {
    const bool first = set.annotation(kRevisionAnnotation) == "3";
    EXPECT_EQ(set.annotation("kubernetes.io/change-cause"), "why not");
    EXPECT_EQ(set.annotation(kRevisionHistoryAnnotation), first ? "1" : "");
    EXPECT_EQ(set.annotation(kDesiredAnnotation), "4");
    EXPECT_EQ(set.annotation(kMaxAnnotation), "5");
  }
}

TEST_F(DeploymentTest, FailsWhenReplicaSetMayNotMakePods) {
  bool full = true;
  world.fault = [&](const Step& step) -> std::optional<Error> {
    const auto* create = std::get_if<Create>(&step);
    return full && create != nullptr && create->target.kind == &api::kPod
               ? std::optional(Error{.code = 403, .reason = "Forbidden", .message = "quota"})
               : std::nullopt;
  };
  deploy("replicas: 1");
  pass(seconds(1));
  EXPECT_EQ(condition("ReplicaFailure"), "True FailedCreate");
  full = false;
  pass(seconds(2000));
  EXPECT_EQ(condition("ReplicaFailure"), " ");
}

TEST_F(DeploymentTest, OrphanedSetsAndPodsAreTakenBack) {
  deploy("replicas: 2");
  make_ready();
  world.remove(api::kDeployment, {"ns", "web"}, Propagation::Orphan);
  const auto names = pods();
  deploy("replicas: 2");
  EXPECT_EQ(world.count(api::kReplicaSet), 1U);
  EXPECT_EQ(pods().size(), 2U);
  EXPECT_EQ(pods()[0].name(), names[0].name());
  EXPECT_EQ(world.list(api::kReplicaSet)[0].controller()->uid,
            world.must(api::kDeployment, {"ns", "web"}).uid());
}

}  // namespace
}  // namespace athanor::workloads::deployment_test
