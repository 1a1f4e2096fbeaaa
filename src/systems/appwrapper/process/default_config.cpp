// SPDX-License-Identifier: Apache-2.0
#include "systems/appwrapper/process/default_config.hpp"

#include <fmt/core.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "systems/appwrapper/model/settings.hpp"

namespace athanor::appwrapper {
namespace {

// As upstream's configuration has durations.
std::int64_t nanoseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

Value fault_tolerance() {
  const FaultTolerance defaults;
  return Value::object({{"admissionGracePeriod", nanoseconds(defaults.admission_grace)},
                        {"warmupGracePeriod", nanoseconds(defaults.warmup_grace)},
                        {"failureGracePeriod", nanoseconds(defaults.failure_grace)},
                        {"resetPause", nanoseconds(defaults.reset_pause)},
                        {"retryLimit", defaults.retry_limit},
                        {"deletionGracePeriod", nanoseconds(defaults.deletion_grace)},
                        {"gracePeriodCeiling", nanoseconds(defaults.grace_ceiling)},
                        {"successTTLCeiling", nanoseconds(defaults.success_ttl)}});
}

Value autopilot() {
  const Autopilot defaults;
  Value taints = Value::object();
  for (const auto& [resource, list] : default_taints()) {
    Value items = Value::list();
    for (const ResourceTaint& taint : list) {
      items.push_back(
          Value::object({{"key", taint.key}, {"value", taint.value}, {"effect", taint.effect}}));
    }
    taints.set(resource, std::move(items));
  }
  return Value::object({{"injectAntiAffinities", defaults.inject_anti_affinities},
                        {"monitorNodes", defaults.monitor_nodes},
                        {"resourceTaints", std::move(taints)},
                        {"preferNoScheduleWeight", defaults.prefer_no_schedule_weight}});
}

void merge(Value& into, const Value& from) {
  for (const Member& member : from.members()) {
    Value& target = into.member(member.key());
    if (target.is_object() && member.value.is_object()) {
      merge(target, member.value);
    } else {
      target = member.value;
    }
  }
}

// Every setting: those of the document that is made, and those without a place in it.
Value known_config() {
  Value known = default_config("");
  merge(
      known,
      Value::object(
          {{"appwrapper",
            Value::object({{"slackQueueName", ""},
                           {"strictKinds", false},
                           {"maxPodSets", 8},
                           {"autopilot", Value::object({{"evacuateUnreachableNodes", false}})},
                           {"faultTolerance", Value::object({{"deleteAfterSuccessTTL", false},
                                                             {"deleteForeignComponents", false}})},
                           {"kueueJobReconciller",
                            Value::object({{"manageJobsWithoutQueueName", true},
                                           {"manageJobsNamespaceSelector", Value()},
                                           {"waitForPodsReady", Value::object({{"enable", true}})},
                                           {"labelKeysToCopy", Value::list()}})}})}}));
  return known;
}

void collect_unknown(const Value& config, const Value& known, const std::string& at,
                     std::vector<std::string>& unknown);

// Every resource has a list of taints.
void collect_unknown_of_taints(const Value& resources, const std::string& at,
                               std::vector<std::string>& unknown) {
  static const Value kTaint = Value::object({{"key", ""}, {"value", ""}, {"effect", ""}});
  for (const Member& resource : resources.members()) {
    for (std::size_t i = 0; i < resource.value.size(); ++i) {
      collect_unknown(resource.value[i], kTaint, fmt::format("{}.{}[{}]", at, resource.key(), i),
                      unknown);
    }
  }
}

void collect_unknown(const Value& config, const Value& known, const std::string& at,
                     std::vector<std::string>& unknown) {
  for (const Member& member : config.members()) {
    const std::string path =
        at.empty() ? std::string(member.key()) : fmt::format("{}.{}", at, member.key());
    const Value* there = known.find(member.key());
    if (there == nullptr) {
      unknown.push_back(path);
    } else if (path == "appwrapper.autopilot.resourceTaints") {
      collect_unknown_of_taints(member.value, path, unknown);
    } else if (there->is_object()) {
      collect_unknown(member.value, *there, path, unknown);
    }
  }
}

}  // namespace

Value default_config(const std::string& ns) {
  return Value::object(
      {{"appwrapper", Value::object({{"autopilot", autopilot()},
                                     {"userRBACAdmissionCheck", true},
                                     {"faultTolerance", fault_tolerance()},
                                     {"schedulerName", ""},
                                     {"defaultQueueName", ""},
                                     {"enableKueueIntegrations", false}})},
       {"certManagement",
        Value::object(
            {{"namespace", ns},
             {"certificateDir", "/tmp/k8s-webhook-server/serving-certs"},
             {"certificateName", "appwrapper-ca"},
             {"certificateOrg", "appwrapper"},
             {"mutatingWebhookConfigName", "appwrapper-mutating-webhook-configuration"},
             {"validatingWebhookConfigName", "appwrapper-validating-webhook-configuration"},
             {"webhookServiceName", "appwrapper-webhook-service"},
             {"webhookSecretName", "appwrapper-webhook-server-cert"}})},
       {"controllerManager", Value::object({{"metrics", Value::object({{"bindAddress", ":8443"}})},
                                            {"health", Value::object({{"bindAddress", ":8081"}})},
                                            {"leaderElection", false},
                                            {"enableHTTP2", false}})},
       {"webhooksEnabled", true}});
}

Value merged_config(const Value& config, const std::string& ns) {
  Value merged = default_config(ns);
  merge(merged, config);
  return merged;
}

std::vector<std::string> unknown_keys(const Value& config) {
  std::vector<std::string> unknown;
  collect_unknown(config, known_config(), "", unknown);
  return unknown;
}

std::string not_a_setting(std::string_view key) {
  return fmt::format("{} is no setting, and ignored", key.empty() ? "\"\"" : key);
}

}  // namespace athanor::appwrapper
