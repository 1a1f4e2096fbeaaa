// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/model/settings.hpp"

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "api/builtin.hpp"
#include "base/ascii.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::tekton {
namespace {

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

void set_profile(Settings& settings, std::string_view profile) {
  if (profile != "v1.9" && profile != "current") {
    return;
  }
  const bool current = profile == "current";
  settings.finally_after_tasks_timeout = current;
  settings.task_timeout_follows_tasks = current;
  settings.results_of_failed_tasks = current;
  settings.result_validation_details = current;
  settings.precise_failure_reasons = current;
}

void set_defaults(Settings& settings, const Value& data) {
  if (const auto minutes = number_of(data["default-timeout-minutes"].as_string())) {
    settings.default_timeout = std::chrono::minutes(*minutes);
  }
  if (const auto& account = data["default-service-account"]; !account.as_string().empty()) {
    settings.default_service_account = account.str();
  }
  if (const auto& manager = data["default-managed-by-label-value"]; !manager.as_string().empty()) {
    settings.managed_by = manager.str();
  }
  if (const auto most = number_of(data["default-max-matrix-combinations-count"].as_string())) {
    settings.max_combinations = *most;
  }
  if (const auto& resolver = data["default-resolver-type"]; !resolver.as_string().empty()) {
    settings.default_resolver = resolver.str();
  }
  if (const auto& text = data["default-task-run-workspace-binding"]; !text.as_string().empty()) {
    if (auto binding = yaml::parse(text.as_string()); binding && binding->is_object()) {
      settings.default_binding = *std::move(binding);
    }
  }
  if (const auto& names = data["default-forbidden-env"]; !names.as_string().empty()) {
    settings.forbidden_env.clear();
    for (const std::string_view name : athanor::words_of(names.as_string(), ',')) {
      settings.forbidden_env.emplace(trimmed(name));
    }
  }
  if (const auto& text = data["default-pod-template"]; !text.as_string().empty()) {
    if (auto pod_template = yaml::parse(text.as_string())) {
      settings.default_pod_template = *std::move(pod_template);
    }
  }
}

// Go's strconv.ParseBool.
std::optional<bool> flag_of(std::string_view text) {
  for (const std::string_view word : {"true", "True", "TRUE", "t", "T", "1"}) {
    if (text == word) {
      return true;
    }
  }
  return text.empty() ? std::nullopt : std::optional(false);
}

void set_flags(Settings& settings, const Value& data) {
  settings.max_result_size =
      number_of(data["max-result-size"].as_string()).value_or(settings.max_result_size);
  if (data["enable-api-fields"].as_string() == "alpha") {
    settings.api_fields = "alpha";
  }
  settings.param_enum =
      flag_of(data["enable-param-enum"].as_string()).value_or(settings.param_enum);
  settings.cel_when =
      flag_of(data["enable-cel-in-whenexpression"].as_string()).value_or(settings.cel_when);
  settings.provenance_in_status = flag_of(data["enable-provenance-in-status"].as_string())
                                      .value_or(settings.provenance_in_status);
  settings.no_inline_spec = data["disable-inline-spec"].str();
  settings.artifacts = flag_of(data["enable-artifacts"].as_string()).value_or(settings.artifacts);
  settings.custom_run_events =
      flag_of(data["send-cloudevents-for-runs"].as_string()).value_or(settings.custom_run_events);
  settings.credentials =
      !flag_of(data["disable-creds-init"].as_string()).value_or(!settings.credentials);
}

Value data_of(const View& view, std::string_view name) {
  const auto config = view.get(api::kConfigMap, Key{"tekton-pipelines", std::string(name)});
  return config ? config->body()["data"] : Value();
}

}  // namespace

Settings settings_of(const Value& section, const Value& config_defaults, const Value& feature_flags,
                     const Value& config_events) {
  Settings settings;
  set_profile(settings, section["run"]["profile"].as_string());
  settings.max_result_size = section["run"]["maxResultSize"].as_int(settings.max_result_size);
  if (const auto grace = parse_go_duration(section["run"]["startupGrace"].as_string())) {
    settings.startup_grace = *grace;
  }
  set_defaults(settings, section["defaults"]);
  set_defaults(settings, config_defaults);
  set_flags(settings, feature_flags);
  const Value& sink = config_events["sink"];
  settings.event_sink =
      (sink.as_string().empty() ? config_defaults["default-cloud-events-sink"] : sink).str();
  return settings;
}

Settings read_settings(const View& view) {
  return settings_of(view.config("tekton"), data_of(view, "config-defaults"),
                     data_of(view, "feature-flags"), data_of(view, "config-events"));
}

bool forbids_inline_spec(const Settings& settings, std::string_view kind) {
  const std::string kinds = "," + settings.no_inline_spec + ",";
  return kinds.find("," + std::string(kind) + ",") != std::string::npos;
}

void add_provenance(const Value& shown, const Value& source, const Settings& settings,
                    Value& status) {
  const Value& known = shown["provenance"];
  const bool complete = known.is_object() && (source.is_null() || known.contains("refSource"));
  if (!settings.provenance_in_status || complete) {
    return;
  }
  Value provenance =
      known.is_object() ? known : Value::object({{"featureFlags", feature_flags(settings)}});
  if (!source.is_null()) {
    provenance.set("refSource", source);
  }
  status.set("provenance", std::move(provenance));
}

Value feature_flags(const Settings& settings) {
  Value flags = Value::object({
      {"awaitSidecarReadiness", true},
      {"coschedule", "disabled"},
      {"enableAPIFields", settings.api_fields},
      {"enableProvenanceInStatus", true},
      {"enforceNonfalsifiability", "none"},
      {"maxResultSize", settings.max_result_size},
      {"resultExtractionMethod", "termination-message"},
      {"runningInEnvWithInjectedSidecars", true},
      {"verificationNoMatchPolicy", "ignore"},
  });
  const std::pair<std::string_view, bool> more[] = {
      {"disableCredsInit", !settings.credentials},
      {"enableArtifacts", settings.artifacts},
      {"enableCELInWhenExpression", settings.cel_when},
      {"enableParamEnum", settings.param_enum},
      {"sendCloudEventsForRuns", settings.custom_run_events}};
  for (const auto& [name, set] : more) {
    if (set) {
      flags.set(name, true);
    }
  }
  return flags;
}

}  // namespace athanor::tekton
