// SPDX-License-Identifier: Apache-2.0
// The environment of Hearth (docs/spec/hearth.md section 3).
#include "systems/hearth/settings.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace athanor::hearth::settings_test {
namespace {

TEST(HearthSettings, Defaults) {
  const auto settings = parse_settings({});
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->ns, "hearth");
  EXPECT_EQ(settings->secrets_namespace, "psap-secrets");
  EXPECT_EQ(settings->execution_namespace, "psap-automation");
  EXPECT_EQ(settings->context(), std::chrono::seconds(30));
  EXPECT_EQ(settings->discovery_interval(), std::chrono::minutes(5));
  EXPECT_EQ(settings->lock_prefix, "cluster-lock-");
  EXPECT_TRUE(settings->offboards());
  EXPECT_TRUE(settings->checks_content());
  EXPECT_FALSE(settings->allow_exec_credentials);
  EXPECT_FALSE(settings->allow_plain_http);
}

TEST(HearthSettings, NamesInAnyCase) {
  const auto settings = parse_settings({{"hearth_namespace", "h"},
                                        {"Hearth_Reconcile_Interval_Sec", "0.5"},
                                        {"HEARTH_GPU_MODEL_MAP", R"({"NVIDIA-X": "x1"})"},
                                        {"HEARTH_LOG_LEVEL", "LOUD"},
                                        {"HEARTH_ALLOW_PLAIN_HTTP", "true"},
                                        {"HEARTH_OFFBOARDING", "manual"}});
  ASSERT_TRUE(settings.ok()) << settings.error().message;
  EXPECT_EQ(settings->ns, "h");
  EXPECT_EQ(settings->context(), std::chrono::milliseconds(500));
  EXPECT_EQ(settings->model_map.at("NVIDIA-X"), "x1");
  EXPECT_EQ(settings->log_level, "INFO");
  EXPECT_FALSE(settings->offboards());
  EXPECT_TRUE(settings->allow_plain_http);
  const auto read = api::decode<Settings>(api::encode(*settings));
  EXPECT_EQ(read.model_map, settings->model_map);
  EXPECT_EQ(read.context(), settings->context());
}

TEST(HearthSettings, BadValuesNameVariableAndBound) {
  const std::pair<const char*, const char*> rows[] = {
      {"HEARTH_RECONCILE_INTERVAL_SEC", "0"},
      {"HEARTH_RECONCILE_INTERVAL_SEC", "nan"},
      {"HEARTH_RECONCILE_INTERVAL_SEC", ""},
      {"HEARTH_GPU_DISCOVERY_DEFAULT_INTERVAL_SEC", "-1"},
      {"HEARTH_GPU_DISCOVERY_TIMEOUT_SEC", "abc"},
      {"HEARTH_GPU_DISCOVERY_TIMEOUT_SEC", "1.5"},
      {"HEARTH_DISCOVERY_CONCURRENCY", "0"},
      {"HEARTH_DISCOVERY_CONCURRENCY", "65"},
      {"HEARTH_KUBECONFIG_CHECK", "deep"},
      {"HEARTH_OFFBOARDING", "off"},
      {"HEARTH_GPU_NODE_FILTER", "some"},
      {"HEARTH_ALLOW_EXEC_CREDENTIALS", "yes"},
      {"HEARTH_ALLOW_PLAIN_HTTP", "1"},
      {"HEARTH_GPU_MODEL_MAP", "[]"},
      {"HEARTH_GPU_MODEL_MAP", R"({"x": "A 1"})"},
      {"HEARTH_KUBECONFIG_SECRET_PATTERN", "kubeconfig"},
  };
  for (const auto& [name, value] : rows) {
    const auto settings = parse_settings({{name, value}});
    ASSERT_FALSE(settings.ok()) << name << "=" << value;
    EXPECT_TRUE(settings.error().message.starts_with(std::string("ERROR: ") + name + "="))
        << settings.error().message;
    EXPECT_NE(settings.error().message.find("must "), std::string::npos);
  }
}

}  // namespace
}  // namespace athanor::hearth::settings_test
