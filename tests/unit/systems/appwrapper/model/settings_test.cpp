// SPDX-License-Identifier: Apache-2.0
// Settings, annotations and exit codes (docs/spec/appwrapper.md 6, 8.2, B-10, B-14).
#include "systems/appwrapper/model/settings.hpp"

#include <gtest/gtest.h>

#include "kube/text/yaml.hpp"
#include "systems/appwrapper/model/fault_tolerance.hpp"

namespace athanor::appwrapper::settings_test {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

std::string error_of(const char* config) {
  const auto settings = read_settings(*yaml::parse(config));
  return settings.ok() ? "" : settings.error().message;
}

TEST(Settings, TakeDurationsInBothForms) {
  const auto settings = read_settings(*yaml::parse(
      "{faultTolerance: {failureGracePeriod: 30000000000, resetPause: 2m, retryLimit: 5}}"));
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->fault_tolerance.failure_grace, seconds(30));
  EXPECT_EQ(settings->fault_tolerance.reset_pause, minutes(2));
  EXPECT_EQ(settings->fault_tolerance.retry_limit, 5);
  EXPECT_EQ(settings->fault_tolerance.warmup_grace, minutes(5));
}

TEST(Settings, MergeTaintsByResource) {
  const auto settings =
      read_settings(*yaml::parse("{autopilot: {preferNoScheduleWeight: 20, resourceTaints: "
                                 "{amd.com/gpu: [{key: k, value: bad, "
                                 "effect: NoExecute}]}}}"));
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->autopilot.resource_taints.size(), 2U);
  EXPECT_EQ(settings->autopilot.resource_taints.at("nvidia.com/gpu").size(), 3U);
  EXPECT_EQ(settings->autopilot.prefer_no_schedule_weight, 20);
  EXPECT_FALSE(read_settings(*yaml::parse("{autopilot: null}"))->autopilot.enabled);
}

TEST(Settings, AreCheckedAgainstEachOther) {
  EXPECT_EQ(error_of("{}"), "");
  EXPECT_NE(error_of("{faultTolerance: {resetPause: 25h}}")
                .find("resetPause: 25h0m0s is longer "
                      "than gracePeriodCeiling (24h0m0s)"),
            std::string::npos);
  EXPECT_NE(error_of("{faultTolerance: {admissionGracePeriod: 6m}}").find("warmupGracePeriod"),
            std::string::npos);
  EXPECT_NE(error_of("{faultTolerance: {successTTLCeiling: 0}}").find("successTTLCeiling"),
            std::string::npos);
  EXPECT_NE(error_of("{faultTolerance: {resetPause: soon}}"), "");
  EXPECT_NE(error_of("{maxPodSets: 19}"), "");
}

