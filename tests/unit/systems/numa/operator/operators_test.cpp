// SPDX-License-Identifier: Apache-2.0
// The operators on a small world: conditions and their texts (docs/spec/numa.md 2.3, 6.2, 8).
#include "systems/numa/operator/operators.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "kube/text/yaml.hpp"
#include "runtime/view/step.hpp"
#include "support/fake_world.hpp"
#include "systems/numa/emulation/node_state.hpp"
#include "systems/numa/model/conversion.hpp"
#include "systems/numa/model/image.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/model/settings.hpp"
#include "systems/numa/operator/manifests.hpp"
#include "systems/numa/operator/node_groups.hpp"
#include "systems/numa/scheduling/session.hpp"
#include "systems/numa/system.hpp"
#include "unit/systems/numa/lab_node.hpp"

namespace athanor::numa::operators_test {
namespace {

const Key kOperatorKey{"", kOperatorName};
const Key kSchedulerKey{"", kSchedulerName};

Value from_yaml(const std::string& text) {
  return yaml::parse(text).value();
}

class NumaOperators : public ::testing::Test {
 protected:
  NumaOperators() {
    Settings settings;
    settings.emulated = true;
    settings.emulate_openshift = true;
    settings.scheduler_image_validation = false;
    settings.machine_config_delay = "0s";
    world.configure("numa", to_value(settings));
    const SystemConfig config{{"numa", to_value(settings)}};
    for (const Value& object : system().lab_objects({.config = config})) {
      world.put(object);
    }
  }
  void apply(const std::string& spec, const std::string& metadata = "name: numaresourcesoperator") {
    world.put(
        from_yaml("{apiVersion: nodetopology.openshift.io/v1, kind: NUMAResourcesOperator, "
                  "metadata: {" +
                  metadata + "}, spec: " + spec + "}"));
    settle();
  }
  void settle() {
    world.settle({&exporter_operator(), &kubelet_config_operator(), &scheduler_operator(),
                  &machine_config_emulation()});
  }
  std::string condition(const char* type, const char* field, const Key& key = kOperatorKey) {
    return world.condition(key == kSchedulerKey ? kSchedulerKind : kOperatorKind, key, type)[field]
        .str();
  }
  void ready(const Kind& kind, const Key& key, const std::string& status) {
    world.update(kind, key, [&](Value& object) { object.set("status", from_yaml(status)); });
    settle();
  }
  static constexpr const char* kWorkers =
      "{nodeGroups: [{machineConfigPoolSelector: {matchLabels: "
      "{pools.operator.machineconfiguration.openshift.io/worker: ''}}}]}";
  test::FakeWorld world{};
};

// docs/spec/numa.md 6.8: what failed has a reason of its own, once, and no success is told.
TEST_F(NumaOperators, RefusalsAreEventsOfTheirStage) {
  struct Row {
    const Kind* refused;
    const char* reason;
    const char* failure;
  };
  const Row rows[] = {
      {&api::kCustomResourceDefinition, "FailedCRDInstall",
       "Failed to install Node Resource Topology CRD: refused"},
      {&kMachineConfig, "FailedMCSync",
       "Failed to set up machine configuration for worker nodes: refused"},
      {&api::kDaemonSet, "FailedRTECreate",
       "Failed to create Resource-Topology-Exporter DaemonSets: refused"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.reason);
    world.events.clear();
    if (world.has(kOperatorKind, kOperatorKey)) {
      world.remove(kOperatorKind, kOperatorKey);
    }
    world.fault = [&row](const Step& step) -> std::optional<Error> {
      const auto* apply = std::get_if<Apply>(&step);
      return apply != nullptr && apply->target.kind == row.refused
                 ? std::optional(Error::bad_request("refused"))
                 : std::nullopt;
    };
    apply(
        "{nodeGroups: [{annotations: {config.node.openshift-kni.io/selinux-policy: custom}, "
        "machineConfigPoolSelector: {matchLabels: "
        "{pools.operator.machineconfiguration.openshift.io/worker: ''}}}]}");
    EXPECT_EQ(world.event_count(row.reason), 1);
    for (const auto& event : world.events) {
      if (event.reason == row.reason) {
        EXPECT_EQ(event.note, row.failure);
      }
    }
    EXPECT_EQ(condition("Degraded", "status"), "True");
    EXPECT_EQ(condition("Degraded", "message"), "refused");
    EXPECT_EQ(world.event_count("SuccessfulRTECreate"), 0);
  }
}

// What others add to lists goes; labels and annotations of others stay.
TEST_F(NumaOperators, TakesAdditionsOut) {
  apply(kWorkers);
  const Key key{"numaresources", "numaresourcesoperator-worker"};
  const Value before = world.must(api::kDaemonSet, key).spec();
  world.update(api::kDaemonSet, key, [](Value& object) {
    object.set_path({"metadata", "labels", "theirs"}, "stays");
    Value& pod = object.member("spec").member("template").member("spec");
    pod.member("containers").push_back(from_yaml("{name: added, image: i}"));
    pod.member("volumes").push_back(from_yaml("{name: added, emptyDir: {}}"));
    pod.member("containers").item(0).member("env").push_back(from_yaml("{name: ADDED, value: x}"));
    object.set_path({"metadata", "managedFields"}, from_yaml(R"([
      {manager: numaresources, operation: Apply, fieldsV1: {}},
      {manager: theirs, operation: Update, fieldsV1: {"f:spec": {"f:template": {"f:spec": {
        "f:containers": {'k:{"name":"added"}': {".": {}},
                         'k:{"name":"resource-topology-exporter"}':
                             {"f:env": {'k:{"name":"ADDED"}': {".": {}}}}},
        "f:volumes": {'k:{"name":"added"}': {".": {}}}}}}}}])"));
  });
  settle();
  const Object after = world.must(api::kDaemonSet, key);
  EXPECT_EQ(after.spec(), before);
  EXPECT_EQ(after.label("theirs"), "stays");
}

// docs/spec/numa.md 16.2: as the daemon of machine configurations does.
TEST_F(NumaOperators, NodesNameTheirConfiguration) {
  world.put(
      from_yaml("{apiVersion: v1, kind: Node, metadata: {name: w, labels: "
                "{node-role.kubernetes.io/worker: ''}}}"));
  settle();
  const std::string name =
      world.must(kMachineConfigPool, {"", "worker"}).status()["configuration"]["name"].str();
  EXPECT_TRUE(name.starts_with("rendered-worker-")) << name;
  const Object node = world.must(api::kNode, {"", "w"});
  EXPECT_EQ(node.annotation("machineconfiguration.openshift.io/currentConfig"), name);
  EXPECT_EQ(node.annotation("machineconfiguration.openshift.io/desiredConfig"), name);
  EXPECT_EQ(node.annotation("machineconfiguration.openshift.io/state"), "Done");
}

TEST_F(NumaOperators, DeploysAnExporterForEachPool) {
  apply(kWorkers);
  const Key key{"numaresources", "numaresourcesoperator-worker"};
  EXPECT_EQ(condition("Progressing", "status"), "True");
  EXPECT_EQ(condition("Progressing", "message"),
            "numaresources/numaresourcesoperator-worker is updating");
  EXPECT_EQ(condition("Available", "status"), "False");
  EXPECT_EQ(condition("Available", "reason"), "Available");
  const Value set = world.must(api::kDaemonSet, key).body();
  const Value& pod = set["spec"]["template"];
  EXPECT_TRUE(pod["spec"]["nodeSelector"].contains("node-role.kubernetes.io/worker"));
  EXPECT_EQ(pod["metadata"]["annotations"]["configmap.hash"].str(), "");
  EXPECT_EQ(pod["metadata"]["annotations"]["openshift.io/required-scc"].str(),
            "resource-topology-exporter-v2");
  ready(api::kDaemonSet, key, "{observedGeneration: 1, desiredNumberScheduled: 2, numberReady: 2}");
  EXPECT_EQ(condition("Available", "status"), "True");
  EXPECT_EQ(condition("Upgradeable", "status"), "True");
  EXPECT_EQ(condition("MachineConfigPoolPaused", "status"), "False");
  const Value status = world.must(kOperatorKind, kOperatorKey).status();
  EXPECT_EQ(status["nodeGroups"][0]["selector"].str(), "worker");
  EXPECT_EQ(status["nodeGroups"][0]["config"]["podsFingerprinting"].str(),
            "EnabledExclusiveResources");
  EXPECT_EQ(status["relatedObjects"].size(), 5U);
  EXPECT_EQ(status["relatedObjects"][4]["name"].str(), "numaresourcesoperator-worker");
  for (const Kind* kind : {&kRole, &kRoleBinding, &api::kServiceAccount}) {
    EXPECT_TRUE(world.has(*kind, {"numaresources", "rte"})) << kind->name;
  }
  EXPECT_TRUE(world.has(kSecurityContextConstraints, {"", "resource-topology-exporter-v2"}));
  EXPECT_TRUE(world.has(api::kService, {"numaresources", "numaresources-rte-metrics-service"}));
  EXPECT_TRUE(world.has(api::kCustomResourceDefinition,
                        {"", "noderesourcetopologies.topology.node.k8s.io"}));
  // No groups: nothing is deployed, and the object is available.
  world.update(kOperatorKind, kOperatorKey,
               [](Value& object) { object.set("spec", Value::object()); });
  settle();
  EXPECT_FALSE(world.has(api::kDaemonSet, key));
  EXPECT_EQ(condition("Available", "status"), "True");
  EXPECT_TRUE(world.must(kOperatorKind, kOperatorKey).status()["daemonsets"].empty());
}

TEST_F(NumaOperators, ReportsForbiddenWritesAndRetries) {
  bool forbidden = true;
  world.fault = [&](const Step& step) -> std::optional<Error> {
    const Ref* target = target_of(step);
    if (forbidden && target != nullptr && target->kind == &kRole) {
      return Error{.code = 403, .reason = "Forbidden", .message = "roles \"rte\" is forbidden"};
    }
    return std::nullopt;
  };
  apply(kWorkers);
  EXPECT_EQ(condition("Degraded", "reason"), "InternalError");
  EXPECT_EQ(condition("Degraded", "message"), "roles \"rte\" is forbidden");
  EXPECT_TRUE(world.has(api::kDaemonSet, {"numaresources", "numaresourcesoperator-worker"}));
  forbidden = false;
  world.settle_for({&exporter_operator()}, std::chrono::minutes(1));
  EXPECT_EQ(condition("Degraded", "status"), "False");
  EXPECT_TRUE(world.has(kRole, {"numaresources", "rte"}));
}

TEST_F(NumaOperators, RefusesGroupsWithTheSpecifiedTexts) {
  struct Row {
    const char* spec = "";
    const char* message = "";
  };
  const Row rows[] = {
      {"{nodeGroups: [{}]}", "node group 0 missing any pool specifier"},
      {"{nodeGroups: [{poolName: a, machineConfigPoolSelector: {}}]}",
       "node group 0 must have only a single specifier set: either PoolName or "
       "MachineConfigPoolSelector"},
      {"{nodeGroups: [{poolName: ''}, {poolName: a}, {poolName: ''}]}",
       "pool name for pool #0 cannot be empty\npool name for pool #2 cannot be empty"},
      {"{nodeGroups: [{poolName: worker}, {poolName: worker}]}",
       "the pool name \"worker\" has duplicates"},
      {"{nodeGroups: [{poolName: worker, annotations: {a: '', b: '', c: '', d: '', e: '', f: '', "
       "g: '', h: '', i: ''}}]}",
       "pool #0 has too many annotations 9 max 8"},
      {"{nodeGroups: [{machineConfigPoolSelector: {matchLabels: {b: c, a: d}}}, "
       "{machineConfigPoolSelector: {matchLabels: {a: d, b: c}}}]}",
       "the node group with the machineConfigPoolSelector "
       "\"&LabelSelector{MatchLabels:map[string]string{a: d,b: c,},MatchExpressions:"
       "[]LabelSelectorRequirement{},}\" has duplicates"},
      {"{nodeGroups: [{machineConfigPoolSelector: {matchExpressions: [{key: a, operator: Foo}]}}]}",
       "\"Foo\" is not a valid label selector operator"},
      {"{nodeGroups: [{poolName: worker}, {machineConfigPoolSelector: {}}]}",
       "the MachineConfigPool \"worker\" selected by at least two node groups"},
  };
  for (const Row& row : rows) {
    apply(row.spec);
    EXPECT_EQ(condition("Degraded", "status"), "True") << row.spec;
    EXPECT_EQ(condition("Degraded", "reason"), "ValidationErrorUnderNodeGroups") << row.spec;
    EXPECT_EQ(condition("Degraded", "message"), row.message);
  }
  EXPECT_EQ(world.count(api::kDaemonSet), 0U);
}

TEST_F(NumaOperators, FindsAPoolThatComesLater) {  // A5
  apply("{nodeGroups: [{machineConfigPoolSelector: {matchLabels: {tier: gold}}}]}");
  EXPECT_TRUE(condition("Degraded", "message")
                  .starts_with("failed to find MachineConfigPool for the node group"));
  world.update(kMachineConfigPool, {"", "worker"},
               [](Value& pool) { pool.member("metadata").member("labels").set("tier", "gold"); });
  settle();
  EXPECT_EQ(condition("Degraded", "status"), "False");
  EXPECT_EQ(condition("Progressing", "status"), "True");
}

TEST_F(NumaOperators, OtherNamesPausesAndImages) {
  apply("{}", "name: foo");
  EXPECT_EQ(condition("Degraded", "reason", {"", "foo"}),
            "IncorrectNUMAResourcesOperatorResourceName");
  EXPECT_EQ(condition("Degraded", "message", {"", "foo"}),
            "incorrect NUMAResourcesOperator resource name: foo");
  apply("{imageSpec: 'registry/image:1'}");
  EXPECT_EQ(condition("Degraded", "reason"), "CustomUserImage");
  EXPECT_EQ(condition("Degraded", "message"),
            "custom operand image is not supported: registry/image:1");
  world.remove(kOperatorKind, kOperatorKey);
  apply(kWorkers,
        "name: numaresourcesoperator, annotations: "
        "{config.numa-operator.openshift.io/pause-reconciliation: enabled}");
  EXPECT_TRUE(world.must(kOperatorKind, kOperatorKey).status().empty());
}

TEST_F(NumaOperators, PausedPoolsAndSeveralPoolsOfAGroup) {
  world.update(kMachineConfigPool, {"", "worker"},
               [](Value& pool) { pool.member("spec").set("paused", true); });
  apply("{nodeGroups: [{machineConfigPoolSelector: {}}]}");
  EXPECT_EQ(condition("MachineConfigPoolPaused", "message"), "detected paused MCPs: worker");
  for (const char* pool : {"master", "worker"}) {
    ready(api::kDaemonSet, {"numaresources", daemon_set_name(pool)}, "{observedGeneration: 1}");
  }
  EXPECT_EQ(condition("Degraded", "message"),
            "found multiple pools matches for node group &LabelSelector{MatchLabels:map[string]"
            "string{},MatchExpressions:[]LabelSelectorRequirement{},} but expected one. Pools "
            "found [master worker]");
  EXPECT_EQ(world.must(kOperatorKind, kOperatorKey).status()["nodeGroups"].size(), 2U);
}

// docs/spec/numa.md 16.3
TEST_F(NumaOperators, PlainKubernetesTakesPoolNames) {
  world.remove(kClusterVersion, {"", "version"});
  world.remove(kMachineConfigPool, {"", "worker"});
  world.remove(kMachineConfigPool, {"", "master"});
  apply("{nodeGroups: [{poolName: edge}]}");
  const Object set = world.must(api::kDaemonSet, {"numaresources", "numaresourcesoperator-edge"});
  EXPECT_TRUE(
      set.spec()["template"]["spec"]["nodeSelector"].contains("node-role.kubernetes.io/edge"));
  EXPECT_EQ(world.count(kSecurityContextConstraints), 0U);
  apply(kWorkers);
  EXPECT_EQ(condition("Degraded", "message"), "unsupported platform");
  // 16.3: the API is served, and has no pools yet.
  world.put(
      from_yaml("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: "
                "{name: machineconfigpools.machineconfiguration.openshift.io}}"));
  settle();
  EXPECT_TRUE(condition("Degraded", "message").starts_with("failed to find MachineConfigPool"));
}

TEST_F(NumaOperators, AKubeletConfigBecomesTheExportersConfig) {
  apply(kWorkers);
  Value node = from_yaml(
      "{apiVersion: v1, kind: Node, metadata: {name: w, labels: "
      "{node-role.kubernetes.io/worker: ''}}}");
  node.set_path({"metadata", "annotations"}, annotations_of(from_yaml("{zones: [{cpus: 4}]}")));
  world.put(node);
  world.put(from_yaml(R"({apiVersion: machineconfiguration.openshift.io/v1, kind: KubeletConfig,
    metadata: {name: tuning}, spec: {machineConfigPoolSelector: {matchLabels:
    {pools.operator.machineconfiguration.openshift.io/worker: ''}},
    kubeletConfig: {topologyManagerPolicy: single-numa-node, topologyManagerScope: pod}}})"));
  settle();
  const auto profile = profile_of(world.must(api::kNode, {"", "w"}));  // A10
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->policy, "single-numa-node");
  EXPECT_EQ(profile->scope, "pod");
  const Key key{"numaresources", "numaresourcesoperator-worker"};
  EXPECT_EQ(world.must(api::kConfigMap, key).body()["data"]["config.yaml"].str(),
            "kubelet:\n  topologyManagerPolicy: single-numa-node\n  topologyManagerScope: pod\n");
  EXPECT_EQ(world.must(api::kDaemonSet, key)
                .spec()["template"]["metadata"]["annotations"]["configmap.hash"]
                .str(),
            "SHA256:cf7ee47ad9e0e9aab5ec93b336fe096b69640c9bb4cb9e66a7678dd0b3bfef89");
}

// docs/spec/numa.md 16.2: a change takes a while. Its nodes have it at once, as the exporter's
// configuration does: else the scheduler would bind what the node still rejects.
TEST_F(NumaOperators, APoolUpdatesBeforeItIsUpdated) {
  Settings settings;
  settings.machine_config_delay = "2s";
  world.configure("numa", to_value(settings));
  const auto state = [&] {
    const Key key{"", "worker"};
    std::string text;
    for (const char* type : {"Updated", "Updating", "Degraded"}) {
      text += world.condition(kMachineConfigPool, key, type)["status"].str() + " ";
    }
    const Value& source = world.must(kMachineConfigPool, key).status()["configuration"]["source"];
    return text + std::to_string(source.size());
  };
  const auto pass = [&](Duration time) { world.settle_for({&machine_config_emulation()}, time); };
  pass(Duration(0));
  EXPECT_EQ(state(), "True False False 0");
  Value node = from_yaml(
      "{apiVersion: v1, kind: Node, metadata: {name: w, labels: "
      "{node-role.kubernetes.io/worker: ''}}}");
  node.set_path({"metadata", "annotations"}, annotations_of(from_yaml("{zones: [{cpus: 4}]}")));
  world.put(node);
  world.put(from_yaml(R"({apiVersion: machineconfiguration.openshift.io/v1, kind: KubeletConfig,
    metadata: {name: tuning}, spec: {machineConfigPoolSelector: {matchLabels:
    {pools.operator.machineconfiguration.openshift.io/worker: ''}},
    kubeletConfig: {topologyManagerPolicy: restricted}}})"));
  const auto policy = [&] { return profile_of(world.must(api::kNode, {"", "w"}))->policy; };
  pass(std::chrono::seconds(1));
  EXPECT_EQ(state(), "False True False 0");
  EXPECT_EQ(policy(), "restricted");
  pass(std::chrono::seconds(1));
  EXPECT_EQ(state(), "True False False 1");
  world.update(kKubeletConfig, {"", "tuning"}, [](Value& config) {
    config.set_path({"spec", "kubeletConfig", "topologyManagerPolicy"}, "best-effort");
  });
  pass(std::chrono::seconds(1));
  EXPECT_EQ(state(), "False True False 1");
  pass(std::chrono::seconds(1));
  EXPECT_EQ(state(), "True False False 1");
  const std::size_t writes = world.writes.size();
  pass(std::chrono::hours(1));
  EXPECT_EQ(world.writes.size(), writes);
}

TEST_F(NumaOperators, TheSchedulerAndItsConfiguration) {  // A13 to A16
  const auto scheduler = [&](const std::string& spec) {
    world.put(
        from_yaml("{apiVersion: nodetopology.openshift.io/v1, kind: NUMAResourcesScheduler, "
                  "metadata: {name: numaresourcesscheduler}, spec: " +
                  spec + "}"));
    settle();
  };
  const auto config = [&] {
    return from_yaml(world.must(api::kConfigMap, {"numaresources", kSchedulerConfig})
                         .body()["data"]["config.yaml"]
                         .str());
  };
  scheduler("{imageSpec: 'scheduler-plugins:5.0-snapshot', logLevel: Normal}");
  EXPECT_EQ(condition("Progressing", "message", kSchedulerKey),
            "numaresources/secondary-scheduler is updating");
  const Value args = config()["profiles"][0]["pluginConfig"][0]["args"];
  EXPECT_EQ(args["cacheResyncPeriodSeconds"].as_int(), 5);
  EXPECT_EQ(args["cache"]["foreignPodsDetect"].str(), "OnlyExclusiveResources");
  ready(api::kDeployment, {"numaresources", kDeploymentName},
        "{observedGeneration: 1, availableReplicas: 1, conditions: [{type: Available, status: "
        "'True'}]}");
  EXPECT_EQ(condition("Available", "status", kSchedulerKey), "True");
  EXPECT_EQ(condition("DedicatedInformerActive", "status", kSchedulerKey), "True");
  const auto period = [&](const char* text) {
    scheduler(std::string("{imageSpec: 'a:1', cacheResyncPeriod: ") + text + "}");
    return world.must(kSchedulerKind, kSchedulerKey).status()["cacheResyncPeriod"].str();
  };
  EXPECT_EQ(period("8s"), "8s");
  EXPECT_EQ(period("7500ms"), "8s");
  EXPECT_EQ(period("6500ms"), "7s");
  EXPECT_EQ(period("'0'"), "0s");
  EXPECT_FALSE(
      config()["profiles"][0]["pluginConfig"][0]["args"].contains("cacheResyncPeriodSeconds"));
  scheduler("{imageSpec: 'a:1', replicas: 2}");
  EXPECT_EQ(condition("Degraded", "message", kSchedulerKey),
            "failed to compute scheduler replicas: explicitly set replicas count should not be "
            "greater than the number of the nodes with role control-plane");
}

// docs/spec/numa.md 8.2
TEST(NumaImages, Texts) {
  const std::string digest = "sha256:" + std::string(64, 'a');
  const std::vector<std::string> trusted{digest};
  EXPECT_TRUE(check_scheduler_image("repo/s@" + digest, trusted).ok());
  EXPECT_EQ(check_scheduler_image("repo/s:1", trusted).error().message,
            "image \"repo/s:1\" must be referenced by digest, not by tag");
  EXPECT_EQ(check_scheduler_image("s@sha256:12", trusted).error().message,
            "image \"s@sha256:12\" has malformed digest \"sha256:12\": expected sha256:<64 hex "
            "chars>");
  EXPECT_EQ(check_scheduler_image("s@" + digest, {}).error().message,
            "image \"s@" + digest + "\" digest \"" + digest +
                "\" is not in the trusted list. To extend the list, update the environment "
                "variable \"SCHEDULER_IMAGE_DIGESTS\" with comma separated list of digests");
}

// docs/spec/numa.md 2.5
TEST(NumaConversion, BothWaysWithoutLoss) {
  const Value object = from_yaml(R"({apiVersion: nodetopology.openshift.io/v1,
    kind: NUMAResourcesOperator, metadata: {name: numaresourcesoperator}, spec: {nodeGroups: [
    {poolName: a, annotations: {x: y}}, {machineConfigPoolSelector: {}, config: {
    podsFingerprinting: EnabledExclusiveResources, infoRefreshPause: Enabled}}]},
    status: {daemonsets: [{namespace: n, name: d}], relatedObjects: [{group: '', name: n,
    resource: namespaces}]}})");
  const Value old = *convert(object, "nodetopology.openshift.io/v1alpha1");
  EXPECT_FALSE(old["spec"]["nodeGroups"][0].contains("poolName"));
  EXPECT_EQ(old["spec"]["nodeGroups"][1]["config"]["podsFingerprinting"].str(),
            "EnabledExclusiveResources");
  EXPECT_FALSE(old["status"].contains("relatedObjects"));
  EXPECT_EQ(old["status"]["daemonsets"], object["status"]["daemonsets"]);
  EXPECT_EQ(*convert(old, "nodetopology.openshift.io/v1"), object);
  const Value seed = from_yaml(R"({apiVersion: nodetopology.openshift.io/v1alpha1,
    kind: NUMAResourcesOperator, spec: {nodeGroups: [{disablePodsFingerprinting: true},
    {disablePodsFingerprinting: true, config: {podsFingerprinting: Enabled}}]}})");
  const Value fresh = *convert(seed, "nodetopology.openshift.io/v1");
  EXPECT_EQ(fresh["spec"]["nodeGroups"][0]["config"]["podsFingerprinting"].str(), "Disabled");
  EXPECT_EQ(fresh["spec"]["nodeGroups"][1]["config"]["podsFingerprinting"].str(), "Enabled");
  EXPECT_FALSE(convert(object, "nodetopology.openshift.io/v2").ok());
}

