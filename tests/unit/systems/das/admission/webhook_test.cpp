// SPDX-License-Identifier: Apache-2.0
// Every row of the webhook's rewriting (docs/spec/das.md 5.3), with exact patches.
#include "systems/das/admission/webhook.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "kube/apply/patch.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "support/fake_world.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/settings.hpp"
#include "systems/das/operators.hpp"

namespace athanor::das::webhook_test {
namespace {

Value from_yaml(const std::string& text) {
  return yaml::parse(text).value();
}

class WebhookTest : public testing::Test {
 protected:
  WebhookTest() { configure(true); }
  void configure(bool emulated) {
    Settings settings;
    settings.emulated_mode = emulated ? "enabled" : "disabled";
    world.configure(kSettingsSection, api::encode(settings));
  }
  static Value pod(const std::string& resources, const std::string& spec = "",
                   const std::string& metadata = "") {
    return from_yaml("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns" + metadata +
                     "}, spec: {containers: [{name: c, image: i, resources: {" + resources + "}}]" +
                     spec + "}}");
  }
  Verdict ask(const Value& object, const std::string& ns = "ns") {
    const AdmissionRequest request{
        .resource = "pods", .kind = "Pod", .key = {ns, "p"}, .object = object};
    Reads reads;
    return mutate_pod(View(world, reads), request, world.now);
  }
  // The pod that is stored.
  Value after(const Value& object) {
    const Verdict verdict = ask(object);
    EXPECT_TRUE(verdict.allowed) << verdict.message;
    return verdict.patch.is_null() ? object : apply_json_patch(object, verdict.patch).value();
  }
  std::string resources_after(const std::string& resources) {
    return json::print(after(pod(resources))["spec"]["containers"][0]["resources"]);
  }

