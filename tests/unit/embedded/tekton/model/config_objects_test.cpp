// SPDX-License-Identifier: Apache-2.0
// Configuration objects and settings (docs/spec/tekton.md head, 14).
#include "embedded/tekton/model/config_objects.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "embedded/tekton/model/ignored_fields.hpp"
#include "embedded/tekton/model/setting_variables.hpp"
#include "embedded/tekton/model/settings.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::tekton::config_objects_test {
namespace {

TEST(ConfigObjects, AreAllRightAsTheyAre) {
  const auto objects = config_objects();
  ASSERT_EQ(objects.size(), 7U);
  for (const Value& object : objects) {
    EXPECT_FALSE(validate_config(object)) << object["metadata"]["name"].as_string();
  }
  EXPECT_EQ(objects[1]["data"]["default-timeout-minutes"], Value("60"));
  EXPECT_EQ(objects[2]["data"]["enable-api-fields"], Value("beta"));
  EXPECT_EQ(objects[6]["data"]["version"], Value("v1.9.2"));
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
      {2, "disable-inline-spec", "taskrun,step",
       "invalid value for feature flag \"disable-inline-spec\": \"step\""},
      {1, "default-cloud-events-sink", "there",
       "default-cloud-events-sink must be an http(s) URL: \"there\""},
      {3, "formats", "", "formats cannot be empty"},
      {3, "formats", "tektonv1,", "invalid format: "},
      {3, "formats", "tektonv1,tektonv1", "duplicate format: tektonv1"},
      {5, "metrics.taskrun.level", "step", "invalid value for \"metrics.taskrun.level\": \"step\""},
      {4, "keep", "0", "keep must be a whole number above 0: \"0\""},
      {4, "resources", "pod", "resources must be taskrun, pipelinerun or both: \"pod\""},
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

TEST(ConfigObjects, RefuseTwoLimitsOfPruning) {
  Value object = config_objects()[4];
  object.member("data").set("keep", "5");
  EXPECT_FALSE(validate_config(object));
  object.member("data").set("keep-since", "5");
  ASSERT_TRUE(validate_config(object));
  EXPECT_NE(validate_config(object)->message.find("got both: keep, keep-since"), std::string::npos);
}

TEST(ConfigObjects, SayWhichKeysHaveNoEffect) {
  Value flags = config_objects()[2];
  EXPECT_TRUE(config_warnings(flags).empty());
  flags.member("data").set("enable-artifacts", "t");
  flags.member("data").set("enable-param-enum", "true");
  flags.member("data").set("coschedule", "workspaces");
  flags.member("data").set("keep-pod-on-cancel", "False");
  flags.member("data").set("enable-magic", "x");
  flags.member("data").set("_example", "text");
  EXPECT_EQ(
      config_warnings(flags),
      (std::vector<std::string>{
          "feature-flags: coschedule: \"workspaces\" has no effect: the embedded engine works "
          "as with \"disabled\"",
          "feature-flags: enable-magic has no effect: the embedded engine does not read it"}));
  Value other = flags;
  other.member("metadata").set("name", "config-tracing");
  EXPECT_EQ(config_warnings(other),
            std::vector<std::string>{
                "config-tracing has no effect: of namespace tekton-pipelines the embedded engine "
                "reads ConfigMaps config-defaults, feature-flags, config-events, config-pruner and "
                "config-observability alone"});
  other.member("metadata").set("namespace", "elsewhere");
  EXPECT_TRUE(config_warnings(other).empty());
}

// Keys of Tekton's own ConfigMaps (release v1.9 and later), with a value other than the default.
constexpr std::pair<std::string_view, std::string_view> kFlagsOfTekton[] = {
    {"disable-affinity-assistant", "true"},
    {"disable-creds-init", "true"},
    {"running-in-environment-with-injected-sidecars", "false"},
    {"await-sidecar-readiness", "false"},
    {"require-git-ssh-secret-known-hosts", "true"},
    {"enable-tekton-oci-bundles", "true"},
    {"enable-api-fields", "alpha"},
    {"send-cloudevents-for-runs", "true"},
    {"enforce-nonfalsifiability", "spire"},
    {"trusted-resources-verification-no-match-policy", "fail"},
    {"enable-provenance-in-status", "false"},
    {"results-from", "sidecar-logs"},
    {"max-result-size", "100"},
    {"set-security-context", "true"},
    {"set-security-context-read-only-root-filesystem", "true"},
    {"coschedule", "workspaces"},
    {"keep-pod-on-cancel", "true"},
    {"enable-cel-in-whenexpression", "true"},
    {"enable-step-actions", "false"},
    {"enable-artifacts", "true"},
    {"enable-param-enum", "true"},
    {"disable-inline-spec", "taskrun"},
    {"enable-concise-resolver-syntax", "true"},
    {"enable-kubernetes-sidecar", "true"},
    {"enable-wait-exponential-backoff", "true"},
    {"enable-termination-message-compression", "true"},
    {"per-namespace-configuration", "true"},
    {"non-overridable-fields", "coschedule"},
};
constexpr std::pair<std::string_view, std::string_view> kDefaultsOfTekton[] = {
    {"default-timeout-minutes", "7"},
    {"default-service-account", "robot"},
    {"default-managed-by-label-value", "me"},
    {"default-pod-template", "{nodeSelector: {a: b}}"},
    {"default-affinity-assistant-pod-template", "{nodeSelector: {a: b}}"},
    {"default-cloud-events-sink", "http://sink/"},
    {"default-task-run-workspace-binding", "{emptyDir: {}}"},
    {"default-max-matrix-combinations-count", "3"},
    {"default-forbidden-env", "A"},
    {"default-resolver-type", "git"},
    {"default-container-resource-requirements", "{default: {}}"},
    {"default-imagepullbackoff-timeout", "5m"},
    {"default-create-container-error-timeout", "5m"},
    {"default-maximum-resolution-timeout", "5m"},
    {"default-sidecar-log-polling-interval", "1s"},
    {"default-step-ref-concurrency-limit", "2"},
};

// A key that is read changes the settings; of every other one the writer is warned.
void expect_effect_or_warning(std::size_t object, std::string_view key, std::string_view value) {
  Value config = config_objects()[object];
  config.member("data").set(key, value);
  ASSERT_FALSE(validate_config(config)) << key << ": " << validate_config(config)->message;
  const Value& data = config["data"];
  const Value none = Value::object();
  const Settings settings = object == 1 ? settings_of({}, data) : settings_of({}, none, data);
  const bool honoured = !(settings == settings_of({}, none));
  EXPECT_NE(honoured, !config_warnings(config).empty()) << key;
}

TEST(ConfigObjects, HonourEachKeyOrWarn) {
  for (const auto& [key, value] : kFlagsOfTekton) {
    expect_effect_or_warning(2, key, value);
  }
  for (const auto& [key, value] : kDefaultsOfTekton) {
    expect_effect_or_warning(1, key, value);
  }
}

TEST(ConfigObjects, ContainValuesOfSettings) {
  const auto objects = config_objects(
      yaml::parse("{run: {maxResultSize: 9000}, defaults: {default-timeout-minutes: '5'}}")
          .value());
  EXPECT_EQ(objects[1]["data"]["default-timeout-minutes"], Value("5"));
  EXPECT_EQ(objects[1]["data"]["default-service-account"], Value("default"));
  EXPECT_EQ(objects[2]["data"]["max-result-size"], Value("9000"));
}

TEST(Settings, FeatureFlagsAreRead) {
  const Settings settings = settings_of(
      {},
      yaml::parse("{default-max-matrix-combinations-count: '4', default-resolver-type: cluster}")
          .value(),
      yaml::parse("{max-result-size: '10', enable-param-enum: 'True', enable-provenance-in-status: "
                  "'false'}")
          .value());
  EXPECT_EQ(settings.max_result_size, 10);
  EXPECT_TRUE(settings.param_enum);
  EXPECT_FALSE(settings.provenance_in_status);
  EXPECT_EQ(settings.max_combinations, 4);
  EXPECT_EQ(settings.default_resolver, "cluster");
}

TEST(Settings, ComeFromVariables) {
  const auto section =
      read_section({.variables = {{"TEKTON_RUN_PROFILE", "v1.9"},
                                  {"TEKTON_MAX_RESULT_SIZE", "10"},
                                  {"TEKTON_STARTUP_GRACE", "5s"},
                                  {"TEKTON_IMAGE_ENTRYPOINTS", "{tool: [tool, -q]}"},
                                  {"TEKTON_DEFAULT_TIMEOUT_MINUTES", "7"},
                                  {"TEKTON_DEFAULT_SERVICE_ACCOUNT", "robot"},
                                  {"TEKTON_DEFAULT_POD_TEMPLATE", "{nodeSelector: {a: b}}"}}});
  ASSERT_TRUE(section.ok());
  EXPECT_EQ((*section)["run"]["imageEntrypoints"]["tool"][1], Value("-q"));
  const Settings settings = settings_of(*section, {});
  EXPECT_TRUE(!settings.finally_after_tasks_timeout && !settings.task_timeout_follows_tasks);
  EXPECT_EQ(settings.max_result_size, 10);
  EXPECT_EQ(settings.startup_grace, std::chrono::seconds(5));
  EXPECT_EQ(settings.default_timeout, std::chrono::minutes(7));
  EXPECT_EQ(settings.default_service_account, "robot");
  EXPECT_EQ(settings.default_pod_template["nodeSelector"]["a"], Value("b"));
  EXPECT_EQ(read_section({}).value_or(Value("none")), Value::object());
}

TEST(Settings, WrongVariablesAreRefusedByName) {
  const struct {
    const char* name;
    const char* value;
    const char* rule;
  } rows[] = {
      {"TEKTON_RUN_PROFILE", "v2", "must be v1.9 or current"},
      {"TEKTON_MAX_RESULT_SIZE", "0", "must be a whole number from 1 to 1048576"},
      {"TEKTON_STARTUP_GRACE", "soon", "must be a duration of 0s or more, as 30s"},
      {"TEKTON_IMAGE_ENTRYPOINTS", "{tool: tool}",
       "must be a YAML map of image names to commands, as {tool: [tool, -q]}"},
      {"TEKTON_DEFAULT_TIMEOUT_MINUTES", "-1", "must be a whole number from 0 to 527040"},
      {"TEKTON_DEFAULT_POD_TEMPLATE", "[a]", "must be a pod template in YAML"},
      {"TEKTON_BUNDLES", "bundles", "must be the absolute path of a folder"},
      {"TEKTON_GIT_FOLDER", "file:///srv", "must be the absolute path of a folder"},
  };
  for (const auto& row : rows) {
    const auto section = read_section({.variables = {{row.name, row.value}}});
    ASSERT_FALSE(section.ok()) << row.name;
    EXPECT_EQ(section.error().message,
              std::string("ERROR: ") + row.name + "=" + row.value + ": " + row.rule);
  }
}

TEST(IgnoredFields, AreReportedByPath) {
  const auto of = [](std::string_view text) {
    return ignored_fields_of(yaml::parse(text).value());
  };
  EXPECT_EQ(of("{kind: Task, spec: {sidecars: [{name: s, readinessProbe: {exec: {}}, "
               "volumeDevices: [{name: d}]}]}}"),
            std::vector<std::string>{"spec.sidecars[0].volumeDevices has no effect: the embedded "
                                     "engine has no block devices"});
  EXPECT_EQ(of("{kind: PipelineRun, spec: {pipelineSpec: {finally: [{taskSpec: {steps: "
               "[{volumeDevices: [{name: d}]}]}}]}}}"),
            std::vector<std::string>{
                "spec.pipelineSpec.finally[0].taskSpec.steps[0].volumeDevices has no effect: the "
                "embedded engine has no block devices"});
  EXPECT_TRUE(of("{kind: Task, spec: {sidecars: [{name: s}], steps: [{image: i}]}}").empty());
}

TEST(IgnoredFields, NameHermeticModeOfEachKind) {
  for (const std::string_view kind : {"Task", "TaskRun", "Pipeline", "PipelineRun"}) {
    const Value object = Value::object(
        {{"kind", kind},
         {"metadata",
          yaml::parse("{annotations: {experimental.tekton.dev/execution-mode: hermetic}}")
              .value()}});
    EXPECT_EQ(ignored_fields_of(object),
              std::vector<std::string>{
                  "metadata.annotations[experimental.tekton.dev/execution-mode] has no effect: "
                  "steps keep the network of their pod"});
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
}  // namespace athanor::tekton::config_objects_test
