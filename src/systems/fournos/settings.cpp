// SPDX-License-Identifier: Apache-2.0
// Reading the environment into Settings.
#include "systems/fournos/settings.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "api/describe_ops.hpp"
#include "base/environment.hpp"
#include "kube/text/quantity.hpp"

namespace athanor::fournos {
namespace {

constexpr std::string_view kLogLevels[] = {"DEBUG", "INFO",     "WARNING", "WARN",
                                           "ERROR", "CRITICAL", "FATAL"};
char upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}
std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) { return upper(c); });
  return text;
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
    return refuse_setting("FOURNOS_NAMESPACE", *seed,
                          fmt::format("differs from FOURNOS_WORKLOAD_NAMESPACE={}", *current));
  }
  settings.workload_namespace = current != nullptr ? *current : *seed;
  environment.text("FOURNOS_SECRETS_NAMESPACE", settings.secrets_namespace);
  return {};
}

Result<void> read_choices(const Environment& environment, Settings& settings) {
  ATHANOR_TRY_VOID(
      environment.choice("FOURNOS_API", {"auto", "seed", "current"}, settings.api_name));
  ATHANOR_TRY_VOID(environment.choice("FOURNOS_EVICTION_POLICY", {"requeue", "fail", "ignore"},
                                      settings.eviction_policy_name));
  ATHANOR_TRY_VOID(environment.choice("FOURNOS_NOTIFY_FORMAT", {"json", "cloudevents"},
                                      settings.notify_format_name));
  environment.text("FOURNOS_LOG_LEVEL", settings.log_level);
  settings.log_level = upper(settings.log_level);
  if (std::find(std::begin(kLogLevels), std::end(kLogLevels), settings.log_level) ==
      std::end(kLogLevels)) {
    return refuse_setting("FOURNOS_LOG_LEVEL", settings.log_level, "is not a log level");
  }
  return {};
}

Result<void> read_numbers(const Environment& environment, Settings& settings) {
  ATHANOR_TRY_VOID(environment.seconds("FOURNOS_GC_INTERVAL_SEC", settings.gc_interval_seconds));
  // Zero, which other pauses must not be, removes copies at once.
  const std::string* grace = environment.given("FOURNOS_SECRET_GRACE_SEC");
  if (grace != nullptr && *grace == "0") {
    settings.secret_grace_seconds = 0;
  } else {
    ATHANOR_TRY_VOID(
        environment.seconds("FOURNOS_SECRET_GRACE_SEC", settings.secret_grace_seconds));
  }
  ATHANOR_TRY_VOID(environment.whole(
      "FOURNOS_RESOLVE_DEADLINE_SEC", std::numeric_limits<std::int64_t>::max(),
      "must be a whole number of seconds greater than 0", settings.resolve_deadline_seconds));
  if (const std::string* text = environment.find("FOURNOS_ARTIFACT_PVC_SIZE")) {
    const auto size = Quantity::parse(std::string_view(*text));
    if (!size || size->is_zero() || size->is_negative()) {
      return refuse_setting("FOURNOS_ARTIFACT_PVC_SIZE", *text,
                            "must be a quantity greater than 0");
    }
    settings.artifact_size = *text;
  }
  return {};
}

// "poll" has the pace of upstream's operator, which looks at each job every five seconds.
Result<void> read_pace(const Environment& environment, Settings& settings) {
  constexpr double kPollSeconds = 5;
  std::string mode = "event";
  ATHANOR_TRY_VOID(environment.choice("FOURNOS_RECONCILE_MODE", {"event", "poll"}, mode));
  settings.min_phase_seconds = mode == "poll" ? kPollSeconds : 0;
  const std::string* least = environment.given("FOURNOS_MIN_PHASE_SEC");
  if (least != nullptr && *least == "0") {
    settings.min_phase_seconds = 0;
    return {};
  }
  return environment.seconds("FOURNOS_MIN_PHASE_SEC", settings.min_phase_seconds);
}

Result<Duration> read_timeout(const Environment& environment, const std::string& name,
                              std::string& text) {
  environment.text(name, text);
  const auto duration = parse_go_duration(text);
  if (!duration.ok() || *duration < Duration::zero()) {
    return refuse_setting(name, text, "must be a duration such as 1h30m");
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
    return refuse_setting("FOURNOS_PIPELINE_TIMEOUT", settings.pipeline_timeout,
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
  environment.text("FOURNOS_RESULTS_CLAIM", settings.results_claim);
  environment.text("FOURNOS_NOTIFY_URL", settings.notify_url);
  if (!settings.notify_url.empty() && !settings.notify_url.starts_with("https://") &&
      !settings.notify_url.starts_with("http://")) {
    return refuse_setting("FOURNOS_NOTIFY_URL", settings.notify_url,
                          "must be an http or https address");
  }
  return {};
}

}  // namespace

api::FournosApi Settings::api() const {
  if (api_name == "seed") {
    return api::FournosApi::Seed;
  }
  return api_name == "current" ? api::FournosApi::Current : api::FournosApi::Auto;
}

NotifyFormat Settings::notify_format() const {
  return notify_format_name == "cloudevents" ? NotifyFormat::CloudEvents : NotifyFormat::Json;
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

Duration Settings::least_phase_time() const {
  return Duration(static_cast<std::int64_t>(std::llround(min_phase_seconds * 1e6)));
}

Duration Settings::secret_grace() const {
  return Duration(static_cast<std::int64_t>(std::llround(secret_grace_seconds * 1e6)));
}

Result<Settings> parse_settings(const std::map<std::string, std::string>& environment) {
  const Environment variables(environment);
  Settings settings;
  for (const auto read :
       {read_choices, read_namespaces, read_numbers, read_pace, read_timeouts, read_texts}) {
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
      field<&T::secret_grace_seconds>("secretGraceSeconds",
                                      "How long copies of Secrets outlive the end of their job."),
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
      field<&T::min_phase_seconds>("minPhaseSeconds",
                                   "How long a job stays in each phase at least."),
      field<&T::results_claim>("resultsClaim",
                               "PersistentVolumeClaim of the files that runs leave."),
      field<&T::notify_url>("notifyURL", "Webhook that the end of each job is posted to."),
      field<&T::notify_format_name>("notifyFormat", "Form of what is posted."),
      field<&T::second_look_seconds>("secondLookSeconds",
                                     "How often a live job is looked at at least."),
  };
  static const TypeInfo kType{.name = "FournosSettings", .fields = kFields};
  return kType;
}

}  // namespace athanor::api
