// SPDX-License-Identifier: Apache-2.0
// Reading the environment into Settings.
#include "systems/hearth/settings.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "api/describe_ops.hpp"
#include "base/ascii.hpp"
#include "base/environment.hpp"
#include "kube/text/json.hpp"

namespace athanor::hearth {
namespace {

constexpr std::string_view kLogLevels[] = {"debug", "info",     "warning", "warn",
                                           "error", "critical", "fatal"};
constexpr std::int64_t kMostProbes = 64;

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
    return refuse_setting("HEARTH_KUBECONFIG_SECRET_PATTERN", settings.secret_pattern,
                          "must contain {cluster}");
  }
  if (const std::string* level = environment.given("HEARTH_LOG_LEVEL")) {
    const bool known = std::find(std::begin(kLogLevels), std::end(kLogLevels), lower(*level)) !=
                       std::end(kLogLevels);
    settings.log_level = known ? *level : "INFO";
  }
  return {};
}

Result<void> read_numbers(const Environment& environment, Settings& settings) {
  ATHANOR_TRY_VOID(
      environment.seconds("HEARTH_RECONCILE_INTERVAL_SEC", settings.reconcile_interval_seconds));
  ATHANOR_TRY_VOID(environment.seconds("HEARTH_GPU_DISCOVERY_DEFAULT_INTERVAL_SEC",
                                       settings.discovery_interval_seconds));
  ATHANOR_TRY_VOID(environment.whole(
      "HEARTH_GPU_DISCOVERY_TIMEOUT_SEC", static_cast<std::int64_t>(Environment::kMostSeconds),
      "must be a whole number of seconds greater than 0", settings.discovery_timeout_seconds));
  return environment.whole("HEARTH_DISCOVERY_CONCURRENCY", kMostProbes,
                           "must be a whole number from 1 to 64", settings.discovery_concurrency);
}

Result<void> read_choices(const Environment& environment, Settings& settings) {
  ATHANOR_TRY_VOID(environment.choice("HEARTH_KUBECONFIG_CHECK", {"content", "exists"},
                                      settings.kubeconfig_check));
  ATHANOR_TRY_VOID(
      environment.choice("HEARTH_OFFBOARDING", {"auto", "manual"}, settings.offboarding));
  ATHANOR_TRY_VOID(
      environment.choice("HEARTH_GPU_NODE_FILTER", {"all", "ready"}, settings.node_filter));
  std::string allow = "false";
  ATHANOR_TRY_VOID(environment.choice("HEARTH_ALLOW_EXEC_CREDENTIALS", {"true", "false"}, allow));
  settings.allow_exec_credentials = allow == "true";
  std::string plain = "false";
  ATHANOR_TRY_VOID(environment.choice("HEARTH_ALLOW_PLAIN_HTTP", {"true", "false"}, plain));
  settings.allow_plain_http = plain == "true";
  return {};
}

Result<void> read_model_map(const Environment& environment, Settings& settings) {
  constexpr std::string_view kName = "HEARTH_GPU_MODEL_MAP";
  const std::string* text = environment.find(kName);
  if (text == nullptr) {
    return {};
  }
  const auto map = json::parse(*text);
  const std::string_view rule =
      "must be a JSON object of product labels and short names of a-z and 0-9";
  if (!map.ok() || !map->is_object()) {
    return refuse_setting(kName, *text, rule);
  }
  for (const Member& entry : map->members()) {
    const std::string name = entry.value.str();
    if (name.empty() ||
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") != std::string::npos) {
      return refuse_setting(kName, *text, rule);
    }
    settings.model_map[std::string(entry.key())] = name;
  }
  return {};
}

Duration seconds(double number) {
  return Duration(static_cast<std::int64_t>(std::llround(number * 1e6)));
}

}  // namespace

Duration Settings::context() const {
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
      field<&T::allow_plain_http>("allowPlainHttp",
                                  "Credentials may go to http:// servers unencrypted."),
      field<&T::metrics_address>("metricsAddress", "Where health and metrics are served."),
  };
  static const TypeInfo kType{.name = "HearthSettings", .fields = kFields};
  return kType;
}

}  // namespace athanor::api