TEST_F(NumaOperators, PassLogLevelsToWorkingProcess) {  // 2.1, 3.1, 16.6
  const auto asked = [&] {
    std::string text;
    for (const Act& act : world.acts) {
      text += act.args["source"].str() + "=" + act.args["level"].str() + " ";
    }
    return text;
  };
  apply("{logLevel: Debug}");
  world.put(from_yaml(
      "{apiVersion: nodetopology.openshift.io/v1, kind: NUMAResourcesScheduler, "
      "metadata: {name: numaresourcesscheduler}, spec: {imageSpec: i, logLevel: Trace}}"));
  settle();
  EXPECT_EQ(asked(), "numaresourcesoperator=Debug numaresourcesscheduler=Trace ");
  world.update(kSchedulerKind, kSchedulerKey, [](Value& object) {
    object.set_path({"spec", "logLevel"}, "Normal");
    object.set_path({"metadata", "generation"}, 2);
  });
  settle();
  EXPECT_EQ(asked(),
            "numaresourcesoperator=Debug numaresourcesscheduler=Trace "
            "numaresourcesscheduler=Normal ");
  // On a cluster the operands log, as their flags say.
  world.acts.clear();
  world.configure("numa", to_value(Settings{.scheduler_image_validation = false}));
  world.update(kSchedulerKind, kSchedulerKey, [](Value& object) {
    object.set_path({"spec", "logLevel"}, "TraceAll");
    object.set_path({"metadata", "generation"}, 3);
  });
  settle();
  EXPECT_EQ(asked(), "");
}