TEST(Settings, AreOfTheRightType) {
  const std::pair<const char*, const char*> kWrong[] = {
      {"[a]", "appwrapper: must be a map"},
      {"hello", "appwrapper: must be a map"},
      {"5", "appwrapper: must be a map"},
      {"{faultTolerance: 5}", "appwrapper.faultTolerance: must be a map"},
      {"{faultTolerance: {retryLimit: 2147483648}}",
       "appwrapper.faultTolerance.retryLimit: 2147483648 does not fit into 32 bits"},
      {"{faultTolerance: {deleteAfterSuccessTTL: 1}}",
       "appwrapper.faultTolerance.deleteAfterSuccessTTL: must be true or false"},
      {"{autopilot: yes-please}", "appwrapper.autopilot: must be a map"},
      {"{autopilot: {monitorNodes: 1}}",
       "appwrapper.autopilot.monitorNodes: must be true or false"},
      {"{autopilot: {preferNoScheduleWeight: abc}}",
       "appwrapper.autopilot.preferNoScheduleWeight: must be an integer"},
      {"{autopilot: {preferNoScheduleWeight: 101}}",
       "appwrapper.autopilot.preferNoScheduleWeight: 101 is not in 1..100"},
      {"{autopilot: {resourceTaints: 5}}", "appwrapper.autopilot.resourceTaints: must be a map"},
      {"{autopilot: {resourceTaints: {nvidia.com/gpu: 5}}}",
       "appwrapper.autopilot.resourceTaints.nvidia.com/gpu: must be a list"},
      {"{autopilot: {resourceTaints: {nvidia.com/gpu: [5]}}}",
       "appwrapper.autopilot.resourceTaints.nvidia.com/gpu[0]: must be a map"},
      {"{autopilot: {resourceTaints: {g: [{key: k, value: 1, effect: NoExecute}]}}}",
       "appwrapper.autopilot.resourceTaints.g[0].value: must be a string"},
      {"{autopilot: {resourceTaints: {g: [{value: v, effect: NoExecute}]}}}",
       "appwrapper.autopilot.resourceTaints.g[0].key: is required"},
      {"{autopilot: {resourceTaints: {g: [{key: k, value: v, effect: NoExecutes}]}}}",
       "appwrapper.autopilot.resourceTaints.g[0].effect: \"NoExecutes\" is none of NoSchedule, "
       "PreferNoSchedule, NoExecute"},
      {"{kueueJobReconciller: 5}", "appwrapper.kueueJobReconciller: must be a map"},
      {"{kueueJobReconciller: {waitForPodsReady: true}}",
       "appwrapper.kueueJobReconciller.waitForPodsReady: must be a map"},
      {"{enableKueueIntegrations: true, kueueJobReconciller: {labelKeysToCopy: [1]}}",
       "appwrapper.kueueJobReconciller.labelKeysToCopy: must be a list of strings"}};
  for (const auto& [config, error] : kWrong) {
    EXPECT_NE(error_of(config).find(error), std::string::npos)
        << config << ": " << error_of(config);
  }
  EXPECT_EQ(error_of("{faultTolerance: null, autopilot: {preferNoScheduleWeight: null}}"), "");
  EXPECT_EQ(read_settings(*yaml::parse("{autopilot: {preferNoScheduleWeight: null}}"))
                ->autopilot.prefer_no_schedule_weight,
            1);
  EXPECT_TRUE(read_settings(Value()).ok());
}

Limits limits(const std::string& annotations) {
  std::string text = "{metadata: {annotations: {";
  text += annotations + "}}}";
  return limits_of(Object(*yaml::parse(text)), FaultTolerance{});
}
const std::string kPrefix = "workload.codeflare.dev.appwrapper/";

TEST(Limits, FollowAnnotations) {
  const Limits given = limits(kPrefix + "retryPausePeriodDuration: 1m30s, " + kPrefix +
                              "retryLimit: '7', " + kPrefix + "successTTLDuration: 10m");
  EXPECT_EQ(given.retry_pause, seconds(90));
  EXPECT_EQ(given.retry_limit, 7);
  EXPECT_EQ(given.success_ttl, minutes(10));
  EXPECT_EQ(given.deletion_on_failure, seconds(0));
}

TEST(Limits, IgnoreBadValuesAndKeepWithinBounds) {
  const Limits given =
      limits(kPrefix + "admissionGracePeriodDuration: 1d, " + kPrefix +
             "warmupGracePeriodDuration: 48h, " + kPrefix + "failureGracePeriodDuration: -5s, " +
             kPrefix + "retryLimit: many, " + kPrefix + "successTTLDuration: 1000h");
  EXPECT_EQ(given.admission_grace, minutes(1));
  EXPECT_EQ(given.warmup_grace, hours(24));
  EXPECT_EQ(given.failure_grace, seconds(0));
  EXPECT_EQ(given.retry_limit, 3);
  EXPECT_EQ(given.success_ttl, hours(168));
}

bool terminal(const std::string& annotations, int code) {
  const std::string pod =
      "{status: {containerStatuses: [{state: {terminated: {exitCode: " + std::to_string(code) +
      "}}}]}}";
  return is_terminal({Object(*yaml::parse(pod))}, limits(annotations));
}

TEST(ExitCodes, DecideOnRetries) {
  const std::string terminal_codes = kPrefix + "terminalExitCodes: '3, 10,x'";
  EXPECT_TRUE(terminal(terminal_codes, 3));
  EXPECT_TRUE(terminal(terminal_codes, 10));
  EXPECT_FALSE(terminal(terminal_codes, 4));
  const std::string retryable = kPrefix + "retryableExitCodes: '1'";
  EXPECT_FALSE(terminal(retryable, 1));
  EXPECT_TRUE(terminal(retryable, 2));
  EXPECT_FALSE(terminal(retryable, 0));
  EXPECT_FALSE(terminal(kPrefix + "retryableExitCodes: 'x'", 2));
}

}  // namespace
}  // namespace athanor::appwrapper::settings_test
