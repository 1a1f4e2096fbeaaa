// SPDX-License-Identifier: Apache-2.0
// Upstream's flags as a setup (docs/spec/numa.md 5.1).
#include "systems/numa/operator/operator_process.hpp"

#include <gtest/gtest.h>

#include "systems/numa/model/settings.hpp"

namespace athanor::numa::operator_process_test {
namespace {

using Flags = std::map<std::string, std::string, std::less<>>;

Result<ProcessSetup> made(Flags flags, std::map<std::string, std::string> variables = {}) {
  return operator_process().set_up(
      {.ns = "numa-system", .flags = std::move(flags), .variables = std::move(variables)});
}

ProcessSetup setup(Flags flags, std::map<std::string, std::string> variables = {}) {
  auto result = made(std::move(flags), std::move(variables));
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? *std::move(result) : ProcessSetup();
}

TEST(NumaOperatorProcess, HasUpstreamsDefaults) {
  const ProcessSetup defaults = setup({});
  EXPECT_TRUE(defaults.leader_elect);
  EXPECT_TRUE(defaults.metrics_secure);
  EXPECT_EQ(defaults.metrics_address, ":8080");
  EXPECT_EQ(defaults.health_address, ":8081");
  EXPECT_FALSE(defaults.webhooks);
  EXPECT_TRUE(defaults.systems.empty());
  EXPECT_TRUE(defaults.warnings.empty());
  EXPECT_EQ(defaults.settings, Value::object({{"namespace", "numa-system"}}));
  EXPECT_TRUE(setup({}, {{"NUMA_NAMESPACE", "mine"}}).settings.empty());
}

TEST(NumaOperatorProcess, TheExportersImageIsItsOwnPods) {
  const auto image = [](Flags flags, std::map<std::string, std::string> variables) {
    const auto result = operator_process().set_up({.ns = "numa-system",
                                                   .flags = std::move(flags),
                                                   .variables = std::move(variables),
                                                   .image = "own:1"});
    return result.ok() ? result->settings["exporterImage"].str() : result.error().message;
  };
  EXPECT_EQ(image({}, {}), "own:1");
  EXPECT_EQ(image({{"image-exporter", "flag:1"}}, {}), "flag:1");
  EXPECT_EQ(image({}, {{"NUMA_EXPORTER_IMAGE", "variable:1"}}), "") << "read as a setting";
}

TEST(NumaOperatorProcess, TakesUpstreamsFlags) {
  const ProcessSetup flags = setup({{"leader-elect", "false"},
                                    {"metrics-bind-address", ":1"},
                                    {"health-probe-bind-address", ":2"},
                                    {"platform", "HyperShift"},
                                    {"platform-version", "4.20.0"},
                                    {"image-exporter", "e:1"},
                                    {"enable-scheduler", "false"},
                                    {"enable-mcp-conds-fwd", "true"}});
  EXPECT_FALSE(flags.leader_elect);
  EXPECT_EQ(flags.metrics_address, ":1");
  EXPECT_EQ(flags.health_address, ":2");
  EXPECT_EQ(flags.systems, std::vector<std::string>{"-numaresourcesscheduler"});
  EXPECT_EQ(flags.settings, Value::object({{"namespace", "numa-system"},
                                           {"platform", "hypershift"},
                                           {"platformVersion", "4.20.0"},
                                           {"exporterImage", "e:1"},
                                           {"poolConditions", true}}));
  EXPECT_TRUE(flags.warnings.empty());
  EXPECT_EQ(setup({{"enable-metrics", "false"}}).metrics_address, "0");
  EXPECT_FALSE(setup({{"metrics-secure", "false"}}).metrics_secure);
}

TEST(NumaOperatorProcess, ServesTheConversionWhereAsked) {
  const ProcessSetup flags = setup({{"enable-webhooks", "true"}, {"webhook-port", "9444"}});
  ASSERT_TRUE(flags.webhooks);
  EXPECT_EQ(flags.webhooks->address, ":9444");
  EXPECT_EQ(flags.webhooks->ns, "numa-system");
  EXPECT_EQ(flags.webhooks->definitions,
            (std::vector<std::string>{"numaresourcesoperators.nodetopology.openshift.io",
                                      "numaresourcesschedulers.nodetopology.openshift.io"}));
  EXPECT_EQ(setup({{"enable-webhooks", "true"}}).webhooks->address, ":9443");
}

TEST(NumaOperatorProcess, WarnsOfFlagsWithoutEffect) {
  for (const auto& [name, value] :
       {std::pair{"enable-http2", "true"}, {"image-scheduler", "s:1"}, {"webhook-port", "9444"}}) {
    const ProcessSetup flags = setup({{name, value}});
    ASSERT_EQ(flags.warnings.size(), 1U) << name;
    EXPECT_EQ(flags.warnings[0].find(std::string("--") + name), 0U) << flags.warnings[0];
  }
}

TEST(NumaOperatorProcess, WarnsOfDigestsThatItSkips) {  // docs/spec/numa.md 5.1
  const std::string good = "sha256:" + std::string(64, 'a');
  std::map<std::string, std::string> variables{
      {"SCHEDULER_IMAGE_DIGESTS", good + ", sha256:short"}};
  EXPECT_EQ(setup({}, variables).warnings,
            std::vector<std::string>{"SCHEDULER_IMAGE_DIGESTS: \"sha256:short\" is skipped: it is "
                                     "not sha256:<64 hex chars>"});
  EXPECT_EQ(parse_settings(variables, false)->scheduler_image_digests,
            std::vector<std::string>{good});
  EXPECT_EQ(parse_settings(variables, true).error().message,
            "SCHEDULER_IMAGE_DIGESTS: \"sha256:short\" is not sha256:<64 hex chars>");
  variables["SCHEDULER_IMAGE_DIGESTS"] = good;
  EXPECT_TRUE(setup({}, variables).warnings.empty());
  EXPECT_TRUE(parse_settings(variables, true).ok());
}

TEST(NumaOperatorProcess, RefusesInvalidSettings) {
  EXPECT_EQ(made({{"platform", "plan9"}}).error().message,
            "NUMA_PLATFORM must be kubernetes, openshift or hypershift, not \"plan9\"");
  EXPECT_EQ(made({{"enable-scheduler", "maybe"}}).error().message,
            "--enable-scheduler: \"maybe\" is neither true nor false");
  for (const char* port : {"0", "65536", "https", ""}) {
    EXPECT_FALSE(made({{"webhook-port", port}}).ok()) << port;
  }
}

TEST(NumaOperatorProcess, TakesKlogsFlags) {
  EXPECT_EQ(setup({}).log_level, "");
  EXPECT_EQ(setup({{"v", "2"}}).log_level, "");
  EXPECT_EQ(setup({{"v", "4"}}).log_level, "debug");
  EXPECT_EQ(setup({{"v", "8"}}).log_level, "trace");
  EXPECT_FALSE(made({{"v", "much"}}).ok());
  EXPECT_TRUE(setup({{"logtostderr", "true"}, {"vmodule", "a=1"}}).warnings.empty());
  EXPECT_EQ(setup({{"log_file", "/tmp/log"}}).warnings.size(), 1U);
}

}  // namespace
}  // namespace athanor::numa::operator_process_test
