// SPDX-License-Identifier: Apache-2.0
// Kueue's configuration file and ConfigMap (docs/spec/kueue.md 12).
#include "embedded/kueue/model/configuration.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "embedded/kueue/model/settings.hpp"
#include "embedded/kueue/rules/webhooks.hpp"
#include "embedded/kueue/system.hpp"
#include "unit/embedded/kueue/fixture.hpp"

namespace athanor::kueue::test::configuration_test {
namespace {

constexpr const char* kText = R"(apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: kueue-system
health: {healthProbeBindAddress: ":8081"}
metrics: {bindAddress: ":8443", enableClusterQueueResources: true}
leaderElection: {leaderElect: true}
manageJobsWithoutQueueName: true
managedJobsNamespaceSelector: {matchLabels: {managed: "yes"}}
integrations:
  frameworks: [batch/job, pod]
waitForPodsReady:
  timeout: 5m
  blockAdmission: true
  requeuingStrategy: {timestamp: Creation, backoffLimitCount: 3, backoffBaseSeconds: 10}
fairSharing: {enable: true, preemptionStrategies: [LessThanInitialShare]}
resources:
  excludeResourcePrefixes: [example.com/]
  transformations: [{input: a, strategy: Replace, outputs: {b: 5Gi}}]
objectRetentionPolicies: {workloads: {afterFinished: 1h}}
featureGates: {PartialAdmission: true, TopologyAwareScheduling: false}
)";

TEST(Configuration, BecomesTheEnginesSettings) {
  const auto section = apply_configuration(api::encode(Settings{}), kText);
  ASSERT_TRUE(section.ok()) << section.error().message;
  const auto settings = api::decode<Settings>(*section);
  EXPECT_TRUE(settings.wait_for_pods_ready);
  EXPECT_EQ(settings.pods_ready_timeout, "5m");
  EXPECT_TRUE(settings.block_admission);
  EXPECT_EQ(settings.requeue_timestamp, "Creation");
  EXPECT_EQ(settings.requeue_backoff_limit_count, 3);
  EXPECT_EQ(settings.requeue_backoff_base_seconds, 10);
  EXPECT_TRUE(settings.fair_sharing);
  EXPECT_EQ(settings.preemption_strategies, std::vector<std::string>{"LessThanInitialShare"});
  EXPECT_EQ(settings.exclude_resource_prefixes, std::vector<std::string>{"example.com/"});
  EXPECT_EQ(settings.resource_transformations[0]["input"].as_string(), "a");
  EXPECT_EQ(settings.retention_after_finished, "1h");
  EXPECT_TRUE((*section)["clusterQueueResourceMetrics"].as_bool());
  EXPECT_TRUE((*section)["integrations"]["manageJobsWithoutQueueName"].as_bool());
  EXPECT_EQ((*section)["integrations"]["frameworks"], from_yaml("[batch/job, pod]"));
}

TEST(Configuration, WarnsOfSettingsWithoutEffect) {
  const auto read = read_configuration(api::encode(Settings{}), kText);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->warnings,
            std::vector<std::string>{
                "without effect here: health, leaderElection, metrics.bindAddress; the process "
                "takes these as flags, and a change of a flag needs a restart"});
  const auto other = read_configuration({},
                                        "namespace: other\nmultiKueue: {gcInterval: 1m}\n"
                                        "controller: {groupKindConcurrency: {Job.batch: 5}}\n"
                                        "featureGates: {LendingLimit: true, MultiKueue: false, "
                                        "TopologyAwareScheduling: true, TLSOptions: true}\n");
  ASSERT_TRUE(other.ok()) << other.error().message;
  EXPECT_EQ(other->warnings, std::vector<std::string>{
                                 "without effect here: controller, featureGates.TLSOptions, "
                                 "featureGates.TopologyAwareScheduling, multiKueue, namespace"});
}