TEST_F(NumaOperators, SettingsAreFollowed) {  // 5.1, 16.3
  Settings settings;
  settings.emulated = true;
  settings.emulate_openshift = true;
  settings.pool_conditions = true;
  world.configure("numa", to_value(settings));
  apply(kWorkers);
  const Value pools = world.must(kOperatorKind, kOperatorKey).status()["machineconfigpools"];
  ASSERT_EQ(pools.size(), 1U);
  EXPECT_FALSE(pools[0]["conditions"].empty());
  settings.platform = "kubernetes";
  settings.strict_platform = true;
  world.configure("numa", to_value(settings));
  apply("{nodeGroups: [{poolName: worker}]}");
  EXPECT_EQ(condition("Degraded", "reason"), "ValidationErrorUnderNodeGroups");
  EXPECT_EQ(condition("Degraded", "message"), "unsupported platform");
}

TEST_F(NumaOperators, TheSchedulersCacheIsChosen) {  // 11.1, 11.6
  const auto cache = [&](const std::string& annotations, const std::string& spec) {
    world.put(from_yaml(
        "{apiVersion: nodetopology.openshift.io/v1, kind: NUMAResourcesScheduler, metadata: {name: "
        "numaresourcesscheduler, annotations: {" +
        annotations + "}}, spec: {imageSpec: i" + spec + "}}"));
    settle();
    const Object config =
        world.must(api::kConfigMap, {"numaresources", "topo-aware-scheduler-config"});
    return read_scheduler_config(config.body()["data"]["config.yaml"].as_string())->cache;
  };
  const std::string discard =
      "config.numa-operator.openshift.io/scheduler-discard-reserved: enabled";
  EXPECT_EQ(cache("", ""), Cache::OverReserve);
  EXPECT_EQ(cache("", ", cacheResyncPeriod: 0s"), Cache::Passthrough);
  EXPECT_EQ(cache(discard, ""), Cache::DiscardReserved);
  EXPECT_EQ(cache(discard, ", cacheResyncPeriod: 0s"), Cache::DiscardReserved);
}

