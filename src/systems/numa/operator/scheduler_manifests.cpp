// SPDX-License-Identifier: Apache-2.0
// Objects and configuration of the secondary scheduler (docs/spec/numa.md 8.4, 8.5).
#include <fmt/core.h>

#include "base/check.hpp"
#include "kube/text/yaml.hpp"
#include "systems/numa/operator/manifests.hpp"

namespace athanor::data {
std::string_view numa_scheduler_objects();
std::string_view numa_scheduler_configuration();
}  // namespace athanor::data

namespace athanor::numa {
namespace {

std::vector<Value> parsed_scheduler(std::string_view text) {
  auto documents = yaml::parse_all(text);
  ATHANOR_CHECK(documents.ok(), "manifests in the program are valid");
  return *std::move(documents);
}

void complete_deployment(const Settings& settings, const SchedulerSpec& spec,
                         const SchedulerPlan& plan, bool guaranteed, const std::string& hash,
                         Value& deployment) {
  deployment.member("spec").set("replicas", plan.replicas);
  Value& pod = deployment.member("spec").member("template");
  Value& annotations = pod.member("metadata").member("annotations");
  annotations.set("configmap.hash", hash);
  if (settings.emulated) {
    annotations.set(kEmulateAnnotation, "pause");
  }
  Value& container = pod.member("spec").member("containers").item(0);
  container.set("image", spec.image_spec);
  container.set("args", Value::list({"--config=/etc/kubernetes/config.yaml",
                                     verbosity_flag(spec.log_level)}));
  if (spec.cache_resync_debug != "Disabled") {
    container.set(
        "env",
        Value::list({Value::object({{"name", "PFP_STATUS_DUMP"}, {"value", "/run/pfpstatus"}})}));
  }
  if (guaranteed) {
    const Value amounts = Value::object({{"cpu", "600m"}, {"memory", "1200Mi"}});
    container.set("resources", Value::object({{"requests", amounts}, {"limits", amounts}}));
  }
}

}  // namespace

std::string scheduler_config(const Settings& settings, const SchedulerSpec& spec,
                             const SchedulerPlan& plan) {
  Value config = parsed_scheduler(data::numa_scheduler_configuration()).front();
  config.member("leaderElection")
      .set("leaderElect", plan.replicas > 1)
      .set("resourceNamespace", settings.ns);
  Value& profile = config.member("profiles").item(0);
  profile.set("schedulerName", plan.name);
  Value& args = profile.member("pluginConfig").item(0).member("args");
  if (plan.resync_seconds > 0) {
    args.set("cacheResyncPeriodSeconds", plan.resync_seconds);
  }
  Value& cache = args.member("cache");
  if (spec.cache_resync_detection == "Aggressive") {
    cache.set("foreignPodsDetect", "All");
  }
  if (plan.shared_informer) {
    cache.set("informerMode", "Shared");
  }
  if (spec.scoring_strategy) {
    Value& strategy = args.member("scoringStrategy");
    if (!spec.scoring_strategy->type.empty()) {
      strategy.set("type", spec.scoring_strategy->type);
    }
    for (const ResourceWeight& resource : spec.scoring_strategy->resources) {
      strategy.member("resources")
          .push_back(Value::object({{"name", resource.name}, {"weight", resource.weight}}));
    }
  }
  if (spec.preemption_mode == "Enabled") {
    args.set("preemptionMode", "Enabled");
  }
  if (plan.discard_reserved) {
    args.set("discardReservedNodes", true);
  }
  if (plan.require_topology) {
    args.set("requireTopology", true);
  }
  if (plan.trust_unfingerprinted) {
    args.member("cache").set("trustUnfingerprinted", true);
  }
  for (const std::string& policy : plan.policies) {
    args.member("policies").push_back(policy);
  }
  if (!plan.count_sidecars) {
    args.set("sidecarAccounting", false);
  }
  if (plan.ignore_unlisted) {
    args.member("scoringStrategy").set("ignoreUnlisted", true);
  }
  return yaml::print(config);
}

std::vector<Value> scheduler_objects(const Settings& settings, const SchedulerSpec& spec,
                                     const SchedulerPlan& plan, bool guaranteed) {
  std::vector<Value> objects = parsed_scheduler(data::numa_scheduler_objects());
  const Value data = Value::object({{"config.yaml", scheduler_config(settings, spec, plan)}});
  objects.insert(objects.begin() + 1,
                 Value::object({{"apiVersion", "v1"},
                                {"kind", "ConfigMap"},
                                {"metadata", Value::object({{"name", kSchedulerConfig}})},
                                {"data", data}}));
  for (Value& object : objects) {
    if (!object["kind"].as_string().starts_with("Cluster")) {
      object.member("metadata").set("namespace", settings.ns);
    }
    for (std::size_t i = 0; i < object["subjects"].size(); ++i) {
      object.member("subjects").item(i).set("namespace", settings.ns);
    }
    if (object["kind"].as_string() == "Deployment") {
      complete_deployment(settings, spec, plan, guaranteed, config_hash(data), object);
    }
  }
  return objects;
}

}  // namespace athanor::numa