// Every field of Kueue 0.16 to 0.19 that has no effect here, and a field of a later Kueue.
TEST(Configuration, LoadsFieldsOfKueueThatHaveNoCounterpart) {
  const auto read = read_configuration({}, R"(apiVersion: config.kueue.x-k8s.io/v1beta2
pprofBindAddress: ":8083"
visibilityServer: {bindAddress: "::", bindPort: 8082}
admissionFairSharing: {usageHalfLifeTime: 168h, usageSamplingInterval: 5m, resourceWeights: {cpu: 0}}
metrics:
  customLabels: [{name: team, sourceLabelKey: team}]
  localQueueMetrics: {enable: true, localQueueSelector: {matchLabels: {metrics: "yes"}}}
integrations:
  frameworks: [batch/job, deployment, kubeflow.org/mpijob, example.com/future]
  externalFrameworks: [Foo.v1.example.com]
  labelKeysToCopy: [team]
  podOptions: {namespaceSelector: {}}
queueVisibility: {updateIntervalSeconds: 5, clusterQueues: {maxCount: 10}}
resources:
  deviceClassMappings: [{name: gpu, deviceClassNames: [gpu.example.com]}]
multiKueue: {externalFrameworks: [{name: Foo.v1.example.com}], clusterProfile: {}}
somethingOfTheFuture: {enable: true}
)");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->warnings,
            (std::vector<std::string>{
                "without effect here: pprofBindAddress, visibilityServer; the process takes these "
                "as flags, and a change of a flag needs a restart",
                "without effect here: admissionFairSharing, integrations.externalFrameworks, "
                "integrations.frameworks deployment, integrations.frameworks example.com/future, "
                "integrations.frameworks kubeflow.org/mpijob, integrations.labelKeysToCopy, "
                "integrations.podOptions, metrics.customLabels, metrics.localQueueMetrics, "
                "multiKueue, queueVisibility, resources.deviceClassMappings",
                "line 17: unknown field \"somethingOfTheFuture\" has no effect"}));
  const auto frameworks = read->section["integrations"]["frameworks"];
  EXPECT_EQ(frameworks[0].as_string(), "batch/job");
}

// Texts of a file that a variable names, separated by lines of three dashes; none without it.
std::vector<std::string> texts_of(const char* variable) {
  const char* named = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): never set
  std::vector<std::string> texts;
  std::ifstream list(named == nullptr ? "" : named);
  for (std::string line; std::getline(list, line);) {
    if (line == "---" || texts.empty()) {
      texts.emplace_back();
    }
    if (line != "---") {
      texts.back() += line + "\n";
    }
  }
  return texts;
}

// Lists of `queueworlds --fields`, which scripts/test-real queues makes from Kueue's own types.
TEST(Configuration, KnowsEveryFieldAndGateOfKueue) {
  const auto texts = texts_of("KUEUE_FIELDS");
  if (texts.empty()) {
    GTEST_SKIP() << "part `queues` of make test-real";
  }
  for (const std::string& text : texts) {
    const auto read = read_configuration({}, text);
    // A value may be refused; the field's name must be known.
    std::string said = read.ok() ? "" : read.error().message;
    for (const std::string& sentence : read.ok() ? read->warnings : std::vector<std::string>()) {
      said += sentence;
    }
    EXPECT_EQ(said.find("unknown field"), std::string::npos) << text << said;
    EXPECT_EQ(said.find(" is unknown"), std::string::npos) << text << said;
  }
}

// Files that releases of Kueue ship, from the same part.
TEST(Configuration, LoadsFilesOfKueuesReleases) {
  const auto texts = texts_of("KUEUE_FILES");
  if (texts.empty()) {
    GTEST_SKIP() << "part `queues` of make test-real";
  }
  for (const std::string& text : texts) {
    const auto read = read_configuration({}, text);
    ASSERT_TRUE(read.ok()) << text << read.error().message;
    for (const std::string& sentence : read->warnings) {
      EXPECT_EQ(sentence.find("unknown"), std::string::npos) << sentence;
    }
  }
}

TEST(Configuration, GatesThatHaveTheirEffectAreSettings) {
  const auto section = apply_configuration(
      {}, "featureGates: {PartialAdmission: false, ShortWorkloadNames: true}\n");
  ASSERT_TRUE(section.ok()) << section.error().message;
  EXPECT_EQ((*section)["partialAdmission"], Value(false));
  EXPECT_EQ((*section)["shortWorkloadNames"], Value(true));
}

TEST(Configuration, TakesTheStrategyOfQuotaChecks) {
  const auto section = apply_configuration(api::encode(Settings{}),
                                           "resources: {quotaCheckStrategy: "
                                           "IgnoreUndeclared}");
  ASSERT_TRUE(section.ok()) << section.error().message;
  EXPECT_EQ(api::decode<Settings>(*section).quota_check_strategy, "IgnoreUndeclared");
}

// What das counts as slices stays counted when a ConfigMap names transformations of its own.
TEST(Configuration, KeepsTheTransformationsOfSystems) {
  const auto base = system().settings(
      {.config = {{"das", from_yaml("resourceTransformations: [{input: slice, outputs: {m: 1}}, "
                                    "{input: other, outputs: {m: 1}}]")}}});
  ASSERT_TRUE(base.ok()) << base.error().message;
  const auto section = apply_configuration(
      *base, "resources: {transformations: [{input: a, outputs: {b: 1}}, {input: other}]}");
  ASSERT_TRUE(section.ok()) << section.error().message;
  EXPECT_EQ((*section)["resourceTransformations"],
            from_yaml("[{input: a, outputs: {b: 1}}, {input: other}, {input: slice, outputs: {m: "
                      "1}}]"));
}