TEST_F(NumaOperators, OptionsOfTheSchedulerReachItsPlugin) {  // 17, rows 2, 3, 4, 11
  world.put(from_yaml(
      "{apiVersion: nodetopology.openshift.io/v1, kind: NUMAResourcesScheduler, metadata: {name: "
      "numaresourcesscheduler, annotations: "
      "{config.numa-operator.openshift.io/scheduler-require-topology: enabled, "
      "config.numa-operator.openshift.io/scheduler-restricted-policy: enabled, "
      "config.numa-operator.openshift.io/scheduler-trust-unfingerprinted: enabled, "
      "config.numa-operator.openshift.io/scheduler-ignore-unlisted: enabled, "
      "config.numa-operator.openshift.io/scheduler-sidecar-accounting: disabled}}, spec: "
      "{imageSpec: i, scoringStrategy: {type: LeastNUMANodes}}}"));
  settle();
  const std::string text =
      world.must(api::kConfigMap, {"numaresources", "topo-aware-scheduler-config"})
          .body()["data"]["config.yaml"]
          .str();
  const auto profile = read_scheduler_config(text);
  ASSERT_TRUE(profile.ok()) << text;
  EXPECT_TRUE(profile->require_topology);
  EXPECT_TRUE(profile->filter.restricted);
  EXPECT_TRUE(profile->trust_unfingerprinted);
  EXPECT_TRUE(profile->scoring.ignore_unlisted);
  EXPECT_EQ(profile->scoring.strategy, Strategy::LeastNumaNodes);
  EXPECT_EQ(profile->sidecars, Sidecars::LikeInit);
}

}  // namespace
}  // namespace athanor::numa::operators_test
