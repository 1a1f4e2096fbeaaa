// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/model/config_objects.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "embedded/tekton/model/prune_rules.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "embedded/tekton/model/text.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::tekton {
namespace {

constexpr std::string_view kNamespace = "tekton-pipelines";

// Read: the engine follows the key. Fixed: it works as with the documented value.
enum class Use : std::uint8_t { Fixed, Read };

struct Setting {
  std::string_view key{};
  std::string_view value{};
  // "number", "flag", "yaml", "url", "formats", "inline", or the allowed words split by '|'.
  std::string_view kind{};
  Use use = Use::Fixed;
  std::string_view fixed{};  // of a key that is read: the word that has no effect
};

constexpr Setting kDefaults[] = {
    {"default-timeout-minutes", "60", "number", Use::Read},
    {"default-service-account", "default", "", Use::Read},
    {"default-managed-by-label-value", "tekton-pipelines", "", Use::Read},
    {"default-max-matrix-combinations-count", "256", "number", Use::Read},
    {"default-imagepullbackoff-timeout", "0", ""},
    {"default-pod-template", "", "yaml", Use::Read},
    {"default-resolver-type", "", "", Use::Read},
    {"default-task-run-workspace-binding", "", "yaml", Use::Read},
    {"default-forbidden-env", "", "", Use::Read},
    {"default-cloud-events-sink", "", "url", Use::Read},
};
constexpr Setting kFlags[] = {
    {"enable-api-fields", "beta", "stable|beta|alpha", Use::Read, "stable"},
    {"coschedule", "disabled", "workspaces|pipelineruns|isolate-pipelinerun|disabled"},
    {"disable-creds-init", "false", "flag", Use::Read},
    {"await-sidecar-readiness", "true", "flag"},
    {"running-in-environment-with-injected-sidecars", "true", "flag"},
    {"results-from", "termination-message", "termination-message|sidecar-logs"},
    {"max-result-size", "4096", "number", Use::Read},
    {"keep-pod-on-cancel", "false", "flag"},
    {"enable-provenance-in-status", "true", "flag", Use::Read},
    {"set-security-context", "false", "flag"},
    {"enable-cel-in-whenexpression", "false", "flag", Use::Read},
    {"enable-param-enum", "false", "flag", Use::Read},
    {"enable-artifacts", "false", "flag", Use::Read},
    {"disable-inline-spec", "", "inline", Use::Read},
    {"send-cloudevents-for-runs", "false", "flag", Use::Read},
    {"require-git-ssh-secret-known-hosts", "false", "flag"},
    {"enforce-nonfalsifiability", "none", "none|spire"},
    {"trusted-resources-verification-no-match-policy", "ignore", "ignore|warn|fail"},
    {"set-security-context-read-only-root-filesystem", "false", "flag"},
    {"enable-step-actions", "true", "flag"},
    {"enable-concise-resolver-syntax", "false", "flag"},
    {"enable-kubernetes-sidecar", "false", "flag"},
    {"enable-wait-exponential-backoff", "false", "flag"},
};
constexpr Setting kEvents[] = {
    {"formats", "tektonv1", "formats", Use::Read},
    {"sink", "", "url", Use::Read},
};

constexpr Setting kObservability[] = {
    {"metrics.taskrun.level", "task", "taskrun|task|namespace"},
    {"metrics.taskrun.duration-type", "histogram", "histogram|lastvalue"},
    {"metrics.pipelinerun.level", "pipeline", "pipelinerun|pipeline|namespace"},
    {"metrics.pipelinerun.duration-type", "histogram", "histogram|lastvalue"},
    {"metrics.running-pipelinerun.level", "", "pipelinerun|pipeline|namespace", Use::Read},
    {"metrics.count.enable-reason", "false", "flag"},
    {"metrics.taskrun.throttle.enable-namespace", "true", "flag"},
    {"metrics.backend-destination", "prometheus", ""},
    {"metrics-protocol", "prometheus", ""},
};
// Their kind is "pruner": model/prune_rules.hpp has their rules.
constexpr Setting kPruner[] = {
    {"schedule", "", "pruner", Use::Read},
    {"resources", "", "pruner", Use::Read},
    {"keep", "", "pruner", Use::Read},
    {"keep-since", "", "pruner", Use::Read},
    {"prune-per-resource", "", "pruner", Use::Read},
};

constexpr Setting kInfo[] = {{"version", kRelease, ""}};

using Table = std::span<const Setting>;

// A ConfigMap that the engine reads.
struct Config {
  std::string_view name{};
  std::string_view words{};  // in the error texts of numbers and flags
  Table settings{};
};
constexpr Config kConfigs[] = {{"config-defaults", "default config", kDefaults},
                               {"feature-flags", "feature flags config", kFlags},
                               {"config-events", "events config", kEvents},
                               {"config-pruner", "pruner config", kPruner},
                               {"config-observability", "observability config", kObservability}};

const Config* config_of(std::string_view name) {
  const auto found = std::ranges::find(kConfigs, name, &Config::name);
  return found == std::end(kConfigs) ? nullptr : found;
}

Value config_map(std::string_view name, Table settings, const Value& given) {
  Value data = Value::object();
  for (const Setting& setting : settings) {
    if (const std::string_view own = given[setting.key].as_string(); !own.empty()) {
      data.set(setting.key, own);
    } else if (!setting.value.empty()) {
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

// "tektonv1": the formats of CloudEvents, separated by commas.
std::string problem_of_formats(std::string_view formats) {
  if (formats.empty()) {
    return "formats cannot be empty";
  }
  std::string_view rest = formats;
  for (bool first = true;; first = false) {
    const std::size_t end = rest.find(',');
    const std::string format(rest.substr(0, end));
    if (format != "tektonv1") {
      return "invalid format: " + format;
    }
    if (!first) {
      return "duplicate format: " + format;
    }
    if (end == std::string_view::npos) {
      return {};
    }
    rest = rest.substr(end + 1);
  }
}

// "pipeline,pipelinerun": kinds whose inline specs are refused.
std::string problem_of_inline(std::string_view kinds) {
  while (!kinds.empty()) {
    const std::size_t end = kinds.find(',');
    if (const std::string_view kind = kinds.substr(0, end);
        !is_word_of(kind, "pipeline|pipelinerun|taskrun")) {
      return "invalid value for feature flag \"disable-inline-spec\": " + quoted(kind);
    }
    kinds = end == std::string_view::npos ? std::string_view{} : kinds.substr(end + 1);
  }
  return {};
}

bool is_url(std::string_view text) {
  const bool plain =
      std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) > ' '; });
  const std::size_t host = text.find("://") + 3;
  return plain && (text.starts_with("https://") || text.starts_with("http://")) &&
         text.find_first_of("/?#", host) != host && text.size() > host;
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
  if (setting.kind == "pruner") {
    const std::string problem = value.empty() ? "" : prune_field_problem(setting.key, value);
    return problem.empty() ? "" : std::string(setting.key) + " " + problem;
  }
  if (setting.kind == "formats") {
    return problem_of_formats(value);
  }
  if (setting.kind == "inline") {
    return problem_of_inline(value);
  }
  if (setting.kind == "url") {
    return value.empty() || is_url(value)
               ? ""
               : std::string(setting.key) + " must be an http(s) URL: " + quoted(value);
  }
  if (setting.kind == "flag") {
    const bool good = is_word_of(value, "true|false|True|False|TRUE|FALSE|t|f|T|F|1|0");
    return good ? ""
                : "failed parsing " + std::string(config) + " " + quoted(value) +
                      ": strconv.ParseBool: parsing " + quoted(value) + ": invalid syntax";
  }
  if (is_word_of(value, setting.kind) || (value.empty() && setting.value.empty())) {
    return {};
  }
  const std::string_view what = config == "feature flags config" ? "feature flag " : "";
  return "invalid value for " + std::string(what) + quoted(setting.key) + ": " + quoted(value);
}

std::string first_problem(const Value& data, Table settings, std::string_view config) {
  for (const Setting& setting : settings) {
    if (const Value* value = data.find(setting.key)) {
      if (std::string problem = problem_of(setting, value->as_string(), config); !problem.empty()) {
        return problem;
      }
    }
  }
  return {};
}

std::string both_limits(const Value& pruner) {
  const bool both =
      !pruner["keep"].as_string().empty() && !pruner["keep-since"].as_string().empty();
  return both ? "expected exactly one, got both: keep, keep-since" : "";
}

bool is_true(std::string_view word) {
  return is_word_of(word, "true|True|TRUE|t|T|1");
}

// Returns true if the two mean the same to Tekton.
bool same_meaning(const Setting& setting, std::string_view value) {
  return setting.kind == "flag" ? is_true(setting.value) == is_true(value) : setting.value == value;
}

std::string ignored_key(std::string_view config, const Setting& setting, std::string_view value) {
  return std::string(config) + ": " + std::string(setting.key) + ": " + quoted(value) +
         " has no effect: the embedded engine works as with " + quoted(setting.value);
}

std::vector<std::string> ignored_keys(const Value& data, Table settings, std::string_view config) {
  std::vector<std::string> warnings;
  for (const Member& member : data.members()) {
    const auto setting = std::ranges::find(settings, member.key(), &Setting::key);
    if (setting == settings.end()) {
      if (member.key() != "_example") {
        warnings.push_back(std::string(config) + ": " + std::string(member.key()) +
                           " has no effect: the embedded engine does not read it");
      }
    } else if (setting->use == Use::Fixed
                   ? !same_meaning(*setting, member.value.as_string())
                   : !setting->fixed.empty() && member.value.as_string() == setting->fixed) {
      warnings.push_back(ignored_key(config, *setting, member.value.as_string()));
    }
  }
  return warnings;
}

bool is_config(const Value& object) {
  return object["kind"].as_string() == "ConfigMap" &&
         object["metadata"]["namespace"].as_string() == kNamespace;
}

}  // namespace