TEST(Configuration, ReadsPodsReadyFlagOfOldVersion) {
  const std::string old = "apiVersion: config.kueue.x-k8s.io/v1beta1\nwaitForPodsReady:\n";
  EXPECT_FALSE((*apply_configuration({}, old + "  timeout: 5m\n"))["waitForPodsReady"].as_bool());
  EXPECT_TRUE((*apply_configuration({}, old + "  enable: true\n"))["waitForPodsReady"].as_bool());
}

TEST(Configuration, NamesFairSharingToSwitchItOn) {
  const auto shares = [](const std::string& text) {
    return (*apply_configuration(api::encode(Settings{}), text))["fairSharing"].as_bool();
  };
  const std::string named = "fairSharing: {preemptionStrategies: [LessThanInitialShare]}\n";
  EXPECT_TRUE(shares("apiVersion: config.kueue.x-k8s.io/v1beta2\n" + named));
  EXPECT_FALSE(shares("apiVersion: config.kueue.x-k8s.io/v1beta1\n" + named));
  EXPECT_FALSE(shares("fairSharing: {enable: false}\n"));
}

TEST(Configuration, TakesATimeoutOfZeroAsNone) {
  const auto section =
      apply_configuration(api::encode(Settings{}), "waitForPodsReady: {timeout: 0s}");
  ASSERT_TRUE(section.ok()) << section.error().message;
  const auto settings = api::decode<Settings>(*section);
  EXPECT_TRUE(settings.wait_for_pods_ready);
  EXPECT_EQ(settings.timeout(), std::chrono::minutes(30));
  EXPECT_EQ(settings.recovery_timeout(), std::chrono::minutes(30));
}

// As upstream has it since 0.19.
TEST(Configuration, RecoveryMayTakeAsLongAsTheStart) {
  const Value start = api::encode(Settings{});
  const auto recovery = [&](const std::string& wait) {
    return (*apply_configuration(start, "waitForPodsReady: " + wait))["podsReadyRecoveryTimeout"]
        .str();
  };
  EXPECT_EQ(recovery("{}"), "30m");
  EXPECT_EQ(recovery("{timeout: 5m}"), "5m");
  EXPECT_EQ(recovery("{timeout: 5m, recoveryTimeout: 1m}"), "1m");
}

