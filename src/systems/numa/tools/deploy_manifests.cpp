// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/tools/deploy_manifests.hpp"

#include <fmt/core.h>

#include "base/check.hpp"
#include "kube/text/yaml.hpp"
#include "systems/numa/operator/manifests.hpp"
#include "systems/numa/operator/operator_manifests.hpp"

namespace athanor::data {
std::string_view numa_feature_discovery_updater();
}  // namespace athanor::data

namespace athanor::numa {
namespace {

constexpr const char* kExporterImage = "athanor:latest";
constexpr const char* kSchedulerImage = "scheduler-plugins/kube-scheduler:v0.29.7";
constexpr const char* kNfdImage = "nfd/node-feature-discovery:v0.16.4";

Value namespace_of(const char* name) {
  return Value::object(
      {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", Value::object({{"name", name}})}});
}

Value& container_of(Value& workload) {
  return workload.member("spec").member("template").member("spec").member("containers").item(0);
}

void set_pull_policy(Value& workload, bool if_not_present) {
  Value& containers =
      workload.member("spec").member("template").member("spec").member("containers");
  for (std::size_t i = 0; i < containers.size(); ++i) {
    containers.item(i).set("imagePullPolicy", if_not_present ? "IfNotPresent" : "Always");
  }
}

// The exporter's DaemonSet of the operator, on every node, with the deployer's settings.
Value exporter_set(const DeployOptions& options) {
  const NodeGroup group{
      .pool_name = "all",
      .annotations = options.custom_policy
                         ? std::map<std::string, std::string>{{"config.node.openshift-kni.io/"
                                                               "selinux-policy",
                                                               "custom"}}
                         : std::map<std::string, std::string>{},
      .config = NodeGroupConfig{
          .pods_fingerprinting = options.fingerprint ? "Enabled" : "Disabled",
          .info_refresh_mode = options.notification ? "PeriodicAndEvents" : "Periodic",
          .info_refresh_period = options.sync_period}};
  const Pool pool{.name = "all", .group = &group, .config = GroupConfig::of(group)};
  const Settings settings{
      .ns = kUpdaterNamespace, .exporter_image = kExporterImage, .emulated = options.emulated};
  Value set = exporter_daemon_set(
      settings, options.openshift ? Platform::OpenShift : Platform::Kubernetes, {}, pool, "");
  set.member("metadata").set("name", "resource-topology-exporter");
  Value& pod = set.member("spec").member("template").member("spec");
  pod.erase("nodeSelector");
  Value& exporter = container_of(set);
  Value args = Value::list();
  for (const Value& arg : exporter["args"].items()) {
    const std::string_view text = arg.as_string();
    // No serving certificate comes with the deployer.
    args.push_back(text.starts_with("-v=") ? Value(fmt::format("-v={}", options.updater_verbosity))
                   : text == "--metrics-mode=httptls" ? Value("--metrics-mode=http")
                                                      : arg);
  }
  exporter.set("args", std::move(args));
  for (const char* list : {"volumes", "volumeMounts"}) {
    Value& holder = std::string_view(list) == "volumes" ? pod : container_of(set);
    for (std::size_t i = holder[list].size(); i-- > 0;) {
      if (holder[list][i]["name"].as_string() == "rte-metrics-service-cert") {
        holder.member(list).erase_item(i);
      }
    }
  }
  if (!options.exporter_config.empty() && !options.openshift) {
    container_of(set)
        .member("volumeMounts")
        .push_back(Value::object(
            {{"name", "rte-config-volume"}, {"mountPath", "/etc/resource-topology-exporter/"}}));
    pod.member("volumes").push_back(Value::object(
        {{"name", "rte-config-volume"},
         {"configMap", Value::object({{"name", "rte-config"}, {"optional", true}})}}));
  } else if (!options.exporter_config.empty()) {
    for (std::size_t i = 0; i < pod["volumes"].size(); ++i) {
      if (pod["volumes"][i]["name"].as_string() == "rte-config-volume") {
        pod.member("volumes").item(i).set(
            "configMap", Value::object({{"name", "rte-config"}, {"optional", true}}));
      }
    }
  }
  set_pull_policy(set, options.pull_if_not_present);
  return set;
}

std::vector<Value> nfd_manifests(const DeployOptions& options) {
  std::vector<Value> manifests{namespace_of(kUpdaterNamespace)};
  auto documents = yaml::parse_all(data::numa_feature_discovery_updater());
  ATHANOR_CHECK(documents.ok(), "manifests in the program are valid");
  for (Value& object : *documents) {
    if (object["kind"].as_string() == "DaemonSet") {
      Value& container = container_of(object);
      container.set("image", kNfdImage);
      container.set("args",
                    Value::list({"-sleep-interval=" + options.sync_period,
                                 fmt::format("-v={}", options.updater_verbosity),
                                 fmt::format("-pods-fingerprint={}", options.fingerprint)}));
      set_pull_policy(object, options.pull_if_not_present);
      if (options.emulated) {
        object.set_path({"spec", "template", "metadata", "annotations"},
                        Value::object({{kEmulateAnnotation, "pause"}}));
      }
    }
    manifests.push_back(std::move(object));
  }
  return manifests;
}

// The configuration with what the deployer's files say.
std::string scheduler_config_of(const DeployOptions& options, const std::string& rendered) {
  auto config = yaml::parse(rendered);
  ATHANOR_CHECK(config.ok(), "the configuration was rendered here");
  Value& args = config->member("profiles").item(0).member("pluginConfig").item(0).member("args");
  if (!options.scoring.is_null()) {
    args.set("scoringStrategy", options.scoring);
  }
  if (!options.cache.is_null()) {
    args.set("cache", options.cache);
  }
  config->member("leaderElection")
      .set("resourceName", options.lease)
      .set("resourceNamespace", kPluginNamespace);
  return yaml::print(*config);
}

// Grants the Lease of this name in place of the operator's.
void set_lease(const std::string& lease, Value& role) {
  for (std::size_t i = 0; i < role["rules"].size(); ++i) {
    Value& rule = role.member("rules").item(i);
    if (rule.contains("resourceNames")) {
      rule.set("resourceNames", Value::list({lease}));
    }
  }
}

}  // namespace

std::vector<Value> api_manifests() {
  return {topology_definition()};
}

std::vector<Value> updater_manifests(const DeployOptions& options) {
  if (options.nfd) {
    return nfd_manifests(options);
  }
  const Settings settings{.ns = kUpdaterNamespace};
  std::vector<Value> manifests{namespace_of(kUpdaterNamespace)};
  for (Value& object :
       exporter_objects(settings, options.openshift ? Platform::OpenShift : Platform::Kubernetes)) {
    const std::string_view name = object["metadata"]["name"].as_string();
    const bool constraints = object["kind"].as_string() == "SecurityContextConstraints";
    if (!constraints || name.ends_with("-v2") == (options.constraints == "v2")) {
      manifests.push_back(std::move(object));
    }
  }
  if (!options.exporter_config.empty()) {
    manifests.push_back(Value::object(
        {{"apiVersion", "v1"},
         {"kind", "ConfigMap"},
         {"metadata", Value::object({{"name", "rte-config"}, {"namespace", kUpdaterNamespace}})},
         {"data", Value::object({{"config.yaml", options.exporter_config}})}}));
  }
  manifests.push_back(exporter_set(options));
  return manifests;
}

std::vector<Value> plugin_manifests(const DeployOptions& options) {
  const Settings settings{.ns = kPluginNamespace, .emulated = options.emulated};
  const SchedulerSpec spec{.image_spec = kSchedulerImage, .scheduler_name = options.profile};
  const SchedulerPlan plan{.name = options.profile,
                           .resync_seconds = options.resync_seconds,
                           .replicas = options.replicas};
  std::vector<Value> manifests{namespace_of(kPluginNamespace)};
  for (Value& object : scheduler_objects(settings, spec, plan, false)) {
    const std::string_view kind = object["kind"].as_string();
    if (kind == "ConfigMap") {
      object.member("data").set("config.yaml",
                                scheduler_config_of(options, object["data"]["config.yaml"].str()));
    } else if (kind == "Role" || kind == "ClusterRole") {
      set_lease(options.lease, object);
    } else if (kind == "Deployment") {
      Value args = Value::list();
      for (const Value& arg : container_of(object)["args"].items()) {
        args.push_back(arg.as_string().starts_with("-v=")
                           ? Value(fmt::format("-v={}", options.scheduler_verbosity))
                           : arg);
      }
      container_of(object).set("args", std::move(args));
      set_pull_policy(object, options.pull_if_not_present);
      Value& pod = object.member("spec").member("template").member("spec");
      if (!options.control_plane_affinity) {
        pod.erase("affinity");
      }
    }
    manifests.push_back(std::move(object));
  }
  // The hash that was rendered belongs to the text before.
  for (const Value& config : std::vector<Value>(manifests)) {
    for (Value& object : manifests) {
      if (config["kind"].as_string() == "ConfigMap" && object["kind"].as_string() == "Deployment") {
        object.set_path({"spec", "template", "metadata", "annotations", "configmap.hash"},
                        config_hash(config["data"]));
      }
    }
  }
  return manifests;
}

Value deployed_images(const DeployOptions& options) {
  const char* updater = options.nfd ? kNfdImage : kExporterImage;
  return Value::list({Value::object({{"name", "topology-updater"}, {"image", updater}}),
                      Value::object({{"name", "scheduler-plugin"}, {"image", kSchedulerImage}})});
}

}  // namespace athanor::numa
