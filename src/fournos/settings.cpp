// SPDX-License-Identifier: Apache-2.0
// Reading the environment into Settings.
#include "fournos/settings.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "api/describe_ops.hpp"
#include "kube/quantity.hpp"

namespace athanor::fournos {
namespace {

constexpr std::string_view kLogLevels[] = {"DEBUG", "INFO",     "WARNING", "WARN",
                                           "ERROR", "CRITICAL", "FATAL"};
// A longer pause than a year is a slip of the pen; the limit keeps durations in range.
constexpr double kMostSeconds = 366.0 * 24 * 3600;

char upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}
std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) { return upper(c); });
  return text;
}

Error refuse(std::string_view variable, std::string_view value, std::string_view rule) {
  return {.code = 400,
          .reason = "InvalidSetting",
          .message = fmt::format("ERROR: {}={}: {}", variable, value, rule)};
}

// The variables by upper-case name.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& variables) {
    for (const auto& [name, value] : variables) {
      variables_[upper(name)] = value;
    }
  }
  // nullptr when absent or empty.
  [[nodiscard]] const std::string* find(const std::string& name) const {
    const auto at = variables_.find(name);
    return at == variables_.end() || at->second.empty() ? nullptr : &at->second;
  }
  void text(const std::string& name, std::string& into) const {
    if (const std::string* value = find(name)) {
      into = *value;
    }
  }
  // A set but empty value counts: the gc interval may not be "".
  [[nodiscard]] const std::string* given(const std::string& name) const {
    const auto at = variables_.find(name);
    return at == variables_.end() ? nullptr : &at->second;
  }

 private:
  std::map<std::string, std::string> variables_{};
};

template <class Number>
std::optional<Number> parse_number(const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

Result<void> read_namespaces(const Environment& environment, Settings& settings) {
  const std::string* seed = environment.find("FOURNOS_NAMESPACE");
  const std::string* current = environment.find("FOURNOS_WORKLOAD_NAMESPACE");
  if (seed == nullptr && current == nullptr) {
    const std::string_view name = settings.api() == api::FournosApi::Seed
                                      ? "FOURNOS_NAMESPACE"
                                      : "FOURNOS_WORKLOAD_NAMESPACE";
    return Error{.code = 400,
                 .reason = "MissingSetting",
                 .message = fmt::format("ERROR: {} env var is required", name)};
  }
  if (seed != nullptr && current != nullptr && *seed != *current) {
    return refuse("FOURNOS_NAMESPACE", *seed,
                  fmt::format("differs from FOURNOS_WORKLOAD_NAMESPACE={}", *current));
  }
  settings.workload_namespace = current != nullptr ? *current : *seed;
  environment.text("FOURNOS_SECRETS_NAMESPACE", settings.secrets_namespace);
  return {};
}

Result<void> read_choices(const Environment& environment, Settings& settings) {
  environment.text("FOURNOS_API", settings.api_name);
  if (settings.api_name != "auto" && settings.api_name != "seed" &&
      settings.api_name != "current") {
    return refuse("FOURNOS_API", settings.api_name, "must be auto, seed or current");
  }
  environment.text("FOURNOS_EVICTION_POLICY", settings.eviction_policy_name);
  const std::string& policy = settings.eviction_policy_name;
  if (policy != "requeue" && policy != "fail" && policy != "ignore") {
    return refuse("FOURNOS_EVICTION_POLICY", policy, "must be requeue, fail or ignore");
  }
  environment.text("FOURNOS_LOG_LEVEL", settings.log_level);
  settings.log_level = upper(settings.log_level);
  if (std::find(std::begin(kLogLevels), std::end(kLogLevels), settings.log_level) ==
      std::end(kLogLevels)) {
    return refuse("FOURNOS_LOG_LEVEL", settings.log_level, "is not a log level");
  }
  return {};
}

Result<void> read_numbers(const Environment& environment, Settings& settings) {
  if (const std::string* text = environment.given("FOURNOS_GC_INTERVAL_SEC")) {
    const auto number = parse_number<double>(*text);
    if (!number || !(*number > 0) || *number > kMostSeconds) {
      return refuse("FOURNOS_GC_INTERVAL_SEC", *text, "must be a number of seconds greater than 0");
    }
    settings.gc_interval_seconds = *number;
  }
  if (const std::string* text = environment.given("FOURNOS_RESOLVE_DEADLINE_SEC")) {
    const auto number = parse_number<std::int64_t>(*text);
    if (!number || *number <= 0) {
      return refuse("FOURNOS_RESOLVE_DEADLINE_SEC", *text,
                    "must be a whole number of seconds greater than 0");
    }
    settings.resolve_deadline_seconds = *number;
  }
  if (const std::string* text = environment.find("FOURNOS_ARTIFACT_PVC_SIZE")) {
    const auto size = Quantity::parse(std::string_view(*text));
    if (!size || size->is_zero() || size->is_negative()) {
      return refuse("FOURNOS_ARTIFACT_PVC_SIZE", *text, "must be a quantity greater than 0");
    }
    settings.artifact_size = *text;
  }
  return {};
}

Result<Duration> read_timeout(const Environment& environment, const std::string& name,
                              std::string& text) {
  environment.text(name, text);
  const auto duration = parse_go_duration(text);
  if (!duration.ok() || *duration < Duration::zero()) {
    return refuse(name, text, "must be a duration such as 1h30m");
  }
  return *duration;
}

// Tekton refuses every PipelineRun whose parts take longer than the whole (R3.3). Zero means no
// limit.
Result<void> read_timeouts(const Environment& environment, Settings& settings) {
  ATHANOR_TRY(const Duration whole,
              read_timeout(environment, "FOURNOS_PIPELINE_TIMEOUT", settings.pipeline_timeout));
  ATHANOR_TRY(const Duration tasks,
              read_timeout(environment, "FOURNOS_PIPELINE_TASKS_TIMEOUT", settings.tasks_timeout));
  ATHANOR_TRY(const Duration last, read_timeout(environment, "FOURNOS_PIPELINE_FINALLY_TIMEOUT",
                                                settings.finally_timeout));
  if (whole != Duration::zero() && tasks + last > whole) {
    return refuse("FOURNOS_PIPELINE_TIMEOUT", settings.pipeline_timeout,
                  fmt::format("must be at least FOURNOS_PIPELINE_TASKS_TIMEOUT={} plus "
                              "FOURNOS_PIPELINE_FINALLY_TIMEOUT={}",
                              settings.tasks_timeout, settings.finally_timeout));
  }
  return {};
}

Result<void> read_texts(const Environment& environment, Settings& settings) {
  environment.text("FOURNOS_TEKTON_DASHBOARD_URL", settings.dashboard_url);
  environment.text("FOURNOS_KUBECONFIG_SECRET_PATTERN", settings.kubeconfig_secret_pattern);
  environment.text("FOURNOS_VAULT_SECRET_PATTERN", settings.vault_secret_pattern);
  environment.text("FOURNOS_KUEUE_LOCAL_QUEUE_NAME", settings.local_queue);
  environment.text("FOURNOS_GPU_RESOURCE_PREFIX", settings.gpu_prefix);
  environment.text("FOURNOS_RESOLVE_JOB_TEMPLATE", settings.resolve_template_path);
  return {};
}

}  // namespace

