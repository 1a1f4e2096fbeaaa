// SPDX-License-Identifier: Apache-2.0
// Reading the environment into Settings.
#include "hearth/settings.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "api/describe_ops.hpp"
#include "base/ascii.hpp"
#include "kube/json.hpp"

namespace athanor::hearth {
namespace {

constexpr std::string_view kLogLevels[] = {"debug", "info",     "warning", "warn",
                                           "error", "critical", "fatal"};
// A longer pause than a year is a slip of the pen; the limit keeps durations in range.
constexpr double kMostSeconds = 366.0 * 24 * 3600;
constexpr std::int64_t kMostProbes = 64;

Error refuse(std::string_view variable, std::string_view value, std::string_view rule) {
  return {.code = 400,
          .reason = "InvalidSetting",
          .message = fmt::format("ERROR: {}={}: {}", variable, value, rule)};
}

// The variables by lower-case name.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& variables) {
    for (const auto& [name, value] : variables) {
      variables_[lower(name)] = value;
    }
  }
  // nullptr when absent; an empty number is an error, an empty text is none.
  [[nodiscard]] const std::string* find(std::string_view name) const {
    const auto at = variables_.find(lower(name));
    return at == variables_.end() ? nullptr : &at->second;
  }
  void text(std::string_view name, std::string& into) const {
    if (const std::string* value = find(name); value != nullptr && !value->empty()) {
      into = *value;
    }
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

Result<void> read_seconds(const Environment& environment, std::string_view name, double& into) {
  if (const std::string* text = environment.find(name)) {
    const auto number = parse_number<double>(*text);
    if (!number || !(*number > 0) || *number > kMostSeconds) {
      return refuse(name, *text, "must be a number of seconds greater than 0");
    }
    into = *number;
  }
  return {};
}

Result<void> read_whole(const Environment& environment, std::string_view name, std::int64_t most,
                        std::string_view rule, std::int64_t& into) {
  if (const std::string* text = environment.find(name)) {
    const auto number = parse_number<std::int64_t>(*text);
    if (!number || *number < 1 || *number > most) {
      return refuse(name, *text, rule);
    }
    into = *number;
  }
  return {};
}

Result<void> read_choice(const Environment& environment, std::string_view name,
                         std::string_view first, std::string_view second, std::string& into) {
  environment.text(name, into);
  if (into != first && into != second) {
    return refuse(name, into, fmt::format("must be {} or {}", first, second));
  }
  return {};
}

Result<void> read_texts(const Environment& environment, Settings& settings) {
  environment.text("HEARTH_NAMESPACE", settings.ns);
  environment.text("HEARTH_SECRETS_NAMESPACE", settings.secrets_namespace);
  environment.text("HEARTH_EXECUTION_NAMESPACE", settings.execution_namespace);
  environment.text("HEARTH_KUBECONFIG_SECRET_PATTERN", settings.secret_pattern);
  environment.text("HEARTH_KUEUE_CLUSTER_QUEUE_NAME", settings.cluster_queue);
  environment.text("HEARTH_GPU_RESOURCE_PREFIX", settings.gpu_prefix);
  environment.text("HEARTH_LOCK_JOB_PREFIX", settings.lock_prefix);
  environment.text("HEARTH_METRICS_ADDR", settings.metrics_address);
  if (settings.secret_pattern.find("{cluster}") == std::string::npos) {
    return refuse("HEARTH_KUBECONFIG_SECRET_PATTERN", settings.secret_pattern,
                  "must contain {cluster}");
  }
  if (const std::string* level = environment.find("HEARTH_LOG_LEVEL")) {
    const bool known = std::find(std::begin(kLogLevels), std::end(kLogLevels), lower(*level)) !=
                       std::end(kLogLevels);
    settings.log_level = known ? *level : "INFO";
  }
  return {};
}

Result<void> read_numbers(const Environment& environment, Settings& settings) {
  ATHANOR_TRY_VOID(read_seconds(environment, "HEARTH_RECONCILE_INTERVAL_SEC",
                                settings.reconcile_interval_seconds));
  ATHANOR_TRY_VOID(read_seconds(environment, "HEARTH_GPU_DISCOVERY_DEFAULT_INTERVAL_SEC",
                                settings.discovery_interval_seconds));
  ATHANOR_TRY_VOID(read_whole(
      environment, "HEARTH_GPU_DISCOVERY_TIMEOUT_SEC", static_cast<std::int64_t>(kMostSeconds),
      "must be a whole number of seconds greater than 0", settings.discovery_timeout_seconds));
  return read_whole(environment, "HEARTH_DISCOVERY_CONCURRENCY", kMostProbes,
                    "must be a whole number from 1 to 64", settings.discovery_concurrency);
}

Result<void> read_choices(const Environment& environment, Settings& settings) {
  ATHANOR_TRY_VOID(read_choice(environment, "HEARTH_KUBECONFIG_CHECK", "content", "exists",
                               settings.kubeconfig_check));
  ATHANOR_TRY_VOID(
      read_choice(environment, "HEARTH_OFFBOARDING", "auto", "manual", settings.offboarding));
  ATHANOR_TRY_VOID(
      read_choice(environment, "HEARTH_GPU_NODE_FILTER", "all", "ready", settings.node_filter));
  std::string allow = "false";
  ATHANOR_TRY_VOID(
      read_choice(environment, "HEARTH_ALLOW_EXEC_CREDENTIALS", "true", "false", allow));
  settings.allow_exec_credentials = allow == "true";
  return {};
}

Result<void> read_model_map(const Environment& environment, Settings& settings) {
  constexpr std::string_view kName = "HEARTH_GPU_MODEL_MAP";
  const std::string* text = environment.find(kName);
  if (text == nullptr || text->empty()) {
    return {};
  }
  const auto map = json::parse(*text);
  const std::string_view rule =
      "must be a JSON object of product labels and short names of a-z and 0-9";
  if (!map.ok() || !map->is_object()) {
    return refuse(kName, *text, rule);
  }
  for (const Member& entry : map->members()) {
    const std::string name = entry.value.str();
    if (name.empty() ||
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") != std::string::npos) {
      return refuse(kName, *text, rule);
    }
    settings.model_map[std::string(entry.key())] = name;
  }
  return {};
}

Duration seconds(double number) {
  return Duration(static_cast<std::int64_t>(std::llround(number * 1e6)));
}

}  // namespace

Duration Settings::tick() const {
  return seconds(reconcile_interval_seconds);
}

Duration Settings::discovery_interval() const {
  return seconds(discovery_interval_seconds);
}

Result<Settings> parse_settings(const std::map<std::string, std::string>& environment) {
  const Environment variables(environment);
  Settings settings;
  for (const auto read : {read_texts, read_numbers, read_choices, read_model_map}) {
    ATHANOR_TRY_VOID(read(variables, settings));
  }
  return settings;
}

}  // namespace athanor::hearth

