// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/config_objects.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "embedded/tekton/text.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::tekton {
namespace {

constexpr std::string_view kNamespace = "tekton-pipelines";

struct Setting {
  std::string_view key{};
  std::string_view value{};
  std::string_view kind{};  // "number", "flag", "yaml", or the allowed words split by '|'
};

constexpr Setting kDefaults[] = {
    {"default-timeout-minutes", "60", "number"},
    {"default-service-account", "default", ""},
    {"default-managed-by-label-value", "tekton-pipelines", ""},
    {"default-max-matrix-combinations-count", "256", "number"},
    {"default-imagepullbackoff-timeout", "0", ""},
    {"default-pod-template", "", "yaml"},
    {"default-resolver-type", "", ""},
    {"default-forbidden-env", "", ""},
};
constexpr Setting kFlags[] = {
    {"enable-api-fields", "beta", "stable|beta|alpha"},
    {"coschedule", "disabled", "workspaces|pipelineruns|isolate-pipelinerun|disabled"},
    {"disable-creds-init", "false", "flag"},
    {"await-sidecar-readiness", "true", "flag"},
    {"running-in-environment-with-injected-sidecars", "true", "flag"},
    {"results-from", "termination-message", "termination-message|sidecar-logs"},
    {"max-result-size", "4096", "number"},
    {"keep-pod-on-cancel", "false", "flag"},
    {"enable-provenance-in-status", "true", "flag"},
    {"set-security-context", "false", "flag"},
    {"enable-cel-in-whenexpression", "false", "flag"},
    {"enable-param-enum", "false", "flag"},
    {"enable-artifacts", "false", "flag"},
    {"disable-inline-spec", "", ""},
};

template <std::size_t Count>
Value config_map(std::string_view name, const Setting (&settings)[Count]) {
  Value data = Value::object();
  for (const Setting& setting : settings) {
    if (!setting.value.empty()) {
      data.set(setting.key, setting.value);
    }
  }
  return Value::object({{"apiVersion", "v1"},
                        {"kind", "ConfigMap"},
                        {"metadata", Value::object({{"name", name}, {"namespace", kNamespace}})},
                        {"data", std::move(data)}});
}

bool is_word_of(std::string_view word, std::string_view words) {
  while (!words.empty()) {
    const std::size_t end = words.find('|');
    if (words.substr(0, end) == word) {
      return true;
    }
    words = end == std::string_view::npos ? std::string_view{} : words.substr(end + 1);
  }
  return false;
}

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// What is wrong with a value, or empty.
std::string problem_of(const Setting& setting, std::string_view value, std::string_view config) {
  if (setting.kind.empty()) {
    return {};
  }
  if (setting.kind == "number") {
    return is_number(value) ? ""
                            : "failed parsing " + std::string(config) + " " + quoted(setting.key);
  }
  if (setting.kind == "yaml") {
    return yaml::parse(value) ? "" : "failed to unmarshal " + quoted(value);
  }
  if (setting.kind == "flag") {
    const bool good = is_word_of(value, "true|false|True|False|TRUE|FALSE|t|f|T|F|1|0");
    return good ? ""
                : "failed parsing " + std::string(config) + " " + quoted(value) +
                      ": strconv.ParseBool: parsing " + quoted(value) + ": invalid syntax";
  }
  return is_word_of(value, setting.kind)
             ? ""
             : "invalid value for feature flag " + quoted(setting.key) + ": " + quoted(value);
}

template <std::size_t Count>
std::string first_problem(const Value& data, const Setting (&settings)[Count],
                          std::string_view config) {
  for (const Setting& setting : settings) {
    if (const Value* value = data.find(setting.key)) {
      if (std::string problem = problem_of(setting, value->as_string(), config); !problem.empty()) {
        return problem;
      }
    }
  }
  return {};
}

}  // namespace

std::vector<Value> config_objects() {
  return {Value::object({{"apiVersion", "v1"},
                         {"kind", "Namespace"},
                         {"metadata", Value::object({{"name", kNamespace}})}}),
          config_map("config-defaults", kDefaults), config_map("feature-flags", kFlags)};
}

std::optional<Error> validate_config(const Value& object) {
  if (object["kind"].as_string() != "ConfigMap" ||
      object["metadata"]["namespace"].as_string() != kNamespace) {
    return std::nullopt;
  }
  const std::string_view name = object["metadata"]["name"].as_string();
  std::string problem;
  if (name == "config-defaults") {
    problem = first_problem(object["data"], kDefaults, "default config");
  } else if (name == "feature-flags") {
    problem = first_problem(object["data"], kFlags, "feature flags config");
  }
  if (problem.empty()) {
    return std::nullopt;
  }
  return Error::bad_request(
      "admission webhook \"config.webhook.pipeline.tekton.dev\" denied the request: validation "
      "failed: " +
      problem);
}

}  // namespace athanor::tekton
