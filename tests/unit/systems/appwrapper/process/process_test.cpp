// SPDX-License-Identifier: Apache-2.0
// Upstream's flags and configuration as a setup (docs/spec/appwrapper.md 8.1, 8.2).
#include "systems/appwrapper/process/process.hpp"

#include <gtest/gtest.h>

#include <string>

#include "kube/text/yaml.hpp"
#include "systems/appwrapper/model/settings.hpp"
#include "systems/appwrapper/process/default_config.hpp"

namespace athanor::appwrapper::process_test {
namespace {

using Flags = std::map<std::string, std::string, std::less<>>;

ProcessInput input(const char* config, Flags flags = {}) {
  return {.ns = "appwrapper-system", .config = *yaml::parse(config), .flags = std::move(flags)};
}

ProcessSetup setup(const char* config, Flags flags = {}) {
  auto made = operator_process().set_up(input(config, std::move(flags)));
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
  return made.ok() ? *std::move(made) : ProcessSetup();
}

std::string error_of(const char* config, Flags flags = {}) {
  const auto made = operator_process().set_up(input(config, std::move(flags)));
  return made.ok() ? "" : made.error().message;
}

TEST(OperatorProcess, HasUpstreamsDefaults) {
  const ProcessSetup made = setup("{}");
  EXPECT_FALSE(made.leader_elect);
  EXPECT_EQ(made.metrics_address, ":8443");
  EXPECT_TRUE(made.metrics_secure);
  EXPECT_EQ(made.health_address, ":8081");
  ASSERT_TRUE(made.webhooks.has_value());
  EXPECT_EQ(made.webhooks->address, ":9443");
  EXPECT_EQ(made.webhooks->ns, "appwrapper-system");
  EXPECT_EQ(made.webhooks->service, "appwrapper-webhook-service");
  EXPECT_EQ(made.webhooks->secret, "appwrapper-webhook-server-cert");
  EXPECT_EQ(made.webhooks->authority, "appwrapper-ca");
  EXPECT_EQ(made.webhooks->organization, "appwrapper");
  EXPECT_EQ(made.webhooks->configurations.size(), 2U);
  EXPECT_TRUE(made.systems.empty());
  EXPECT_TRUE(made.warnings.empty());
}

TEST(OperatorProcess, WritesADefaultConfigurationThatMeansTheSame) {
  const Value written = *yaml::parse(operator_process().default_config("ns"));
  EXPECT_EQ(written, default_config("ns"));
  EXPECT_EQ(written.at({"appwrapper", "faultTolerance", "resetPause"}), Value(90'000'000'000));
  const auto settings = read_settings(written["appwrapper"]);
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->fault_tolerance.deletion_grace, std::chrono::minutes(10));
  EXPECT_EQ(settings->autopilot.resource_taints.at("nvidia.com/gpu").size(), 3U);
}

TEST(OperatorProcess, LaysAConfigurationOverTheDefaults) {
  const ProcessSetup made = setup(R"({
appwrapper: {autopilot: {resourceTaints: {amd.com/gpu: [{key: k, value: bad, effect: NoExecute}]}}},
controllerManager: {leaderElection: true, metrics: {bindAddress: "localhost:0"}},
certManagement: {namespace: other, webhookSecretName: own}})");
  EXPECT_TRUE(made.leader_elect);
  EXPECT_EQ(made.metrics_address, "localhost:0");
  EXPECT_EQ(made.health_address, ":8081");
  EXPECT_EQ(made.webhooks->ns, "other");
  EXPECT_EQ(made.webhooks->secret, "own");
  EXPECT_EQ(made.settings.at({"autopilot", "resourceTaints"}).size(), 2U);
  EXPECT_TRUE(setup("{appwrapper: {autopilot: null}}").settings["autopilot"].is_null());
  EXPECT_FALSE(setup("{webhooksEnabled: false}").webhooks.has_value());
}

TEST(OperatorProcess, TakesTheFlagsOfTheSeedRelease) {
  const ProcessSetup made =
      setup("{controllerManager: {leaderElection: true}}", {{"metrics-bind-address", ":8080"},
                                                            {"health-probe-bind-address", ":9091"},
                                                            {"leader-elect", "false"}});
  EXPECT_EQ(made.metrics_address, ":8080");
  EXPECT_FALSE(made.metrics_secure) << "v0.5 served them plain";
  EXPECT_EQ(made.health_address, ":9091");
  EXPECT_FALSE(made.leader_elect);
  EXPECT_TRUE(
      setup("{}", {{"metrics-bind-address", ":8080"}, {"metrics-secure", "true"}}).metrics_secure);
  auto plain = input("{}");
  plain.variables["ENABLE_WEBHOOKS"] = "false";
  EXPECT_FALSE(operator_process().set_up(plain)->webhooks.has_value());
}

TEST(OperatorProcess, TakesTheFlagsOfZap) {
  EXPECT_EQ(setup("{}", {{"zap-log-level", "2"}}).log_level, "debug");
  EXPECT_EQ(setup("{}", {{"zap-log-level", "9"}}).log_level, "trace");
  EXPECT_EQ(setup("{}", {{"zap-log-level", "error"}}).log_level, "error");
  const ProcessSetup production = setup("{}", {{"zap-devel", "false"}});
  EXPECT_EQ(production.log_level + " " + production.log_format, "info json");
  EXPECT_EQ(setup("{}", {{"zap-encoder", "console"}}).log_format, "text");
  EXPECT_NE(error_of("{}", {{"zap-log-level", "loud"}}).find("--zap-log-level"), std::string::npos);
  EXPECT_NE(error_of("{}", {{"zap-encoder", "xml"}}).find("--zap-encoder"), std::string::npos);
  EXPECT_NE(error_of("{}", {{"enable-http2", "maybe"}}).find("--enable-http2"), std::string::npos);
}

TEST(OperatorProcess, WarnsOfSettingsWithoutEffect) {
  const auto warned = [](const char* config, Flags flags, const char* of) {
    const ProcessSetup made = setup(config, std::move(flags));
    EXPECT_EQ(made.warnings.size(), 1U) << of;
    EXPECT_TRUE(!made.warnings.empty() && made.warnings[0].find(of) != std::string::npos) << of;
  };
  warned("{appwrapper: {faultTolerance: {retryLimits: 4}}}", {},
         "appwrapper.faultTolerance.retryLimits");
  warned(
      "{appwrapper: {autopilot: {resourceTaints: {g: [{key: k, value: v, effect: NoExecute, "
      "reason: r}]}}}}",
      {}, "appwrapper.autopilot.resourceTaints.g[0].reason is no setting");
  warned(
      "{appwrapper: {enableKueueIntegrations: true, kueueJobReconciller: {waitForPodsReady: "
      "{enable: true, timeout: 5m}}}}",
      {}, "appwrapper.kueueJobReconciller.waitForPodsReady.timeout is no setting");
  warned("{'': 900}", {}, "\"\" is no setting");
  warned("{controllerManager: {enableHTTP2: true}}", {}, "HTTP/2");
  warned("{certManagement: {certificateDir: /certs}}", {}, "certificateDir");
  warned("{}", {{"zap-stacktrace-level", "error"}}, "--zap-stacktrace-level");
  warned("{}", {{"zap-time-encoding", "epoch"}}, "--zap-time-encoding");
  warned("{}", {{"manage-no-queue", "false"}}, "enableKueueIntegrations");
}

TEST(OperatorProcess, QueuesWhereKueueLacksTheIntegration) {
  const ProcessSetup made =
      setup("{appwrapper: {enableKueueIntegrations: true}}", {{"manage-no-queue", "false"}});
  EXPECT_EQ(made.systems, std::vector<std::string>{"appwrapper-kueue"});
  EXPECT_TRUE(made.warnings.empty());
  const auto settings = read_settings(made.settings);
  ASSERT_TRUE(settings.ok());
  EXPECT_FALSE(settings->queueing.without_queue);
  const auto defaults =
      read_settings(setup("{appwrapper: {enableKueueIntegrations: true}}").settings);
  EXPECT_TRUE(defaults->queueing.without_queue);
  EXPECT_TRUE(defaults->queueing.wait_for_pods_ready);
}

TEST(OperatorProcess, RefusesInvalidSettings) {
  EXPECT_NE(error_of("[]"), "");
  EXPECT_NE(error_of("{appwrapper: 5}").find("appwrapper: must be a map"), std::string::npos);
  EXPECT_NE(error_of("{appwrapper: {autopilot: yes-please}}").find("appwrapper.autopilot"),
            std::string::npos);
  EXPECT_NE(error_of("{webhooksEnabled: yes please}").find("webhooksEnabled"), std::string::npos);
  EXPECT_NE(error_of("{controllerManager: {metrics: {bindAddress: 8443}}}").find("bindAddress"),
            std::string::npos);
  EXPECT_NE(error_of("{certManagement: {webhookSecretName: 7}}").find("webhookSecretName"),
            std::string::npos);
  EXPECT_NE(error_of("{appwrapper: {faultTolerance: {resetPause: 25h}}}")
                .find("resetPause: 25h0m0s is longer than gracePeriodCeiling (24h0m0s)"),
            std::string::npos);
}

}  // namespace
}  // namespace athanor::appwrapper::process_test
