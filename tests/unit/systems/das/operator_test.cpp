// SPDX-License-Identifier: Apache-2.0
// Operands and status of the DASOperator (docs/spec/das.md 10).
#include "systems/das/operator.hpp"
#include "systems/das/model/log_level.hpp"
#include "systems/das/operators.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "api/builtin.hpp"
#include "base/digest.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "support/fake_world.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/settings.hpp"
#include "systems/das/operands/operands.hpp"
#include "systems/das/system.hpp"

namespace athanor::das::operator_test {
namespace {

const Key kCluster{"das-operator", "cluster"};

class OperatorTest : public testing::Test {
 protected:
  OperatorTest() {
    Settings settings;
    settings.emulated_mode = "enabled";
    world.configure(kSettingsSection, api::encode(settings));
    world.put(operator_deployment(settings));
    declare("cluster");
  }
  void declare(const std::string& name) {
    world.put(
        yaml::parse("{apiVersion: inference.redhat.com/v1alpha1, kind: DASOperator, metadata: "
                    "{name: " +
                    name + ", namespace: das-operator}, spec: {}}")
            .value());
  }
  void edit(const std::string& field, const std::string& value) {
    world.update(kDASOperator, kCluster, [&](Value& object) {
      object.set_path({"spec", field}, value);
    });
    settle();
  }
  int settle() { return world.settle({&das_operator()}); }
  // "True: reason: message" of a condition.
  std::string condition(const std::string& type) {
    const Value found = world.condition(kDASOperator, kCluster, type);
    return found.is_null() ? "absent"
                           : found["status"].str() + ": " + found["reason"].str() + ": " +
                                 found["message"].str();
  }
  void all_ready() {
    for (const char* name : {"das-operator", "das-scheduler", "das-operator-webhook"}) {
      world.update(api::kDeployment, {"das-operator", name}, [](Value& object) {
        object.set_path({"status", "readyReplicas"}, 2);
      });
    }
    world.update(api::kDaemonSet, {"das-operator", "das-daemonset"}, [](Value& object) {
      object.set_path({"status", "numberReady"}, 1);
      object.set_path({"status", "desiredNumberScheduled"}, 1);
    });
    settle();
  }