namespace athanor::api {

const TypeInfo& Describe<hearth::Settings>::type() {
  using T = hearth::Settings;
  static const FieldInfo kFields[] = {
      field<&T::ns>("namespace", "Where FournosClusters live."),
      field<&T::secrets_namespace>("secretsNamespace", "Where kubeconfigs live."),
      field<&T::execution_namespace>("executionNamespace", "Where FournosJobs live."),
      field<&T::reconcile_interval_seconds>("reconcileIntervalSeconds", "Pace of retries."),
      field<&T::discovery_interval_seconds>("discoveryIntervalSeconds",
                                            "Time between good probes of a cluster."),
      field<&T::discovery_timeout_seconds>("discoveryTimeoutSeconds",
                                           "Time limit of one request to a cluster."),
      field<&T::log_level>("logLevel", "Least level that is logged."),
      field<&T::secret_pattern>("secretPattern", "Name of a cluster's kubeconfig Secret."),
      field<&T::cluster_queue>("clusterQueue", "ClusterQueue of the jobs."),
      field<&T::gpu_prefix>("gpuPrefix", "What stands before the GPU type in its resource name."),
      field<&T::lock_prefix>("lockPrefix", "What stands before the cluster in its lock's name."),
      field<&T::kubeconfig_check>("kubeconfigCheck", "How far a kubeconfig is looked into."),
      field<&T::offboarding>("offboarding", "Whether deleting a cluster cleans up behind it."),
      field<&T::discovery_concurrency>("discoveryConcurrency", "Probes under way at a time."),
      field<&T::node_filter>("nodeFilter", "Which nodes count."),
      field<&T::model_map>("modelMap", "Short names of product labels."),
      field<&T::allow_exec_credentials>("allowExecCredentials",
                                        "Kubeconfigs may name a program to run."),
      field<&T::metrics_address>("metricsAddress", "Where health and metrics are served."),
  };
  static const TypeInfo kType{.name = "HearthSettings", .fields = kFields};
  return kType;
}

}  // namespace athanor::api
