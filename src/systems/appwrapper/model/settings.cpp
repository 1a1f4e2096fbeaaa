// SPDX-License-Identifier: Apache-2.0
// Reading of settings, and the checks of the start (docs/spec/appwrapper.md 8.2).
#include "systems/appwrapper/model/settings.hpp"

#include <fmt/core.h>

#include <utility>

#include "base/check.hpp"
#include "kube/names/selector.hpp"

namespace athanor::appwrapper {
namespace {

Error wrong(std::string_view key, std::string_view what) {
  return Error::invalid(fmt::format("appwrapper.{}", key), what);
}

// An object with members, or Null.
Result<void> check_map(const Value& value, std::string_view key) {
  return value.is_object() || value.is_null() ? Result<void>() : wrong(key, "must be a map");
}

// Integers are nanoseconds; texts are Go durations (B-10).
Result<void> read_duration(const Value& group, std::string_view key, Duration& into) {
  const Value& value = group[key];
  if (value.is_null()) {
    return {};
  }
  const std::string path = fmt::format("faultTolerance.{}", key);
  if (value.is_integer()) {
    into = std::chrono::duration_cast<Duration>(std::chrono::nanoseconds(value.as_int()));
    return {};
  }
  if (!value.is_string()) {
    return wrong(path, "must be a duration");
  }
  const auto parsed = parse_go_duration(value.as_string());
  if (!parsed.ok()) {
    return wrong(path, parsed.error().message);
  }
  into = *parsed;
  return {};
}

Result<void> read_integer(const Value& group, std::string_view key, std::string_view path,
                          std::int64_t& into) {
  const Value& value = group[key];
  if (value.is_null()) {
    return {};
  }
  if (!value.is_integer()) {
    return wrong(path, "must be an integer");
  }
  into = value.as_int();
  return {};
}

// `group`: where it is, for the error; empty: at the top.
Result<void> read_flag(const Value& from, std::string_view group, std::string_view key,
                       bool& into) {
  const Value& value = from[key];
  if (value.is_null()) {
    return {};
  }
  if (!value.is_bool()) {
    return wrong(fmt::format("{}{}{}", group, group.empty() ? "" : ".", key),
                 "must be true or false");
  }
  into = value.as_bool();
  return {};
}

Result<void> read_text(const Value& group, std::string_view key, std::string& into) {
  const Value& value = group[key];
  if (value.is_null()) {
    return {};
  }
  if (!value.is_string()) {
    return wrong(key, "must be a string");
  }
  into = value.str();
  return {};
}

Result<void> read_fault_tolerance(const Value& group, FaultTolerance& into) {
  ATHANOR_TRY_VOID(check_map(group, "faultTolerance"));
  const std::pair<std::string_view, Duration*> durations[] = {
      {"admissionGracePeriod", &into.admission_grace}, {"warmupGracePeriod", &into.warmup_grace},
      {"failureGracePeriod", &into.failure_grace},     {"resetPause", &into.reset_pause},
      {"deletionGracePeriod", &into.deletion_grace},   {"gracePeriodCeiling", &into.grace_ceiling},
      {"successTTLCeiling", &into.success_ttl}};
  for (const auto& [key, duration] : durations) {
    ATHANOR_TRY_VOID(read_duration(group, key, *duration));
  }
  ATHANOR_TRY_VOID(
      read_integer(group, "retryLimit", "faultTolerance.retryLimit", into.retry_limit));
  if (!std::in_range<std::int32_t>(into.retry_limit)) {
    return wrong("faultTolerance.retryLimit",
                 fmt::format("{} does not fit into 32 bits", into.retry_limit));
  }
  ATHANOR_TRY_VOID(
      read_flag(group, "faultTolerance", "deleteAfterSuccessTTL", into.delete_after_success));
  return read_flag(group, "faultTolerance", "deleteForeignComponents", into.delete_foreign);
}

// Two settings of which the first must not be longer than the second.
Result<void> check_order(std::string_view a, Duration first, std::string_view b, Duration second) {
  if (first > second) {
    return wrong(fmt::format("faultTolerance.{}", a),
                 fmt::format("{} is longer than {} ({})", format_go_duration(first), b,
                             format_go_duration(second)));
  }
  return {};
}

Result<void> check(const FaultTolerance& times) {
  const std::pair<std::string_view, Duration> graces[] = {
      {"deletionGracePeriod", times.deletion_grace},
      {"resetPause", times.reset_pause},
      {"failureGracePeriod", times.failure_grace},
      {"admissionGracePeriod", times.admission_grace},
      {"warmupGracePeriod", times.warmup_grace}};
  for (const auto& [key, grace] : graces) {
    ATHANOR_TRY_VOID(check_order(key, grace, "gracePeriodCeiling", times.grace_ceiling));
  }
  ATHANOR_TRY_VOID(check_order("admissionGracePeriod", times.admission_grace, "warmupGracePeriod",
                               times.warmup_grace));
  if (times.success_ttl <= Duration::zero()) {
    return wrong("faultTolerance.successTTLCeiling",
                 fmt::format("{} is not positive", format_go_duration(times.success_ttl)));
  }
  return {};
}

Result<ResourceTaint> read_taint(const Value& taint, const std::string& at) {
  if (!taint.is_object()) {
    return wrong(at, "must be a map");
  }
  ResourceTaint read;
  const std::pair<std::string_view, std::string*> members[] = {
      {"key", &read.key}, {"value", &read.value}, {"effect", &read.effect}};
  for (const auto& [key, into] : members) {
    const Value& value = taint[key];
    if (!value.is_string() && !value.is_null()) {
      return wrong(fmt::format("{}.{}", at, key), "must be a string");
    }
    *into = value.str();
  }
  if (read.key.empty()) {
    return wrong(at + ".key", "is required");
  }
  if (read.effect != "NoSchedule" && read.effect != "PreferNoSchedule" &&
      read.effect != "NoExecute") {
    return wrong(
        at + ".effect",
        fmt::format("\"{}\" is none of NoSchedule, PreferNoSchedule, NoExecute", read.effect));
  }
  return read;
}

Result<void> read_taints(const Value& resources, Autopilot& into) {
  constexpr std::string_view kTaints = "autopilot.resourceTaints";
  ATHANOR_TRY_VOID(check_map(resources, kTaints));
  for (const Member& entry : resources.members()) {
    const std::string at = fmt::format("{}.{}", kTaints, entry.key());
    if (!entry.value.is_list() && !entry.value.is_null()) {
      return wrong(at, "must be a list");
    }
    std::vector<ResourceTaint>& taints = into.resource_taints[std::string(entry.key())];
    taints.clear();
    for (std::size_t i = 0; i < entry.value.size(); ++i) {
      ATHANOR_TRY(ResourceTaint taint, read_taint(entry.value[i], fmt::format("{}[{}]", at, i)));
      taints.push_back(std::move(taint));
    }
  }
  return {};
}

Result<void> read_autopilot(const Value& config, Autopilot& into) {
  constexpr std::string_view kGroup = "autopilot";
  constexpr std::int64_t kMostWeight = 100;  // of a preferred term of node affinity
  const Value* group = config.find(kGroup);
  if (group == nullptr) {
    return {};
  }
  if (group->is_null()) {
    into.enabled = false;
    return {};
  }
  ATHANOR_TRY_VOID(check_map(*group, kGroup));
  ATHANOR_TRY_VOID(read_flag(*group, kGroup, "injectAntiAffinities", into.inject_anti_affinities));
  ATHANOR_TRY_VOID(read_flag(*group, kGroup, "monitorNodes", into.monitor_nodes));
  ATHANOR_TRY_VOID(
      read_flag(*group, kGroup, "evacuateUnreachableNodes", into.evacuate_unreachable));
  if (const Value* weight = group->find("preferNoScheduleWeight")) {
    into.prefer_no_schedule_weight = 1;  // of Null
    ATHANOR_TRY_VOID(read_integer(*group, "preferNoScheduleWeight",
                                  "autopilot.preferNoScheduleWeight",
                                  into.prefer_no_schedule_weight));
    if (into.prefer_no_schedule_weight < 1 || into.prefer_no_schedule_weight > kMostWeight) {
      return wrong("autopilot.preferNoScheduleWeight",
                   fmt::format("{} is not in 1..{}", weight->as_int(), kMostWeight));
    }
  }
  return read_taints((*group)["resourceTaints"], into);
}

// Everywhere but where the cluster's own and the queueing's pods are (8.2).
Value default_namespaces() {
  return Value::object(
      {{"matchExpressions",
        Value::list({Value::object(
            {{"key", "kubernetes.io/metadata.name"},
             {"operator", "NotIn"},
             {"values", Value::list({"kube-system", "kueue-system", "appwrapper-system"})}})})}});
}

Result<void> read_labels(const Value& list, std::vector<std::string>& into) {
  if (!list.is_list() && !list.is_null()) {
    return wrong("kueueJobReconciller.labelKeysToCopy", "must be a list");
  }
  for (const Value& label : list.items()) {
    if (!label.is_string()) {
      return wrong("kueueJobReconciller.labelKeysToCopy", "must be a list of strings");
    }
    into.push_back(label.str());
  }
  return {};
}

Result<void> read_queueing(const Value& config, Queueing& into) {
  constexpr std::string_view kGroup = "kueueJobReconciller";
  constexpr std::string_view kReady = "waitForPodsReady";
  ATHANOR_TRY_VOID(read_flag(config, "", "enableKueueIntegrations", into.integrated));
  const Value& group = config[kGroup];
  ATHANOR_TRY_VOID(check_map(group, kGroup));
  ATHANOR_TRY_VOID(check_map(group[kReady], fmt::format("{}.{}", kGroup, kReady)));
  if (!into.integrated) {
    return {};  // Kueue's own configuration counts
  }
  into.without_queue = true;
  ATHANOR_TRY_VOID(read_flag(group, kGroup, "manageJobsWithoutQueueName", into.without_queue));
  const Value& selector = group["manageJobsNamespaceSelector"];
  into.namespaces = selector.is_null() ? default_namespaces() : selector;
  if (const auto parsed = LabelSelector::from_value(into.namespaces); !parsed.ok()) {
    return wrong("kueueJobReconciller.manageJobsNamespaceSelector", parsed.error().message);
  }
  ATHANOR_TRY_VOID(read_flag(group[kReady], fmt::format("{}.{}", kGroup, kReady), "enable",
                             into.wait_for_pods_ready));
  return read_labels(group["labelKeysToCopy"], into.copied_labels);
}

}  // namespace

std::map<std::string, std::vector<ResourceTaint>> default_taints() {
  const std::string key = "autopilot.ibm.com/gpuhealth";
  return {{"nvidia.com/gpu",
           {{key, "WARN", "PreferNoSchedule"},
            {key, "TESTING", "NoSchedule"},
            {key, "EVICT", "NoExecute"}}}};
}

Result<Settings> read_settings(const Value& config) {
  if (!config.is_object() && !config.is_null()) {
    return Error::invalid("appwrapper", "must be a map");
  }
  Settings settings;
  settings.autopilot.resource_taints = default_taints();
  ATHANOR_TRY_VOID(read_fault_tolerance(config["faultTolerance"], settings.fault_tolerance));
  ATHANOR_TRY_VOID(check(settings.fault_tolerance));
  ATHANOR_TRY_VOID(read_autopilot(config, settings.autopilot));
  ATHANOR_TRY_VOID(read_flag(config, "", "userRBACAdmissionCheck", settings.user_rbac_check));
  ATHANOR_TRY_VOID(read_flag(config, "", "strictKinds", settings.strict_kinds));
  ATHANOR_TRY_VOID(read_integer(config, "maxPodSets", "maxPodSets", settings.max_pod_sets));
  if (settings.max_pod_sets < 1 || settings.max_pod_sets > 18) {
    return wrong("maxPodSets", fmt::format("{} is not in 1..18", settings.max_pod_sets));
  }
  ATHANOR_TRY_VOID(read_text(config, "schedulerName", settings.scheduler_name));
  ATHANOR_TRY_VOID(read_text(config, "defaultQueueName", settings.default_queue_name));
  ATHANOR_TRY_VOID(read_text(config, "slackQueueName", settings.slack_queue_name));
  if (!settings.slack_queue_name.empty() &&
      !(settings.autopilot.enabled && settings.autopilot.monitor_nodes)) {
    return wrong("slackQueueName", "needs appwrapper.autopilot.monitorNodes: true");
  }
  ATHANOR_TRY_VOID(read_queueing(config, settings.queueing));
  return settings;
}

Settings settings_of(const View& view) {
  auto settings = read_settings(view.config(kSection));
  ATHANOR_CHECK(settings.ok(), "settings are checked when the program starts");
  return *std::move(settings);
}

}  // namespace athanor::appwrapper