  test::FakeWorld world{};
};

TEST_F(OperatorTest, MakesOperandsAndReportsTheirAvailability) {
  settle();
  EXPECT_EQ(condition("Available"),
            "False: ComponentsNotAvailable: Components without available replicas: operator, "
            "scheduler, webhook");
  EXPECT_EQ(condition("NodesMatched"),
            "False: NoMatchingNodes: No node matches the agent's node selector");
  EXPECT_EQ(condition("Degraded"),
            "True: ComponentReplicaMismatch: Components not matching configured replica counts: "
            "operator, scheduler, webhook");
  all_ready();
  EXPECT_EQ(condition("Available"),
            "True: AllRequiredComponentsAvailable: All required components have at least 1 replica "
            "available");
  EXPECT_EQ(condition("Progressing"),
            "False: AllComponentsAtDesiredState: All components are at desired state");
  EXPECT_EQ(condition("Degraded"), "False: AllComponentsHealthy: ");
  EXPECT_EQ(condition("NodesMatched"), "absent");
  const Value status = world.must(kDASOperator, kCluster).status();
  EXPECT_EQ(status["readyReplicas"].as_int(), 2);
  EXPECT_EQ(status["version"].str(), "0.1.0");
  world.writes.clear();
  world.restart();
  settle();
  EXPECT_TRUE(world.writes.empty()) << "an idle operator writes nothing";
}

// docs/spec/das.md 10.1, 10.2.
TEST_F(OperatorTest, WorkloadsCarryTheirHashAndGeneration) {
  settle();
  const Key webhook{"das-operator", "das-operator-webhook"};
  const auto hash = [&](const Kind& kind, const Key& key) {
    return world.must(kind, key).body()["metadata"]["annotations"][kSpecHashAnnotation].str();
  };
  const Key agents{"das-operator", "das-daemonset"};
  EXPECT_EQ(hash(api::kDeployment, webhook).size(), 64U);
  const std::string before = hash(api::kDaemonSet, agents);
  const auto generation = [&] {
    const Value list = world.must(kDASOperator, kCluster).status()["generations"];
    EXPECT_EQ(list.size(), 3U);
    EXPECT_EQ(list[0]["resource"].as_string(), "daemonsets");
    EXPECT_EQ(list[0]["namespace"].as_string(), "das-operator");
    EXPECT_EQ(list[0]["name"].as_string(), "das-daemonset");
    return list[0]["lastGeneration"].as_int();
  };
  const std::int64_t first = generation();
  world.update(kDASOperator, kCluster, [](Value& object) {
    object.set_path({"spec", "nodeSelector"}, Value::object({{"zone", "a"}}));
  });
  settle();
  EXPECT_NE(hash(api::kDaemonSet, agents), before);
  EXPECT_GT(generation(), first);
  const Value body = world.must(api::kDeployment, webhook).body();
  EXPECT_EQ(body["metadata"]["labels"]["app.kubernetes.io/version"].as_string(), "0.0.1");
  EXPECT_EQ(body["spec"]["selector"]["matchLabels"].size(), 2U);
  const Value pod = body["spec"]["template"];
  EXPECT_EQ(pod["spec"]["priorityClassName"].as_string(), "system-cluster-critical");
  EXPECT_EQ(pod["spec"]["containers"][0]["resources"]["requests"]["memory"].as_string(), "30Mi");
  EXPECT_EQ(pod["metadata"]["annotations"]["openshift.io/required-scc"].as_string(),
            "restricted-v2");
}

// docs/spec/das.md 10.6: upstream's end-to-end tests read both in a lab, too.
TEST_F(OperatorTest, PutsTlsProfileIntoArgumentsOfStandIns) {
  const auto args = [&](const Kind& kind, const char* name) {
    const Value body = world.must(kind, {"das-operator", name}).body();
    const Value pod = body["spec"]["template"];
    std::string words(pod["metadata"]["annotations"][kTlsAnnotation].as_string());
    for (const Value& word : pod["spec"]["containers"][0]["args"].items()) {
      words += " " + word.str();
    }
    return words;
  };
  settle();
  EXPECT_EQ(args(api::kDaemonSet, "das-daemonset").find("--tls"), std::string::npos);
  const auto profile = [&](const char* spec) {
    world.put(yaml::parse("{apiVersion: config.openshift.io/v1, kind: APIServer, metadata: {name: "
                          "cluster}, spec: " +
                          std::string(spec) + "}")
                  .value());
    settle();
    const std::string agent = args(api::kDaemonSet, "das-daemonset");
    EXPECT_EQ(args(api::kDeployment, "das-operator-webhook"), agent);
    return agent;
  };
  EXPECT_EQ(
      profile("{}").find("default --tls-min-version=VersionTLS12 --tls-cipher-suites=TLS_AES"), 0U);
  const std::string modern = profile("{tlsSecurityProfile: {type: Modern}}");
  EXPECT_NE(modern.find(" --tls-min-version=VersionTLS13"), std::string::npos) << modern;
}

// docs/spec/das.md O-B2.
TEST_F(OperatorTest, ReportsRefusedOperandsAndAppliesOthers) {
  bool refuses = true;
  world.fault = [&](const Step& step) -> std::optional<Error> {
    const auto* apply = std::get_if<Apply>(&step);
    const bool hit = apply != nullptr && (apply->target.kind == &api::kDaemonSet ||
                                          apply->target.key.name == "das-deny-all");
    return refuses && hit ? std::optional(Error{.code = 403,
                                                .reason = "Forbidden",
                                                .message = apply->target.key.name + ": no right"})
                          : std::nullopt;
  };
  settle();
  EXPECT_EQ(world.count(kNetworkPolicy), 6U);
  EXPECT_TRUE(world.has(api::kDeployment, {"das-operator", "das-scheduler"}));
  EXPECT_EQ(condition("DaemonSet.das-daemonset.Refused"),
            "True: Forbidden: das-daemonset: no right");
  EXPECT_EQ(condition("NetworkPolicy.das-deny-all.Refused"),
            "True: Forbidden: das-deny-all: no right");
  for (const char* name : {"das-operator", "das-scheduler", "das-operator-webhook"}) {
    world.update(api::kDeployment, {"das-operator", name}, [](Value& object) {
      object.set_path({"status", "readyReplicas"}, 2);
    });
  }
  settle();
  EXPECT_EQ(condition("Degraded"),
            "True: OperandsRefused: Operands not written: DaemonSet das-daemonset, NetworkPolicy "
            "das-deny-all");
  refuses = false;
  world.settle_for({&das_operator()}, std::chrono::minutes(1));
  EXPECT_EQ(world.count(kNetworkPolicy), 7U);
  EXPECT_TRUE(world.has(api::kDaemonSet, {"das-operator", "das-daemonset"}));
  EXPECT_EQ(condition("DaemonSet.das-daemonset.Refused"), "absent");
  EXPECT_EQ(condition("NetworkPolicy.das-deny-all.Refused"), "absent");
  EXPECT_EQ(condition("Degraded"), "False: AllComponentsHealthy: ");
}

TEST_F(OperatorTest, AgentRunsInEmulatedModeOnSelectedNodes) {
  world.update(kDASOperator, kCluster, [](Value& object) {
    object.set_path({"spec", "nodeSelector"}, Value::object({{"zone", "a"}}));
  });
  settle();
  const Value pod =
      world.must(api::kDaemonSet, {"das-operator", "das-daemonset"}).spec()["template"]["spec"];
  EXPECT_EQ(pod["nodeSelector"]["nvidia.com/mig.capable"].str(), "true");
  EXPECT_EQ(pod["nodeSelector"]["zone"].str(), "a");
  bool emulated = false;
  for (const Value& variable : pod["containers"][0]["env"].items()) {
    emulated = emulated || (variable["name"].as_string() == "EMULATED_MODE" &&
                            variable["value"].as_string() == "enabled");
  }
  EXPECT_TRUE(emulated);
}

TEST_F(OperatorTest, StandInsHaveTheRelatedImages) {
  Settings settings;
  settings.emulated_mode = "enabled";
  settings.agent_image = "registry/agent:1";
  settings.scheduler_image = "registry/scheduler:1";
  settings.webhook_image = "registry/webhook:1";
  world.configure(kSettingsSection, api::encode(settings));
  settle();
  const auto image = [&](const Kind& kind, const char* name) {
    return world.must(kind, {"das-operator", name})
        .spec()["template"]["spec"]["containers"][0]["image"]
        .str();
  };
  EXPECT_EQ(image(api::kDaemonSet, "das-daemonset"), "registry/agent:1");
  EXPECT_EQ(image(api::kDeployment, "das-scheduler"), "registry/scheduler:1");
  EXPECT_EQ(image(api::kDeployment, "das-operator-webhook"), "registry/webhook:1");
}

TEST_F(OperatorTest, ReportsAndAppliesLogLevelChange) {
  settle();
  edit("operatorLogLevel", "Debug");
  ASSERT_EQ(world.event_count("OperatorLogLevelChange", "cluster"), 1);
  EXPECT_EQ(world.events.back().note, "Operator log level changed from \"Normal\" to \"Debug\"");
  ASSERT_EQ(world.acts.size(), 1U);
  EXPECT_EQ(world.acts[0].args["level"].str(), "Debug");
  edit("operatorLogLevel", "Normal");
  EXPECT_EQ(world.acts.back().args["level"].str(), "Normal");
}

// docs/spec/das.md 10.5: the more verbose of both counts.
TEST_F(OperatorTest, LogLevelOfTheOperandsCounts) {
  settle();
  EXPECT_TRUE(world.acts.empty()) << "Normal is what the process was started with";
  edit("logLevel", "Trace");
  ASSERT_EQ(world.acts.size(), 1U);
  EXPECT_EQ(world.acts.back().args["level"].str(), "Trace");
  EXPECT_EQ(world.event_count("OperatorLogLevelChange"), 0);
  edit("operatorLogLevel", "Debug");
  EXPECT_EQ(world.acts.back().args["level"].str(), "Trace");
  edit("logLevel", "Normal");
  EXPECT_EQ(world.acts.back().args["level"].str(), "Debug");
  const std::size_t before = world.acts.size();
  settle();
  EXPECT_EQ(world.acts.size(), before);
}

// A process that starts anew takes the level over, too; so does one without the operator.
TEST_F(OperatorTest, LogLevelOutlivesTheProcess) {
  settle();
  edit("operatorLogLevel", "Debug");
  test::FakeWorld other;
  other.configure(kSettingsSection, world.config(kSettingsSection));
  other.put(world.must(kDASOperator, kCluster).body());
  other.settle({&log_level_operator()});
  ASSERT_EQ(other.acts.size(), 1U);
  EXPECT_EQ(other.acts[0].args["level"].str(), "Debug");
}

// On a real cluster the operator keeps the agent alone; its pods are athanor-agent.
class ProductionTest : public testing::Test {
 protected:
  ProductionTest() { configure("disabled"); }
  void configure(const std::string& emulated, const std::string& api = "deviceplugin") {
    Settings settings = deployed();
    settings.allocation_api = api;
    settings.emulated_mode = emulated;
    configure(settings);
  }
  static Settings deployed() {
    Settings settings;
    settings.production = true;
    settings.agent_image = "registry/agent:1";
    return settings;
  }
  void configure(const Settings& settings) {
    world.configure(kSettingsSection, api::encode(settings));
    world.put(
        yaml::parse("{apiVersion: inference.redhat.com/v1alpha1, kind: DASOperator, metadata: "
                    "{name: cluster, namespace: das-operator}, spec: {nodeSelector: {pool: gpus}}}")
            .value());
    world.settle({&das_operator()});
  }
  Value pod() {
    return world.must(api::kDaemonSet, {"das-operator", "das-daemonset"})
        .spec()["template"]["spec"];
  }
  test::FakeWorld world{};
};

// A GPU node is often tainted, and full; without its agent no pod with slices starts there.
TEST_F(ProductionTest, AgentsRunOnTaintedAndFullNodes) {
  configure("disabled");
  EXPECT_EQ(json::print(pod()["tolerations"]), R"([{"operator":"Exists"}])");
  EXPECT_EQ(pod()["priorityClassName"].str(), "system-node-critical");
  EXPECT_EQ(json::print(pod()["containers"][0]["resources"]),
            R"({"requests":{"cpu":"10m","memory":"64Mi"}})");
  world.put(
      yaml::parse("{apiVersion: inference.redhat.com/v1alpha1, kind: DASOperator, metadata: {name: "
                  "cluster, namespace: das-operator}, spec: {tolerations: [], priorityClassName: "
                  "mine, resources: {requests: {cpu: 20m, memory: 99Mi}}}}")
          .value());
  world.settle({&das_operator()});
  EXPECT_EQ(json::print(pod()["tolerations"]), "[]");
  EXPECT_EQ(pod()["priorityClassName"].str(), "mine");
  EXPECT_EQ(json::print(pod()["containers"][0]["resources"]),
            R"({"requests":{"cpu":"20m","memory":"99Mi"}})");
}

TEST_F(ProductionTest, FollowsOpenShiftTlsProfileAtAgentsPort) {
  const auto words = [&] {
    std::string text;
    const Value args = pod()["containers"][0]["args"];
    for (const Value& word : args.items()) {
      text += word.str() + " ";
    }
    return text;
  };
  const auto hash = [&] {
    return world.must(api::kDaemonSet, {"das-operator", "das-daemonset"})
        .spec()["template"]["metadata"]["annotations"][kTlsAnnotation]
        .str();
  };
  EXPECT_EQ(words().find("--tls"), std::string::npos) << "no OpenShift";
  EXPECT_EQ(hash(), "");
  const auto put = [&](const std::string& profile) {
    world.put(yaml::parse("{apiVersion: config.openshift.io/v1, kind: APIServer, metadata: {name: "
                          "cluster}, spec: {" +
                          profile + "}}")
                  .value());
    world.settle({&das_operator()});
  };
  put("");
  EXPECT_NE(words().find("--tls-min-version=VersionTLS12 --tls-cipher-suites=TLS_AES_128_GCM"),
            std::string::npos);
  EXPECT_EQ(hash(), "default");
  put("tlsSecurityProfile: {type: Modern}");
  EXPECT_NE(words().find("--tls-min-version=VersionTLS13"), std::string::npos);
  EXPECT_EQ(hash(), sha256_hex("Modern:VersionTLS13:3").substr(0, 16));
  put("tlsSecurityProfile: {type: Custom, custom: {}}");
  EXPECT_NE(words().find("--tls-min-version=VersionTLS12"), std::string::npos)
      << "an empty one is Intermediate";
}

TEST_F(ProductionTest, GivesAgentRequiredAccessToNode) {
  const Value spec = pod();
  const Value& container = spec["containers"][0];
  EXPECT_EQ(container["image"].as_string(), "registry/agent:1");
  EXPECT_EQ(container["args"][0].as_string(), "daemonset");
  EXPECT_TRUE(container["securityContext"]["privileged"].as_bool());
  EXPECT_EQ(container["securityContext"]["capabilities"]["drop"][0].as_string(), "ALL");
  EXPECT_EQ(container["lifecycle"]["preStop"]["sleep"]["seconds"].as_int(), 30);
  EXPECT_EQ(container["env"][0]["name"].as_string(), "NODE_NAME");
  EXPECT_EQ(container["env"].size(), 5U) << "nothing of emulation";
  EXPECT_EQ(spec["runtimeClassName"].as_string(), "nvidia-legacy");
  EXPECT_EQ(spec["serviceAccountName"].as_string(), "das-daemonset");
  EXPECT_EQ(spec["nodeSelector"]["pool"].as_string(), "gpus");
  EXPECT_EQ(spec["nodeSelector"]["nvidia.com/mig.capable"].as_string(), "true");
  std::vector<std::string> mounts;
  for (const Value& mount : container["volumeMounts"].items()) {
    mounts.push_back(mount["mountPath"].str());
  }
  EXPECT_EQ(mounts, (std::vector<std::string>{"/var/lib/kubelet/device-plugins",
                                              "/var/lib/kubelet/pod-resources", "/var/run/cdi",
                                              "/var/run/das", "/dev/shm"}));
  EXPECT_TRUE(spec["hostPID"].as_bool()) << "MPS daemons know their clients by it";
  EXPECT_FALSE(world.has(api::kDeployment, {"das-operator", "das-scheduler"}));
}

// docs/spec/das.md 10.1, 7.1: a stock kube-scheduler that asks the deployed extender.
TEST_F(ProductionTest, DeploysKubeSchedulerWithItsConfiguration) {
  Settings settings = deployed();
  settings.scheduler_image = "registry/kube-scheduler:1";
  configure(settings);
  const Key key{"das-operator", "das-scheduler"};
  const Value spec = world.must(api::kDeployment, key).spec();
  EXPECT_EQ(spec["replicas"].as_int(), 2);
  const Value pod = spec["template"]["spec"];
  EXPECT_EQ(pod["serviceAccountName"].as_string(), "das-scheduler");
  EXPECT_TRUE(world.has(api::kServiceAccount, key));
  const Value& container = pod["containers"][0];
  EXPECT_EQ(container["name"].as_string(), "scheduler");
  EXPECT_EQ(container["image"].as_string(), "registry/kube-scheduler:1");
  EXPECT_EQ(container["command"][0].as_string(), "kube-scheduler");
  EXPECT_EQ(container["args"][0].as_string(), "--config=/etc/das-scheduler/config.yaml");
  EXPECT_EQ(container["args"][1].as_string(), "--v=2");
  EXPECT_EQ(pod["volumes"][0]["configMap"]["name"].as_string(), "das-scheduler-config");
  const Value& secret = pod["volumes"][1]["secret"];
  EXPECT_EQ(secret["secretName"].as_string(), "webhook-server-cert");
  ASSERT_EQ(secret["items"].size(), 1U) << "not the key";
  EXPECT_EQ(secret["items"][0]["key"].as_string(), "ca.crt");
  EXPECT_EQ(container["volumeMounts"][1]["mountPath"].as_string(), "/etc/das-extender");

  const Value config =
      yaml::parse(world.must(api::kConfigMap, {"das-operator", "das-scheduler-config"})
                      .body()["data"]["config.yaml"]
                      .str())
          .value();
  EXPECT_EQ(config["leaderElection"]["resourceName"].as_string(), "das-scheduler");
  EXPECT_EQ(config["profiles"][0]["schedulerName"].as_string(), "das-scheduler");
  const Value& extender = config["extenders"][0];
  EXPECT_EQ(extender["urlPrefix"].as_string(),
            "https://das-extender.das-operator.svc:9443/scheduler");
  EXPECT_EQ(extender["tlsConfig"]["caFile"].as_string(), "/etc/das-extender/ca.crt");
  const Value& managed = extender["managedResources"];
  EXPECT_TRUE(std::ranges::any_of(managed.items(), [](const Value& one) {
    return one["name"].as_string() == "mig.das.com/1g.5gb";
  }));
}

// docs/spec/das.md 10.7, O-B7.
TEST_F(ProductionTest, NetworkPoliciesFollowTheCluster) {
  const auto policy = [&](const char* name) {
    return world.must(kNetworkPolicy, {"das-operator", name}).spec();
  };
  const auto ports = [&](const char* name, const char* direction) {
    std::string text;
    const Value list = policy(name)[direction][0]["ports"];
    for (const Value& port : list.items()) {
      text +=
          (text.empty() ? "" : " ") + port["protocol"].str() + "/" +
          (port["port"].is_string() ? port["port"].str() : std::to_string(port["port"].as_int()));
    }
    return text;
  };
  EXPECT_EQ(policy("das-deny-all")["policyTypes"].size(), 2U);
  EXPECT_EQ(ports("das-allow-egress-kube-apiserver", "egress"), "TCP/6443") << "no slice yet";
  EXPECT_EQ(ports("das-allow-ingress-webhook", "ingress"), "TCP/8443");
  const Value webhook = policy("das-allow-ingress-webhook")["podSelector"]["matchLabels"];
  EXPECT_EQ(webhook["app.kubernetes.io/name"].as_string(), "das-operator") << "these pods serve it";
  EXPECT_EQ(ports("das-allow-ingress-metrics", "ingress"), "TCP/8443 TCP/8444 TCP/10259")
      << "agent; operator and extender; scheduler";
  EXPECT_EQ(ports("das-allow-ingress-extender", "ingress"), "TCP/9443");
  EXPECT_EQ(ports("das-allow-egress-extender", "egress"), "TCP/9443");
  const auto dns = [&](const char* label) {
    const Value peer = policy("das-allow-egress-cluster-dns")["egress"][0]["to"][0];
    return peer["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"].str() + " " +
           peer["podSelector"]["matchLabels"][label].str();
  };
  EXPECT_EQ(dns("k8s-app"), "kube-system kube-dns");
  world.put(yaml::parse("{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: "
                        "kubernetes, namespace: default}, ports: [{name: https, port: 16443}]}")
                .value());
  world.put(yaml::parse("{apiVersion: config.openshift.io/v1, kind: APIServer, metadata: {name: "
                        "cluster}, spec: {}}")
                .value());
  world.settle({&das_operator()});
  EXPECT_EQ(ports("das-allow-egress-kube-apiserver", "egress"), "TCP/16443");
  EXPECT_EQ(dns("dns.operator.openshift.io/daemonset-dns"), "openshift-dns default");
  world.remove(kNetworkPolicy, {"das-operator", "das-deny-all"});
  world.settle({&das_operator()});
  EXPECT_TRUE(world.has(kNetworkPolicy, {"das-operator", "das-deny-all"}));
}

TEST_F(ProductionTest, AChangedConfigurationRollsTheScheduler) {
  Settings settings = deployed();
  settings.scheduler_image = "registry/kube-scheduler:1";
  configure(settings);
  const Key config{"das-operator", "das-scheduler-config"};
  const auto noted = [&] {
    return world.must(api::kDeployment, {"das-operator", "das-scheduler"})
        .spec()["template"]["metadata"]["annotations"];
  };
  const auto version = [&](const Kind& kind, const Key& key) {
    return std::string(world.must(kind, key).resource_version());
  };
  EXPECT_EQ(noted()["configmaps/das-scheduler-config"].str(), version(api::kConfigMap, config));
  EXPECT_EQ(noted()["serviceaccounts/das-scheduler"].str(),
            version(api::kServiceAccount, {"das-operator", "das-scheduler"}));
  const Value before = noted();
  world.update(api::kConfigMap, config, [](Value& object) {
    object.set_path({"data", "config.yaml"}, "mine");
  });
  world.settle({&das_operator()});
  EXPECT_NE(noted(), before) << "repaired, which is a change, too";
}

TEST_F(ProductionTest, SetsSchedulerVerbosityFromOperatorSpec) {
  Settings settings = deployed();
  settings.scheduler_image = "registry/kube-scheduler:1";
  configure(settings);
  world.update(kDASOperator, kCluster, [](Value& object) {
    object.set_path({"spec", "logLevel"}, "Trace");
  });
  world.settle({&das_operator()});
  const Value spec = world.must(api::kDeployment, {"das-operator", "das-scheduler"}).spec();
  EXPECT_EQ(spec["template"]["spec"]["containers"][0]["args"][1].as_string(), "--v=6");
}

TEST_F(ProductionTest, EmulationIsHandedToTheAgent) {
  configure("enabled");
  const Value spec = pod();
  EXPECT_FALSE(spec.contains("runtimeClassName"));
  bool told = false;
  for (const Value& variable : spec["containers"][0]["env"].items()) {
    told = told || (variable["name"].as_string() == "EMULATED_MODE" &&
                    variable["value"].as_string() == "enabled");
  }
  EXPECT_TRUE(told);
}

// docs/spec/das.md E-B4.
TEST_F(ProductionTest, PassesEmulationLatencyAndFaultsToAgent) {
  const auto given = [&] {
    std::string text;
    const Value env = pod()["containers"][0]["env"];
    for (const Value& one : env.items()) {
      if (one["name"].as_string().starts_with("EMULATED_SLICE") ||
          one["name"].as_string() == "EMULATED_FAIL_RATE") {
        text += one["name"].str() + "=" + one["value"].str() + " ";
      }
    }
    return text;
  };
  auto settings = parse_settings({{"EMULATED_MODE", "enabled"},
                                  {"EMULATED_SLICE_CREATE_MS", "1500"},
                                  {"EMULATED_SLICE_DESTROY_MS", "20"},
                                  {"EMULATED_FAIL_RATE", "0.25"}});
  ASSERT_TRUE(settings.ok());
  settings->production = true;
  settings->emulated_mode = "disabled";
  configure(*settings);
  EXPECT_EQ(given(), "");
  settings->emulated_mode = "enabled";
  configure(*settings);
  EXPECT_EQ(given(),
            "EMULATED_SLICE_CREATE_MS=1500 EMULATED_SLICE_DESTROY_MS=20 EMULATED_FAIL_RATE=0.25 ");
}

TEST_F(ProductionTest, TheAgentWaitsForTheNamedClusterPolicy) {
  const auto words = [&](const std::string& name) {
    auto settings = parse_settings({{"DAS_CLUSTER_POLICY_NAME", name}});
    EXPECT_TRUE(settings.ok());
    settings->production = true;
    configure(*settings);
    std::string text;
    const Value args = pod()["containers"][0]["args"];
    for (const Value& word : args.items()) {
      text += word.str() + " ";
    }
    return text;
  };
  EXPECT_EQ(words("mine"), "daemonset --namespace=das-operator --cluster-policy-name=mine ");
  EXPECT_EQ(words(""), "daemonset --namespace=das-operator --cluster-policy-name= ");
}

// docs/spec/das.md 1: empty keeps the usual image.
TEST_F(ProductionTest, ImagesOfOperandsComeFromTheEnvironment) {
  auto settings = parse_settings({{"RELATED_IMAGE_DAEMONSET_IMAGE", ""},
                                  {"RELATED_IMAGE_SCHEDULER_IMAGE", "registry/kube-scheduler:1"},
                                  {"RELATED_IMAGE_WEBHOOK_IMAGE", "registry/webhook:1"}});
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->agent_image, "athanor-agent:latest");
  settings->production = true;
  configure(*settings);
  EXPECT_EQ(world.condition(kDASOperator, kCluster, "WebhookImageUsed")["reason"].as_string(),
            "ServedByOperator")
      << "what has no effect is said";
  settings->webhook_image.clear();
  configure(*settings);
  EXPECT_TRUE(world.condition(kDASOperator, kCluster, "WebhookImageUsed").is_null());
}

// docs/spec/das.md 10.1, 10.5: what has no namespace is removed first, and by the finalizer.
class RegistrationTest : public ProductionTest {
 protected:
  RegistrationTest() {
    world.put(yaml::parse("{apiVersion: v1, kind: Service, metadata: {name: das-operator-webhook, "
                          "namespace: das-operator}, spec: {}}")
                  .value());
    settle();
  }
  void settle() { world.settle({&das_operator()}); }
  void manage(const std::string& state) {
    world.update(kDASOperator, kCluster, [&](Value& object) {
      object.set_path({"spec", "managementState"}, state);
    });
    settle();
  }
  const Key registration{"", "das-mutating-webhook-configuration"};
};

TEST_F(RegistrationTest, FollowsTheManagementState) {
  const Value object = world.must(kMutatingWebhooks, registration).body();
  const Value& service = object["webhooks"][0]["clientConfig"]["service"];
  EXPECT_EQ(service["name"].as_string(), "das-operator-webhook");
  EXPECT_EQ(service["path"].as_string(), "/mutate-pod");
  EXPECT_EQ(service["port"].as_int(), 8443);
  EXPECT_TRUE(object["metadata"]["ownerReferences"].is_null());
  EXPECT_EQ(object["metadata"]["labels"]["app.kubernetes.io/managed-by"].as_string(),
            "das-operator");
  world.writes.clear();
  manage("Removed");
  EXPECT_FALSE(world.has(kMutatingWebhooks, registration));
  EXPECT_FALSE(world.has(api::kDaemonSet, {"das-operator", "das-daemonset"}));
  ASSERT_FALSE(world.writes.empty());
  EXPECT_EQ(world.writes.front().kind, "MutatingWebhookConfiguration") << "first of all";
  manage("Managed");
  EXPECT_TRUE(world.has(kMutatingWebhooks, registration));
}

TEST_F(RegistrationTest, GoesWithTheDASOperator) {
  world.remove(kDASOperator, kCluster);
  settle();
  EXPECT_FALSE(world.has(kMutatingWebhooks, registration));
  EXPECT_FALSE(world.has(kDASOperator, kCluster)) << "the finalizer is released";
}

TEST_F(ProductionTest, WithoutAServiceNothingIsRegistered) {
  EXPECT_EQ(world.count(kMutatingWebhooks), 0U);
  EXPECT_TRUE(world.must(kDASOperator, kCluster).body()["metadata"]["finalizers"].is_null());
}

TEST_F(OperatorTest, PodsStayAsTheyAreAfterRemoval) {
  const Value pod =
      yaml::parse(
          "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: x}, spec: "
          "{containers: [{name: c, resources: {limits: {nvidia.com/mig-1g.5gb: 1}}}]}}")
          .value();
  const auto changes = [&] {
    AdmissionRequest request;
    request.operation = AdmissionRequest::Operation::Create;
    request.key = {"x", "a"};
    request.object = pod;
    Reads reads;
    return !system().webhooks.front().admit(View(world, reads), request, world.now).patch.is_null();
  };
  EXPECT_TRUE(changes());
  edit("managementState", "Removed");
  EXPECT_FALSE(changes());
}

TEST_F(ProductionTest, ADraDriverHasItsFolders) {
  configure("disabled", "both");
  const Value spec = pod();
  const Value& container = spec["containers"][0];
  EXPECT_EQ(container["env"][5]["name"].as_string(), "DAS_ALLOCATION_API");
  EXPECT_EQ(container["env"][5]["value"].as_string(), "both");
  EXPECT_EQ(container["volumeMounts"][4]["mountPath"].as_string(), "/var/lib/kubelet/plugins");
  EXPECT_EQ(container["volumeMounts"][5]["mountPath"].as_string(),
            "/var/lib/kubelet/plugins_registry");
}

TEST_F(ProductionTest, IsAvailableWithItsAgents) {
  world.update(api::kDaemonSet, {"das-operator", "das-daemonset"}, [](Value& object) {
    object.set_path({"status", "numberReady"}, 2);
    object.set_path({"status", "desiredNumberScheduled"}, 2);
  });
  world.settle({&das_operator()});
  EXPECT_EQ(world.condition(kDASOperator, kCluster, "Available")["status"].as_string(), "True");
  EXPECT_EQ(world.condition(kDASOperator, kCluster, "Degraded")["status"].as_string(), "False");
}

// Upstream waits for ever on a cluster without OpenShift's configuration.
TEST(DasOperators, NeedNoKindOfOpenShift) {
  for (const Operator* op : das_operators()) {
    for (const Kind* kind : op->reads) {
      const std::vector<const Kind*>& optional = system().optional_kinds;
      EXPECT_TRUE(kind->group.find("openshift") == std::string_view::npos ||
                  std::ranges::find(optional, kind) != optional.end())
          << op->name;
    }
  }
}

}  // namespace
}  // namespace athanor::das::operator_test