std::vector<Value> config_objects(const Value& section) {
  Value flags = Value::object();
  if (const Value& size = section["run"]["maxResultSize"]; size.is_number()) {
    flags.set("max-result-size", std::to_string(size.as_int()));
  }
  return {Value::object({{"apiVersion", "v1"},
                         {"kind", "Namespace"},
                         {"metadata", Value::object({{"name", kNamespace}})}}),
          config_map("config-defaults", kDefaults, section["defaults"]),
          config_map("feature-flags", kFlags, flags), config_map("config-events", kEvents, Value()),
          config_map("config-pruner", kPruner, Value()),
          config_map("config-observability", kObservability, Value()),
          // Clients read the release there: `tkn version`.
          config_map("pipelines-info", kInfo, {})};
}

std::optional<Error> validate_config(const Value& object) {
  if (!is_config(object)) {
    return std::nullopt;
  }
  const Config* config = config_of(object["metadata"]["name"].as_string());
  std::string problem =
      config == nullptr ? "" : first_problem(object["data"], config->settings, config->words);
  if (problem.empty() && config != nullptr && config->name == "config-pruner") {
    problem = both_limits(object["data"]);
  }
  if (problem.empty()) {
    return std::nullopt;
  }
  return Error::bad_request(
      "admission webhook \"config.webhook.pipeline.tekton.dev\" denied the request: validation "
      "failed: " +
      problem);
}

std::vector<std::string> config_warnings(const Value& object) {
  if (!is_config(object)) {
    return {};
  }
  const std::string_view name = object["metadata"]["name"].as_string();
  if (const Config* config = config_of(name)) {
    return ignored_keys(object["data"], config->settings, name);
  }
  if (name == "kube-root-ca.crt" || object["data"].empty()) {
    return {};
  }
  return {std::string(name) + " has no effect: of namespace " + std::string(kNamespace) +
          " the embedded engine reads ConfigMaps config-defaults, feature-flags, config-events, "
          "config-pruner and config-observability alone"};
}

}  // namespace athanor::tekton
