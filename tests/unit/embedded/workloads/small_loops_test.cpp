// SPDX-License-Identifier: Apache-2.0
// ReplicationControllers, expired bootstrap tokens, too many ended pods, claims of devices.
#include <gtest/gtest.h>

#include "base/digest.hpp"
#include "embedded/workloads/namespace_basics.hpp"
#include "embedded/workloads/node_lifecycle.hpp"
#include "embedded/workloads/sets/replica_set.hpp"
#include "embedded/workloads/volumes/resource_claims.hpp"
#include "unit/embedded/workloads/workload_world.hpp"

namespace athanor::workloads::small_loops_test {
namespace {

class ReplicationControllerTest : public WorkloadTest {
 protected:
  ReplicationControllerTest() : WorkloadTest({&replication_controller_operator()}) {
    put("{apiVersion: v1, kind: ReplicationController, metadata: {name: rc, namespace: ns}, spec: "
        "{replicas: 2, selector: {app: a}, template: {metadata: {labels: {app: a}}, spec: "
        "{containers: [{name: c, image: i}]}}}}");
    settle();
  }
};

TEST_F(ReplicationControllerTest, KeepsItsPods) {
  EXPECT_EQ(pods().size(), 2U);
  make_all_ready();
  const Object controller = world.must(api::kReplicationController, {"ns", "rc"});
  EXPECT_EQ(controller.status()["readyReplicas"].as_int(), 2);
  EXPECT_FALSE(controller.status().contains("terminatingReplicas"));
  EXPECT_EQ(controller.spec()["selector"]["app"].str(), "a");
  EXPECT_EQ(pods()[0].controller()->kind, "ReplicationController");
  set_spec(api::kReplicationController, {"ns", "rc"}, {"replicas"}, 0);
  EXPECT_TRUE(pods().empty());
}

class TokenCleanerTest : public WorkloadTest {
 protected:
  TokenCleanerTest() : WorkloadTest({&token_cleaner_operator()}) {}
  void token(const std::string& name, const std::string& ns, const std::string& expiration) {
    put("{apiVersion: v1, kind: Secret, metadata: {name: " + name + ", namespace: " + ns +
        "}, type: bootstrap.kubernetes.io/token, data: {expiration: '" + base64_encode(expiration) +
        "'}}");
    settle();
  }
};

TEST_F(TokenCleanerTest, RemovesTokensWhenTheirTimeIsOver) {
  token("old", "kube-system", format_time(world.now - std::chrono::hours(1)));
  token("odd", "kube-system", "soon");
  token("new", "kube-system", format_time(world.now + std::chrono::hours(1)));
  token("endless", "kube-system", "");
  token("other", "ns", format_time(world.now - std::chrono::hours(1)));
  EXPECT_FALSE(world.has(api::kSecret, {"kube-system", "old"}));
  EXPECT_FALSE(world.has(api::kSecret, {"kube-system", "odd"}));
  EXPECT_TRUE(world.has(api::kSecret, {"kube-system", "new"}));
  pass(std::chrono::hours(2));
  EXPECT_FALSE(world.has(api::kSecret, {"kube-system", "new"}));
  EXPECT_TRUE(world.has(api::kSecret, {"kube-system", "endless"}));
  EXPECT_TRUE(world.has(api::kSecret, {"ns", "other"}));
}

class TerminatedPodsTest : public WorkloadTest {
 protected:
  TerminatedPodsTest() : WorkloadTest({&terminated_pods_operator()}) {
    world.configure("podGarbage", Value::object({{"terminatedThreshold", 2}}));
  }
};

TEST_F(TerminatedPodsTest, TheOldestOfTooManyGo) {
  for (const auto& [name, phase] : {std::pair{"a", "Succeeded"},
                                    {"b", "Failed"},
                                    {"c", "Running"},
                                    {"d", "Succeeded"},
                                    {"e", "Failed"}}) {
    put(std::string("{apiVersion: v1, kind: Pod, metadata: {name: ") + name +
        ", namespace: ns, creationTimestamp: '" + format_time(world.now) +
        "'}, status: {phase: " + phase + "}}");
    pass(std::chrono::seconds(1));
  }
  EXPECT_EQ(pod_names(), (std::vector<std::string>{"c", "d", "e"}));
}

class ResourceClaimTest : public WorkloadTest {
 protected:
  ResourceClaimTest()
      : WorkloadTest({&pod_resource_claim_operator(), &resource_claim_operator()}) {}
  void claim_template() {
    put("{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: t, "
        "namespace: ns}, spec: {metadata: {labels: {x: z}}, spec: {devices: {requests: [{name: "
        "gpu}]}}}}");
    settle();
  }
  Object pod() { return world.must(api::kPod, {"ns", "p"}); }
};

TEST_F(ResourceClaimTest, PodsGetTheClaimsOfTheirTemplates) {
  put("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns}, spec: {resourceClaims: "
      "[{name: gpu, resourceClaimTemplateName: t}, {name: own, resourceClaimName: c}]}}");
  settle();
  EXPECT_EQ(note_of("FailedResourceClaimCreation"),
            "Warning PodResourceClaim gpu: resourceclaimtemplate.resource.k8s.io \"t\" not found");
  claim_template();
  const Value statuses = pod().status()["resourceClaimStatuses"];
  ASSERT_EQ(statuses.size(), 1U);
  const std::string name = statuses[0]["resourceClaimName"].str();
  EXPECT_EQ(statuses[0]["name"].str(), "gpu");
  EXPECT_TRUE(name.starts_with("p-gpu-"));
  const Object claim = world.must(api::kResourceClaim, {"ns", name});
  EXPECT_EQ(claim.label("x"), "z");
  EXPECT_EQ(claim.annotation("resource.kubernetes.io/pod-claim-name"), "gpu");
  EXPECT_EQ(claim.spec()["devices"]["requests"][0]["name"].str(), "gpu");
  EXPECT_EQ(claim.controller()->name, "p");

  world.update(api::kResourceClaim, {"ns", name}, [&](Value& body) {
    body.set("status",
             Value::object({{"allocation", Value::object({{"devices", Value::object()}})},
                            {"reservedFor",
                             Value::list({Value::object(
                                 {{"resource", "pods"}, {"name", "p"}, {"uid", pod().uid()}})})}}));
  });
  settle();
  EXPECT_EQ(world.must(api::kResourceClaim, {"ns", name}).status()["reservedFor"].size(), 1U);
  world.update(api::kPod, {"ns", "p"}, [](Value& body) {
    body.set_path({"status", "phase"}, "Succeeded");
  });
  settle();
  EXPECT_FALSE(world.has(api::kResourceClaim, {"ns", name}));
}

TEST_F(ResourceClaimTest, DevicesOfPodsThatAreGoneAreFree) {
  put("{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: c, namespace: ns}, "
      "spec: {}, status: {allocation: {devices: {}}, reservedFor: [{resource: pods, name: gone, "
      "uid: u1}, {apiGroup: example.com, resource: things, name: x, uid: u2}]}}");
  settle();
  Object claim = world.must(api::kResourceClaim, {"ns", "c"});
  EXPECT_EQ(claim.status()["reservedFor"].size(), 1U);
  EXPECT_TRUE(claim.status().contains("allocation"));
  world.update(api::kResourceClaim, {"ns", "c"}, [](Value& body) {
    body.set_path(
        {"status", "reservedFor"},
        Value::list({Value::object({{"resource", "pods"}, {"name", "gone"}, {"uid", "u1"}})}));
  });
  settle();
  claim = world.must(api::kResourceClaim, {"ns", "c"});
  EXPECT_TRUE(claim.status()["reservedFor"].empty());
  EXPECT_TRUE(claim.status()["allocation"].is_null());
}

}  // namespace
}  // namespace athanor::workloads::small_loops_test