struct Wrong {
  const char* text;
  const char* message;
};
class WrongConfiguration : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongConfiguration, IsNamedWithItsLine) {
  const auto section = apply_configuration({}, GetParam().text);
  ASSERT_FALSE(section.ok());
  EXPECT_EQ(section.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Section12, WrongConfiguration,
    ::testing::Values(
        Wrong{"kind: Configuration\nwaitForPodsReady:\n  timout: 5m\n",
              "line 3: unknown field \"waitForPodsReady.timout\", did you mean timeout?"},
        Wrong{"fairSharin: {}\n",
              "line 1: unknown field \"fairSharin\", did you mean fairSharing?"},
        Wrong{"kind: C\nwaitForPodsReady:\n  timeout: soon\n",
              "line 3: waitForPodsReady.timeout: must be a duration of at most a year, as 30m"},
        Wrong{"fairSharing: {enable: maybe}\n",
              "line 1: fairSharing.enable: must be true or false"},
        Wrong{"integrations:\n  frameworks: batch/job\n",
              "line 2: integrations.frameworks: must be a list of texts"},
        Wrong{"\nfeatureGates: {NoSuchGate: true}\n",
              "line 2: featureGates: gate NoSuchGate is unknown"},
        Wrong{"\nfeatureGates: {MultiKeue: false}\n",
              "line 2: featureGates: gate MultiKeue is unknown, did you mean MultiKueue?"},
        Wrong{"resources: {quotaCheckStrategy: Ignore}\n",
              "line 1: resources.quotaCheckStrategy: must be BlockUndeclared or IgnoreUndeclared"},
        Wrong{"apiVersion: config.kueue.x-k8s.io/v1\n",
              "line 1: apiVersion: version \"config.kueue.x-k8s.io/v1\" is unknown: "
              "config.kueue.x-k8s.io/v1beta1 and v1beta2 are read"}));

TEST(ConfigurationVariables, LieBelowTheFile) {
  const auto read = [](std::map<std::string, std::string> variables, std::string file = "") {
    return system().settings(
        {.variables = std::move(variables),
         .read_file = [file](const std::string&) -> Result<std::string> { return file; }});
  };
  const auto section = read({{"KUEUE_INTEGRATIONS", "pod, batch/job"},
                             {"KUEUE_MANAGE_JOBS_WITHOUT_QUEUE_NAME", "true"},
                             {"KUEUE_PODS_READY_TIMEOUT", "1m"},
                             {"KUEUE_CONFIG", "k.yaml"}},
                            "waitForPodsReady: {timeout: 2m}");
  ASSERT_TRUE(section.ok()) << section.error().message;
  EXPECT_EQ((*section)["integrations"]["frameworks"], from_yaml("[pod, batch/job]"));
  EXPECT_TRUE((*section)["integrations"]["manageJobsWithoutQueueName"].as_bool());
  EXPECT_EQ((*section)["podsReadyTimeout"].as_string(), "2m");
  EXPECT_EQ(read({{"KUEUE_CONFIG", "k.yaml"}}, "kinds: 1").error().message,
            "k.yaml: line 1: unknown field \"kinds\", did you mean kind?");
  for (const char* count : {"0", "3"}) {
    const auto limited = read({{"KUEUE_REQUEUE_BACKOFF_LIMIT_COUNT", count}});
    ASSERT_TRUE(limited.ok()) << limited.error().message;
    EXPECT_EQ((*limited)["requeueBackoffLimitCount"].as_int(-1), std::stoi(count));
  }
  EXPECT_FALSE(read({{"KUEUE_REQUEUE_BACKOFF_LIMIT_COUNT", "-1"}}).ok());
  EXPECT_NE(read({{"KUEUE_INTEGRATIONS", "pods"}}).error().message.find("KUEUE_INTEGRATIONS=pods"),
            std::string::npos);
}

Value config_map(const std::string& text) {
  Value map = from_yaml(
      "{apiVersion: v1, kind: ConfigMap, metadata: {name: kueue-manager-config, namespace: "
      "kueue-system}}");
  map.set_path({"data", kConfigurationKey}, text);
  return map;
}

TEST(ConfigurationMap, IsReadAgainWhenItChanges) {
  FakeWorld world;
  world.configure("kueue", api::encode(Settings{}));
  const auto timeout = [&] {
    Reads reads;
    return configured_section(View(world, reads))["podsReadyTimeout"].str();
  };
  EXPECT_EQ(timeout(), "30m");
  world.put(config_map("waitForPodsReady: {timeout: 7m}"));
  EXPECT_EQ(timeout(), "7m");
  world.put(config_map("waitForPodsReady: {timeout: never}"));
  EXPECT_EQ(timeout(), "30m");
  world.settle({&configuration_operator()});
  ASSERT_EQ(world.events.size(), 1U);
  EXPECT_EQ(world.events[0].reason, "InvalidConfiguration");
  EXPECT_EQ(world.events[0].note,
            "controller_manager_config.yaml: line 1: waitForPodsReady.timeout: must be a duration "
            "of at most a year, as 30m; it is not followed: the settings of the start hold");
}

TEST(ConfigurationMap, ReportsFollowedAndUnfollowedSettings) {
  FakeWorld world;
  world.configure("kueue", api::encode(Settings{}));
  world.put(config_map("webhook: {port: 9443}\nclientConnection: {qps: 50}\n"));
  world.settle({&configuration_operator()});
  std::vector<std::string> said;
  for (const auto& event : world.events) {
    said.push_back(event.type + " " + event.reason + ": " + event.note);
  }
  EXPECT_EQ(said,
            (std::vector<std::string>{
                "Normal ConfigurationRead: The queueing follows this configuration",
                "Warning ConfigurationWithoutEffect: controller_manager_config.yaml: without "
                "effect here: webhook; the process takes these as flags, and a change of a flag "
                "needs a restart",
                "Warning ConfigurationWithoutEffect: controller_manager_config.yaml: without "
                "effect here: clientConnection"}));
}

TEST(ConfigurationMap, IsRefusedWhenItWouldNotBeRead) {
  FakeWorld world;
  Reads reads;
  for (const Webhook& webhook : webhooks()) {
    if (webhook.name != "vconfiguration.kb.io") {
      continue;
    }
    EXPECT_EQ(webhook.ns, "kueue-system");
    const AdmissionRequest request{.key = {"kueue-system", "kueue-manager-config"},
                                   .object = config_map("namespaces: a")};
    const Verdict verdict = webhook.admit(View(world, reads), request, world.now);
    EXPECT_FALSE(verdict.allowed);
    EXPECT_EQ(verdict.message,
              "controller_manager_config.yaml: line 1: unknown field \"namespaces\", did you mean "
              "namespace?");
    return;
  }
  FAIL() << "no such webhook";
}

}  // namespace
}  // namespace athanor::kueue::test::configuration_test
