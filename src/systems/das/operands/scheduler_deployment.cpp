// SPDX-License-Identifier: Apache-2.0
// The scheduler: a stock kube-scheduler that asks the extender, in a lab a stand-in for the process
// (docs/spec/das.md 7.1, 10.1, 10.2).
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "api/builtin.hpp"
#include "api/scheduler_configuration.hpp"
#include "kube/text/yaml.hpp"
#include "systems/das/model/log_level.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/operands/object_builders.hpp"
#include "systems/das/scheduling/hooks.hpp"

namespace athanor::data {
std::string_view das_lab_scheduler_configuration();  // a format with named arguments
}  // namespace athanor::data

namespace athanor::das {
namespace {

constexpr const char* kConfigFolder = "/etc/das-scheduler";
constexpr const char* kCaFolder = "/etc/das-extender";
constexpr int kPort = 10259;

// In a lab the process schedules by the plug-in of this name.
std::string lab_config(const Settings& settings) {
  return fmt::format(fmt::runtime(data::das_lab_scheduler_configuration()),
                     fmt::arg("namespace", settings.ns),
                     fmt::arg("placementPolicy", settings.placement_policy),
                     fmt::arg("gpuOrder", settings.gpu_order),
                     fmt::arg("nodeScoringPolicy", settings.node_scoring_policy),
                     fmt::arg("profileWeights", settings.weights_text()));
}

// The configuration of `athanor extender --print-scheduler-config`, for the deployed extender.
std::string extended_config(const Settings& settings) {
  SchedulerConfigurationOptions options{
      .url = fmt::format("https://das-extender.{}.svc:9443", settings.ns),
      .ca_file = std::string(kCaFolder) + "/ca.crt",
      .profiles = {kSchedulerName},
      .lease_namespace = settings.ns};
  for (const SchedulingHooks* hooks : das_scheduling()) {
    std::ranges::move(hooks->resources(), std::back_inserter(options.resources));
  }
  return yaml::print(scheduler_configuration(options));
}

Value config_map(const DASOperator& op, const Settings& settings) {
  Value object = make_object(api::kConfigMap, kSchedulerConfigMap, settings);
  const std::string& level = op.spec.operator_log_level;
  object.member("metadata")
      .set("annotations", Value::object({{kLogLevelAnnotation, level.empty() ? "Normal" : level}}));
  object.set("data", Value::object({{"config.yaml", settings.production ? extended_config(settings)
                                                                        : lab_config(settings)}}));
  return object;
}

// klog's verbosity (docs/spec/das.md 10.5).
int verbosity_of(const DASOperator& op) {
  const std::string level = log_level_of(op);
  return level == "Debug" ? 4 : level == "Trace" ? 6 : level == "TraceAll" ? 8 : 2;
}

Value mount(const char* name, const char* path) {
  return Value::object({{"name", name}, {"mountPath", path}, {"readOnly", true}});
}

Value kube_scheduler(const DASOperator& op, const Settings& settings) {
  const auto probe = [](int delay_s, int period_s) {
    return Value::object(
        {{"httpGet", Value::object({{"path", "/healthz"}, {"port", kPort}, {"scheme", "HTTPS"}})},
         {"initialDelaySeconds", delay_s},
         {"periodSeconds", period_s}});
  };
  return Value::object(
      {{"name", "scheduler"},
       {"image", settings.scheduler_image},
       {"command", Value::list({"kube-scheduler"})},
       {"args", Value::list({fmt::format("--config={}/config.yaml", kConfigFolder),
                             fmt::format("--v={}", verbosity_of(op))})},
       {"ports", Value::list({Value::object({{"name", "https"}, {"containerPort", kPort}})})},
       {"livenessProbe", probe(15, 20)},
       {"readinessProbe", probe(5, 10)},
       {"resources",
        Value::object({{"requests", Value::object({{"cpu", "25m"}, {"memory", "64Mi"}})}})},
       {"securityContext",
        Value::object({{"allowPrivilegeEscalation", false},
                       {"readOnlyRootFilesystem", true},
                       {"capabilities", Value::object({{"drop", Value::list({"ALL"})}})},
                       {"seccompProfile", Value::object({{"type", "RuntimeDefault"}})}})},
       {"volumeMounts", Value::list({mount("config", kConfigFolder), mount("ca", kCaFolder)})}});
}

// Only the authorities of the serving certificate's Secret: its key is the extender's.
Value volumes() {
  return Value::list(
      {Value::object(
           {{"name", "config"}, {"configMap", Value::object({{"name", kSchedulerConfigMap}})}}),
       Value::object(
           {{"name", "ca"},
            {"secret",
             Value::object({{"secretName", kServingSecret},
                            {"items", Value::list({Value::object(
                                          {{"key", "ca.crt"}, {"path", "ca.crt"}})})}})}})});
}

Value spread_over_nodes(const Value& pod_labels) {
  constexpr int kWeight = 100;
  return Value::object(
      {{"podAntiAffinity",
        Value::object(
            {{"preferredDuringSchedulingIgnoredDuringExecution",
              Value::list({Value::object(
                  {{"weight", kWeight},
                   {"podAffinityTerm",
                    Value::object({{"topologyKey", "kubernetes.io/hostname"},
                                   {"labelSelector",
                                    Value::object({{"matchLabels", pod_labels}})}})}})})}})}});
}

}  // namespace

void add_scheduler(const DASOperator& op, const Settings& settings, const Cluster& cluster,
                   std::vector<Operand>& operands) {
  operands.push_back({&api::kConfigMap, config_map(op, settings)});
  operands.push_back(
      {&api::kServiceAccount, make_object(api::kServiceAccount, kSchedulerName, settings)});
  const Value labels = Value::object({{"app", kSchedulerName}});
  Value container =
      settings.production
          ? kube_scheduler(op, settings)
          : stand_in("scheduler", {"das-scheduler", "--config=/etc/das-scheduler/config.yaml"},
                     settings.scheduler_image);
  container.set("imagePullPolicy", "Always");
  Value object = make_deployment({.name = kSchedulerName,
                                  .account = kSchedulerName,
                                  .pod_labels = labels,
                                  .container = std::move(container)},
                                 settings);
  Value& pod = object.member("spec").member("template");
  pod.member("spec").set("affinity", spread_over_nodes(labels));
  if (settings.production) {
    pod.member("spec").set("priorityClassName", "system-cluster-critical");
    pod.member("spec").set("volumes", volumes());
    // kube-scheduler reads its configuration at its start: a change of it rolls the pods.
    Value versions = Value::object();
    for (const auto& [name, version] : cluster.scheduler_versions) {
      versions.set(name, version);
    }
    pod.member("metadata").set("annotations", std::move(versions));
  }
  operands.push_back({&api::kDeployment, std::move(object)});
}

}  // namespace athanor::das
