// SPDX-License-Identifier: Apache-2.0
// Configuration objects and settings (docs/spec/tekton.md head, 14).
#include "embedded/tekton/config_objects.hpp"

#include <gtest/gtest.h>

#include "embedded/tekton/settings.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::tekton {
namespace {

TEST(ConfigObjects, AreAllRightAsTheyAre) {
  const auto objects = config_objects();
  ASSERT_EQ(objects.size(), 3U);
  for (const Value& object : objects) {
    EXPECT_FALSE(validate_config(object)) << object["metadata"]["name"].as_string();
  }
  EXPECT_EQ(objects[1]["data"]["default-timeout-minutes"], Value("60"));
  EXPECT_EQ(objects[2]["data"]["enable-api-fields"], Value("beta"));
}

TEST(ConfigObjects, WrongValuesAreRefused) {
  const struct {
    std::size_t object;
    std::string_view key, value, problem;
  } rows[] = {
      {1, "default-timeout-minutes", "soon",
       "failed parsing default config \"default-timeout-minutes\""},
      {2, "enable-api-fields", "gamma",
       "invalid value for feature flag \"enable-api-fields\": \"gamma\""},
      {2, "enable-artifacts", "maybe",
       "failed parsing feature flags config \"maybe\": strconv.ParseBool: parsing \"maybe\": "
       "invalid syntax"},
  };
  for (const auto& row : rows) {
    Value object = config_objects()[row.object];
    object.member("data").set(row.key, row.value);
    const auto denial = validate_config(object);
    ASSERT_TRUE(denial) << row.key;
    EXPECT_EQ(denial->message,
              "admission webhook \"config.webhook.pipeline.tekton.dev\" denied the request: "
              "validation failed: " +
                  std::string(row.problem));
    object.member("metadata").set("namespace", "elsewhere");
    EXPECT_FALSE(validate_config(object));
  }
}

TEST(Settings, ComeFromTheSectionAndTheConfigMap) {
  const Settings plain = settings_of({}, {});
  EXPECT_TRUE(plain.finally_after_tasks_timeout);
  EXPECT_FALSE(plain.precise_failure_reasons);
  EXPECT_EQ(plain.default_timeout, std::chrono::minutes(60));
  const Value section = yaml::parse(
                            "{run: {profile: v1.9, maxResultSize: 10, startupGrace: 5s}, defaults: "
                            "{default-timeout-minutes: '7'}}")
                            .value();
  const Settings seed =
      settings_of(section, yaml::parse("{default-service-account: robot}").value());
  EXPECT_FALSE(seed.finally_after_tasks_timeout);
  EXPECT_FALSE(seed.task_timeout_follows_tasks);
  EXPECT_EQ(seed.max_result_size, 10);
  EXPECT_EQ(seed.startup_grace, std::chrono::seconds(5));
  EXPECT_EQ(seed.default_timeout, std::chrono::minutes(7));
  EXPECT_EQ(seed.default_service_account, "robot");
}

}  // namespace
}  // namespace athanor::tekton
