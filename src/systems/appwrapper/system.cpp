// SPDX-License-Identifier: Apache-2.0
#include "systems/appwrapper/system.hpp"

#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "api/kueue.hpp"
#include "base/environment.hpp"
#include "kube/text/yaml.hpp"
#include "systems/appwrapper/admission/webhooks.hpp"
#include "systems/appwrapper/instruments.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/appwrapper/model/operators.hpp"
#include "systems/appwrapper/model/settings.hpp"
#include "systems/appwrapper/model/wrapped_kinds.hpp"
#include "systems/appwrapper/process/default_config.hpp"
#include "systems/appwrapper/process/process.hpp"

namespace athanor::appwrapper {
namespace {

constexpr std::string_view kConfigVariable = "APPWRAPPER_CONFIG";
constexpr std::string_view kNamespace = "default";
constexpr std::string_view kFlavor = "default-flavor";
constexpr std::string_view kClusterQueue = "cluster-queue";
constexpr std::string_view kIntegrated = "integrated";  // a setting of Kueue's side
constexpr std::string_view kIntegrations = "enableKueueIntegrations";
constexpr std::string_view kReconciler = "kueueJobReconciller";

Value object_of(const Kind& kind, Value metadata, Value spec) {
  return Value::object({{"apiVersion", kind.api_version()},
                        {"kind", kind.name},
                        {"metadata", std::move(metadata)},
                        {"spec", std::move(spec)}});
}

Value quota(std::string_view resource, std::string_view amount) {
  return Value::object({{"name", resource}, {"nominalQuota", amount}});
}

Value cluster_queue() {
  return object_of(
      api::kueue::kClusterQueue, Value::object({{"name", kClusterQueue}}),
      Value::object(
          {{"namespaceSelector", Value::object()},
           {"resourceGroups",
            Value::list({Value::object(
                {{"coveredResources", Value::list({"cpu", "memory", "nvidia.com/gpu"})},
                 {"flavors",
                  Value::list({Value::object(
                      {{"name", kFlavor},
                       {"resources", Value::list({quota("cpu", "9"), quota("memory", "36Gi"),
                                                  quota("nvidia.com/gpu", "16")})}})})}})})}}));
}

Value local_queue(std::string_view name, std::string_view ns) {
  return object_of(api::kueue::kLocalQueue, Value::object({{"name", name}, {"namespace", ns}}),
                   Value::object({{"clusterQueue", kClusterQueue}}));
}

// Queues for a first AppWrapper and for Kueue's public samples (docs/spec/appwrapper.md 8.5, 9.3):
// `user-queue` and `default-queue` in namespace default and in `home`, where a lab's users are, on
// a ClusterQueue with 9 CPUs, 36Gi of memory and 16 GPUs.
std::vector<Value> sample_objects(std::string_view home) {
  std::vector<Value> objects{
      object_of(api::kueue::kResourceFlavor, Value::object({{"name", kFlavor}}), Value::object()),
      cluster_queue()};
  for (const std::string_view ns : {kNamespace, home}) {
    if (ns == kNamespace || home != kNamespace) {
      objects.push_back(local_queue("user-queue", ns));
      objects.push_back(local_queue("default-queue", ns));
    }
  }
  return objects;
}

std::vector<const api::CustomKind*> kinds(const Value& /*settings*/) {
  return {custom_kinds().begin(), custom_kinds().end()};
}

// Returns what has no effect in a configuration that is read from a file: unknown keys, and what
// concerns the operator's own process or, in a lab, a Kueue without the integration.
std::vector<std::string> warnings_of(const Value& document, bool in_lab) {
  std::vector<std::string> warnings;
  for (const std::string& key : unknown_keys(document)) {
    warnings.push_back(not_a_setting(key));
  }
  for (const std::string_view key : {"certManagement", "controllerManager", "webhooksEnabled"}) {
    if (document.contains(key)) {
      warnings.push_back(
          fmt::format("{} has no effect in a file: it is read from the operator's ConfigMap", key));
    }
  }
  const Value& section = document[kSection];
  if (in_lab && section.contains(kIntegrations)) {
    warnings.push_back(fmt::format(
        "appwrapper.{} has no effect in a lab: Kueue's side is always served", kIntegrations));
  }
  if (section.contains(kReconciler) && (in_lab || !section[kIntegrations].as_bool())) {
    warnings.push_back(
        fmt::format("appwrapper.{} has no effect: Kueue's own configuration decides", kReconciler));
  }
  return warnings;
}

// The operator's ConfigMap; else APPWRAPPER_CONFIG names a file: upstream's configuration with its
// member `appwrapper`, or that member's content alone.
Result<Value> read(const SettingsSource& source) {
  if (const auto document = source.documents.find(system().name);
      document != source.documents.end()) {
    return document->second;
  }
  std::string path;
  Environment(source.variables).text(kConfigVariable, path);
  if (path.empty()) {
    return Value::object();
  }
  if (!source.read_file) {
    return refuse_setting(kConfigVariable, path, "files cannot be read here");
  }
  ATHANOR_TRY(const std::string text, source.read_file(path));
  auto parsed = yaml::parse(text);
  if (!parsed.ok()) {
    return parsed.error().with_context(path);
  }
  if (!parsed->is_object() && !parsed->is_null()) {
    return Error::bad_request("the configuration is no map").with_context(path);
  }
  const bool whole = parsed->contains(kSection);
  Value section = whole ? (*parsed)[kSection] : *parsed;
  if (const auto settings = read_settings(section); !settings.ok()) {
    return settings.error().with_context(path);
  }
  if (source.warn) {
    const Value document = whole ? *parsed : Value::object({{kSection, section}});
    for (const std::string& warning : warnings_of(document, source.in_lab)) {
      source.warn(fmt::format("{}: {}", path, warning));
    }
  }
  if (section.is_null()) {
    return Value::object();
  }
  if (source.in_lab) {
    section.erase(kIntegrations);  // a lab always serves Kueue's side
  }
  return section;
}

// Whether Kueue's side is this program's to integrate, or beside a Kueue of ours.
Result<Value> read_kueue_side(const SettingsSource& source) {
  const auto own = source.config.find(system().name);
  const bool integrated = own != source.config.end() && own->second[kIntegrations].as_bool();
  return Value::object({{kIntegrated, integrated}});
}

bool runs_at_kueues_side(const Operator& op, const Value& settings) {
  const Operator& left_out =
      settings[kIntegrated].as_bool() ? workload_operator() : integrated_workload_operator();
  return &op != &left_out;
}

// The slack queue's controller needs a setting, and Kueue; the node monitor is a choice (7.1).
bool runs(const Operator& op, const Value& settings) {
  if (&op == &node_monitor_operator()) {
    const auto read = read_settings(settings);
    return read.ok() && read->autopilot.enabled && read->autopilot.monitor_nodes;
  }
  return &op != &slack_queue_operator() || !settings["slackQueueName"].as_string().empty();
}

}  // namespace

const System& system() {
  static const System kSystem{
      .name = "appwrapper",
      .summary = "groups of resources queued, started, repaired and removed as one",
      .kinds = kinds,
      .operators = {&appwrapper_operator(), &node_monitor_operator(), &slack_queue_operator()},
      .runs = runs,
      .optional_kinds = {wrapped_kinds().begin(), wrapped_kinds().end()},
      .webhooks = {webhooks().begin(), webhooks().end()},
      .instruments = &appwrapper_instruments(),
      .settings = read,
      .variables = {kConfigVariable},
      .process = &operator_process(),
      .lease_name = "f134c674.codeflare.dev",  // upstream's: one of both leads
      .sample_objects = sample_objects};
  return kSystem;
}

const System& kueue_system() {
  static const System kSystem{
      .name = "appwrapper-kueue",
      .summary = "Kueue's integration of AppWrappers, where that Kueue has none",
      .stand_in = true,
      .operators = {&workload_operator(), &integrated_workload_operator(),
                    &workload_release_operator()},
      .runs = runs_at_kueues_side,
      .optional_kinds = {&kAppWrapper},
      .webhooks = {kueue_webhooks().begin(), kueue_webhooks().end()},
      .settings = read_kueue_side};
  return kSystem;
}

}  // namespace athanor::appwrapper