  test::FakeWorld world{};
};

TEST_F(WebhookTest, R1RewritesLimitsRequestsAndMarksPod) {
  const Verdict verdict = ask(pod("limits: {nvidia.com/mig-1g.5gb: '1'}"));
  EXPECT_EQ(
      json::print(verdict.patch),
      R"([{"op":"replace","path":"/spec/containers","value":[{"name":"c","image":"i","resources":{"limits":{"mig.das.com/1g.5gb":"1"},"requests":{"mig.das.com/1g.5gb":"1"}}}]},)"
      R"({"op":"add","path":"/spec/schedulerName","value":"das-scheduler"}])");
}

TEST_F(WebhookTest, R3KeepsOwnSpellingAndMarksPod) {
  const Value changed = after(pod("limits: {mig.das.com/3g.20gb: 2}"));
  EXPECT_EQ(changed["spec"]["schedulerName"].str(), "das-scheduler");
  EXPECT_EQ(json::print(changed["spec"]["containers"][0]["resources"]),
            R"({"limits":{"mig.das.com/3g.20gb":"2"}})");
}

TEST_F(WebhookTest, R3KeepsOursWithoutAProfile) {
  const Value object = pod("limits: {mig.das.com/gpu: 2}");
  const Verdict verdict = ask(object);
  EXPECT_TRUE(verdict.allowed) << verdict.message;
  EXPECT_EQ(verdict.warnings,
            std::vector<std::string>{"no node currently offers MIG profile \"gpu\""});
  const Value changed = after(object);
  EXPECT_EQ(changed["spec"]["schedulerName"].str(), "das-scheduler");
  EXPECT_EQ(json::print(changed["spec"]["containers"][0]["resources"]),
            R"({"limits":{"mig.das.com/gpu":"2"}})");
}

TEST_F(WebhookTest, R4R6KeepOtherKeys) {
  EXPECT_EQ(resources_after("limits: {cpu: '2', nvidia.com/mig-1g.5gb: '1'}, requests: {cpu: '1', "
                            "nvidia.com/mig-1g.5gb: '1'}"),
            R"({"limits":{"cpu":"2","mig.das.com/1g.5gb":"1"},)"
            R"("requests":{"cpu":"1","mig.das.com/1g.5gb":"1"}})");
}

TEST_F(WebhookTest, W8LeavesOtherPodsAloneWithoutAPatch) {
  for (const char* resources : {"", "limits: {cpu: '1'}", "requests: {nvidia.com/mig-1g.5gb: '1'}",
                                "limits: {nvidia.com/gpu: '1'}"}) {
    const Verdict verdict = ask(pod(resources));
    EXPECT_TRUE(verdict.allowed);
    EXPECT_TRUE(verdict.patch.is_null()) << resources;
  }
}

TEST_F(WebhookTest, KeepsFieldsThatAthanorDoesNotKnow) {
  const Value changed = after(
      pod("limits: {nvidia.com/mig-1g.5gb: '1'}, claims: [{name: x}]", ", futureField: {a: 1}"));
  EXPECT_EQ(changed["spec"]["futureField"]["a"].as_int(), 1);
  EXPECT_EQ(changed["spec"]["containers"][0]["resources"]["claims"][0]["name"].str(), "x");
}

TEST_F(WebhookTest, WB2NormalisesAttributes) {
  EXPECT_EQ(resources_after("limits: {nvidia.com/mig-1g.5gb.me: '1'}"),
            R"({"limits":{"mig.das.com/1g.5gb-plus-me":"1"},)"
            R"("requests":{"mig.das.com/1g.5gb-plus-me":"1"}})");
}

TEST_F(WebhookTest, WB3AddsBothSpellings) {
  EXPECT_EQ(resources_after("limits: {mig.das.com/1g.5gb: '2', nvidia.com/mig-1g.5gb: '1'}"),
            R"({"limits":{"mig.das.com/1g.5gb":"3"},"requests":{"mig.das.com/1g.5gb":"3"}})");
}

TEST_F(WebhookTest, WB4MapsWholeGpusToTheOnlyProfile) {
  const auto settings = parse_settings({{"EMULATED_MODE", "enabled"}, {"DAS_WHOLE_GPU", "map"}});
  ASSERT_TRUE(settings.ok()) << settings.error().message;
  world.configure(kSettingsSection, api::encode(*settings));
  const Value whole = pod("limits: {nvidia.com/gpu: '2'}, requests: {nvidia.com/gpu: '2'}");
  EXPECT_EQ(ask(whole).message,
            "nvidia.com/gpu cannot be mapped to a MIG profile: 0 candidate profiles");
  EXPECT_EQ(ask(whole).code, 422);
  const auto offer = [&](const std::string& node, const std::string& gigabytes) {
    world.put(from_yaml(
        "{apiVersion: inference.redhat.com/v1alpha1, kind: NodeAccelerator, metadata: {name: " +
        node + ", namespace: das-operator}, status: {nodeResources: {nodeGpus: [{gpuUuid: " + node +
        ", slots: 8}], migPlacement: {1g.5gb: {placements: [{size: 1, start: 0}]}, 7g." +
        gigabytes + "gb: {placements: [{size: 8, start: 0}]}, 7g." + gigabytes +
        "gb+gfx: {placements: [{size: 8, start: 0}]}}}}}"));
  };
  offer("n1", "40");
  offer("n2", "40");
  EXPECT_EQ(json::print(after(whole)["spec"]["containers"][0]["resources"]),
            R"({"limits":{"mig.das.com/7g.40gb":"2"},"requests":{"mig.das.com/7g.40gb":"2"}})");
  EXPECT_EQ(after(whole)["spec"]["schedulerName"].str(), "das-scheduler");
  EXPECT_TRUE(ask(after(whole)).patch.is_null());
  offer("n3", "80");
  EXPECT_EQ(ask(whole).message,
            "nvidia.com/gpu cannot be mapped to a MIG profile: 2 candidate profiles");
  EXPECT_TRUE(ask(pod("limits: {nvidia.com/mig-1g.5gb: '1'}")).allowed);
  EXPECT_FALSE(parse_settings({{"DAS_WHOLE_GPU", "perhaps"}}).ok());
}

TEST_F(WebhookTest, WB5RefusesUnknownSyntaxWarnsOfAbsentProfiles) {
  const Verdict refused = ask(pod("limits: {nvidia.com/mig-foo: '1'}"));
  EXPECT_FALSE(refused.allowed);
  EXPECT_EQ(refused.code, 422);
  EXPECT_EQ(refused.message, "unknown MIG profile \"foo\" in container \"c\"");
  const Verdict warned = ask(pod("limits: {nvidia.com/mig-9g.9gb: '1'}"));
  EXPECT_EQ(warned.warnings,
            std::vector<std::string>{"no node currently offers MIG profile \"9g.9gb\""});
  world.put(
      from_yaml("{apiVersion: inference.redhat.com/v1alpha1, kind: NodeAccelerator, metadata: "
                "{name: n1, namespace: das-operator}, status: {nodeResources: {migPlacement: "
                "{9g.9gb: {}}, nodeGpus: [{gpuUuid: a}, {gpuUuid: b, migPlacement: {8g.8gb: "
                "{}}}]}}}"));
  EXPECT_TRUE(ask(pod("limits: {nvidia.com/mig-9g.9gb: '1'}")).warnings.empty());
  EXPECT_TRUE(ask(pod("limits: {nvidia.com/mig-8g.8gb: '1'}")).warnings.empty())
      << "a model of its own on one GPU";
}

TEST_F(WebhookTest, WB6RuntimeClassByModeAndAnnotation) {
  const Value plain = pod("limits: {nvidia.com/mig-1g.5gb: '1'}");
  EXPECT_TRUE(after(plain)["spec"]["runtimeClassName"].is_null());
  configure(false);
  for (const char* name : {"nvidia-legacy", "other"}) {
    world.put(from_yaml("{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: " +
                        std::string(name) + "}, handler: x}"));
  }
  EXPECT_EQ(after(plain)["spec"]["runtimeClassName"].str(), "nvidia-legacy");
  world.put(from_yaml(
      "{apiVersion: inference.redhat.com/v1alpha1, kind: DASOperator, metadata: {name: cluster, "
      "namespace: das-operator, annotations: {das.inference.redhat.com/runtime-class: other}}}"));
  EXPECT_EQ(after(plain)["spec"]["runtimeClassName"].str(), "other");
}

// Its API server would refuse the pod: RuntimeClass "nvidia-legacy" not found.
TEST_F(WebhookTest, WB6LeavesMissingRuntimeClassUnset) {
  configure(false);
  const Value wants = pod("limits: {nvidia.com/mig-1g.5gb: '1'}", ", runtimeClassName: mine");
  const Verdict verdict = ask(wants);
  ASSERT_EQ(verdict.warnings.size(), 2U);
  EXPECT_EQ(verdict.warnings[0],
            "RuntimeClass \"nvidia-legacy\" not found: spec.runtimeClassName is not set");
  EXPECT_EQ(after(wants)["spec"]["runtimeClassName"].str(), "mine");
  EXPECT_TRUE(ask(pod("limits: {cpu: '1'}")).warnings.empty());
}

TEST_F(WebhookTest, WB7OptOutOfPodAndNamespace) {
  const std::string limits = "limits: {nvidia.com/mig-foo: '1'}";
  EXPECT_TRUE(
      ask(pod(limits, "", ", labels: {das.inference.redhat.com/mutate: 'false'}")).patch.is_null());
  EXPECT_FALSE(ask(pod(limits)).allowed);
  world.put(
      from_yaml("{apiVersion: v1, kind: Namespace, metadata: {name: ns, labels: "
                "{das.inference.redhat.com/mutate: 'false'}}}"));
  EXPECT_TRUE(ask(pod(limits)).allowed);
}

TEST_F(WebhookTest, LeavesExcludedNamespacesAlone) {
  for (const char* ns : {"das-operator", "kube-system", "gpu-operator", "cert-manager"}) {
    EXPECT_TRUE(ask(pod("limits: {nvidia.com/mig-1g.5gb: '1'}"), ns).patch.is_null()) << ns;
  }
}

TEST_F(WebhookTest, WB8LeavesBoundPodsAloneWithAWarning) {
  const Verdict verdict = ask(pod("limits: {nvidia.com/mig-1g.5gb: '1'}", ", nodeName: n1"));
  EXPECT_TRUE(verdict.patch.is_null());
  EXPECT_EQ(verdict.warnings.size(), 1U);
}

TEST_F(WebhookTest, WB9RemovesZero) {
  const Value changed =
      after(pod("limits: {nvidia.com/mig-1g.5gb: '0', cpu: '1'}", ", schedulerName: mine"));
  EXPECT_EQ(json::print(changed["spec"]["containers"][0]["resources"]),
            R"({"limits":{"cpu":"1"}})");
  EXPECT_EQ(changed["spec"]["schedulerName"].str(), "mine");
}

TEST_F(WebhookTest, WB10IsIdempotent) {
  for (const char* resources :
       {"limits: {nvidia.com/mig-1g.5gb: '1'}", "limits: {mig.das.com/1g.5gb: '1'}",
        "limits: {mig.das.com/1g.5gb: '2', nvidia.com/mig-1g.5gb: '1'}"}) {
    const Value once = after(pod(resources));
    EXPECT_TRUE(ask(once).patch.is_null()) << resources;
  }
}

TEST_F(WebhookTest, RewritesInitContainers) {
  Value object = pod("limits: {cpu: '1'}");
  object.member("spec").set(
      "initContainers",
      Value::list({from_yaml("{name: i, resources: {limits: {nvidia.com/mig-2g.10gb: 1}}}")}));
  const Value changed = after(object);
  EXPECT_EQ(
      changed["spec"]["initContainers"][0]["resources"]["limits"]["mig.das.com/2g.10gb"].str(),
      "1");
  EXPECT_EQ(changed["spec"]["schedulerName"].str(), "das-scheduler");
}

TEST_F(WebhookTest, K6WarnsOfQuotasThatNeverBite) {
  world.put(
      from_yaml("{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: ns}, spec: "
                "{hard: {requests.nvidia.com/mig-1g.5gb: '2', requests.nvidia.com/mig-2g.10gb: "
                "'2', requests.cpu: '4'}}}"));
  world.put(
      from_yaml("{apiVersion: v1, kind: ResourceQuota, metadata: {name: other, namespace: other}, "
                "spec: {hard: {requests.nvidia.com/mig-1g.5gb: '2'}}}"));
  const Verdict verdict = ask(pod("limits: {nvidia.com/mig-1g.5gb: '1'}"));
  ASSERT_EQ(verdict.warnings.size(), 2U);
  EXPECT_EQ(
      verdict.warnings[1],
      "ResourceQuota \"q\" limits requests.nvidia.com/mig-1g.5gb, which pods no longer ask for "
      "when quotas are checked: limit requests.mig.das.com/1g.5gb instead");
  EXPECT_TRUE(ask(pod("limits: {cpu: '1'}")).warnings.empty());
}

TEST_F(WebhookTest, K7ChargesMemoryWhereASettingNamesIt) {
  Settings settings;
  settings.emulated_mode = "enabled";
  settings.memory_quota_resource = "example.com/gpu-memory";
  world.configure(kSettingsSection, api::encode(settings));
  EXPECT_EQ(resources_after("limits: {nvidia.com/mig-1g.5gb: '2', nvidia.com/mig-3g.20gb: '1'}"),
            R"({"limits":{"mig.das.com/1g.5gb":"2","mig.das.com/3g.20gb":"1",)"
            R"("example.com/gpu-memory":"30Gi"},"requests":{"mig.das.com/1g.5gb":"2",)"
            R"("mig.das.com/3g.20gb":"1","example.com/gpu-memory":"30Gi"}})");
  const Value once = after(pod("limits: {nvidia.com/mig-1g.5gb: '2'}"));
  EXPECT_TRUE(ask(once).patch.is_null());
  EXPECT_TRUE(ask(pod("limits: {cpu: '1'}")).patch.is_null());
  for (const char* wrong :
       {"memory", "nvidia.com/x", "mig.das.com/x", "kubernetes.io/x", "a b/c"}) {
    EXPECT_FALSE(parse_settings({{"DAS_MEMORY_QUOTA_RESOURCE", wrong}}).ok()) << wrong;
  }
}

// In production the webhook sees what the operators' caches hold.
TEST_F(WebhookTest, ReadsOnlyKindsThatTheOperatorsCache) {
  const AdmissionRequest request{.resource = "pods",
                                 .kind = "Pod",
                                 .key = {"ns", "p"},
                                 .object = pod("limits: {nvidia.com/mig-1g.5gb: '1'}")};
  Reads reads;
  ASSERT_TRUE(mutate_pod(View(world, reads), request, world.now).allowed);
  std::set<std::string_view> cached;
  for (const Operator* one : das_operators()) {
    for (const Kind* kind : one->reads) {
      cached.insert(kind->name);
    }
  }
  ASSERT_GE(reads.objects.size() + reads.lists.size(), 4U);
  for (const Ref& read : reads.objects) {
    EXPECT_TRUE(cached.contains(read.kind->name)) << read.kind->name;
  }
  for (const Reads::ListRead& read : reads.lists) {
    EXPECT_TRUE(cached.contains(read.kind->name)) << read.kind->name;
  }
}

}  // namespace
}  // namespace athanor::das::webhook_test