api::FournosApi Settings::api() const {
  if (api_name == "seed") {
    return api::FournosApi::Seed;
  }
  return api_name == "current" ? api::FournosApi::Current : api::FournosApi::Auto;
}

EvictionPolicy Settings::eviction_policy() const {
  if (eviction_policy_name == "fail") {
    return EvictionPolicy::Fail;
  }
  return eviction_policy_name == "ignore" ? EvictionPolicy::Ignore : EvictionPolicy::Requeue;
}

Duration Settings::gc_interval() const {
  return Duration(static_cast<std::int64_t>(std::llround(gc_interval_seconds * 1e6)));
}

Result<Settings> parse_settings(const std::map<std::string, std::string>& environment) {
  const Environment variables(environment);
  Settings settings;
  for (const auto read : {read_choices, read_namespaces, read_numbers, read_timeouts, read_texts}) {
    ATHANOR_TRY_VOID(read(variables, settings));
  }
  return settings;
}

}  // namespace athanor::fournos

namespace athanor::api {

const TypeInfo& Describe<fournos::Settings>::type() {
  using T = fournos::Settings;
  static const FieldInfo kFields[] = {
      field<&T::workload_namespace>("workloadNamespace", "Where jobs live."),
      field<&T::secrets_namespace>("secretsNamespace", "Where kubeconfigs and vault secrets live."),
      field<&T::dashboard_url>("dashboardURL", "Base of the Tekton dashboard."),
      field<&T::kubeconfig_secret_pattern>("kubeconfigSecretPattern",
                                           "Name of a cluster's kubeconfig Secret."),
      field<&T::vault_secret_pattern>("vaultSecretPattern", "Name of a vault entry's Secret."),
      field<&T::local_queue>("localQueue", "LocalQueue of the jobs."),
      field<&T::gpu_prefix>("gpuPrefix", "What stands before the GPU type in its resource name."),
      field<&T::log_level>("logLevel", "Least level that is logged."),
      field<&T::gc_interval_seconds>("gcIntervalSeconds",
                                     "Age at which a child without a job is removed."),
      field<&T::resolve_deadline_seconds>("resolveDeadlineSeconds", "Time limit of a resolve Job."),
      field<&T::resolve_template_path>("resolveTemplatePath",
                                       "File of the resolve Job's template."),
      field<&T::resolve_template>("resolveTemplate", "The resolve Job's template."),
      field<&T::artifact_size>("artifactSize", "Size of the artifacts volume."),
      field<&T::pipeline_timeout>("pipelineTimeout", "Time limit of a PipelineRun."),
      field<&T::tasks_timeout>("tasksTimeout", "Time limit of its tasks."),
      field<&T::finally_timeout>("finallyTimeout", "Time limit of its final tasks."),
      field<&T::api_name>("api", "Dialect that is served."),
      field<&T::eviction_policy_name>("evictionPolicy", "What happens to an evicted run."),
  };
  static const TypeInfo kType{.name = "FournosSettings", .fields = kFields};
  return kType;
}

}  // namespace athanor::api
