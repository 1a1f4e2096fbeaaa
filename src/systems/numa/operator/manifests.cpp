// SPDX-License-Identifier: Apache-2.0
// Objects of the exporter.
#include "systems/numa/operator/manifests.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "api/own_node_policy.hpp"
#include "base/check.hpp"
#include "base/digest.hpp"
#include "base/time.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::data {
std::string_view numa_exporter_objects();
std::string_view numa_exporter_constraints();
std::string_view numa_exporter_service();
std::string_view numa_exporter_daemon_set();
}  // namespace athanor::data

namespace athanor::numa {
namespace {

std::vector<Value> parsed(std::string_view text) {
  auto documents = yaml::parse_all(text);
  ATHANOR_CHECK(documents.ok(), "manifests in the program are valid");
  return *std::move(documents);
}

void set_namespace(Value& object, const std::string& ns) {
  const std::string_view kind = object["kind"].as_string();
  if (!kind.starts_with("Cluster") && kind != "SecurityContextConstraints") {
    object.member("metadata").set("namespace", ns);
  }
  for (std::size_t i = 0; i < object["subjects"].size(); ++i) {
    object.member("subjects").item(i).set("namespace", ns);
  }
}

Value volume(std::string_view name, std::string_view type, Value source) {
  return Value::object({{"name", name}, {type, std::move(source)}});
}

Value mount(std::string_view name, std::string_view path, bool read_only) {
  Value value = Value::object({{"name", name}, {"mountPath", path}});
  if (read_only) {
    value.set("readOnly", true);
  }
  return value;
}

std::vector<std::string> refresh_flags(const GroupConfig& config) {
  const auto period = parse_go_duration(config.info_refresh_period);
  const std::string timer = "--sleep-interval=" + (period.ok() ? format_go_duration(*period)
                                                               : config.info_refresh_period);
  const std::string notify = "--notify-file=/host-run-rte/notify";
  if (config.info_refresh_mode == "Events") {
    return {notify, "--sleep-interval=0"};
  }
  return config.info_refresh_mode == "PeriodicAndEvents" ? std::vector{timer, notify}
                                                         : std::vector{timer};
}

// Translates a pool's label selector: labels to the pod's nodeSelector, expressions to its required
// node affinity, which has the same operators.
void select_nodes(const Value& selector, Value& pod_spec) {
  if (!selector["matchLabels"].empty()) {
    pod_spec.set("nodeSelector", selector["matchLabels"]);
  }
  if (!selector["matchExpressions"].empty()) {
    pod_spec.member("affinity")
        .set("nodeAffinity",
             Value::object(
                 {{"requiredDuringSchedulingIgnoredDuringExecution",
                   Value::object(
                       {{"nodeSelectorTerms",
                         Value::list({Value::object(
                             {{"matchExpressions", selector["matchExpressions"]}})})}})}}));
  }
}

void make_certificate_optional(Value& pod_spec) {
  Value& volumes = pod_spec.member("volumes");
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    if (volumes[i].contains("secret")) {
      volumes.item(i).member("secret").set("optional", true);
    }
  }
}

// Returns the node of an object that an exporter writes, as CEL.
std::string node_expression(const std::string& object) {
  return fmt::format(
      "request.resource.resource == 'pods' ? (has({0}.spec.nodeName) ? {0}.spec.nodeName : '') : "
      "{0}.metadata.name",
      object);
}

// The policy, and its binding, by which each exporter writes the zones and the pods of its own node
// alone.
std::vector<Value> exporter_policy(const std::string& ns) {
  return api::own_node_objects(
      {.name = "rte-own-node",
       .ns = ns,
       .account = "rte",
       .role = "an exporter",
       .rules = {api::own_node_rule("topology.node.k8s.io", {"noderesourcetopologies"}),
                 api::own_node_rule("", {"pods", "pods/status"})},
       .node_of = node_expression});
}

// Adds what the exporter has on one platform alone: metrics, rights and its configuration.
void add_platform_parts(Platform platform, const Pool& pool, Value& pod, Value& args) {
  Value& pod_spec = pod.member("spec");
  Value& exporter = pod_spec.member("containers").item(0);
  if (platform == Platform::Kubernetes) {
    // Nothing there makes a certificate for the Service.
    args.push_back("--metrics-mode=http");
    make_certificate_optional(pod_spec);
    args.push_back("--kubelet-config-file=/host-var-lib-kubelet/config.yaml");
    exporter.member("volumeMounts")
        .push_back(mount("host-var-lib-kubelet", "/host-var-lib-kubelet", true));
    pod_spec.member("volumes").push_back(
        volume("host-var-lib-kubelet", "hostPath",
               Value::object({{"path", "/var/lib/kubelet"}, {"type", ""}})));
  } else {
    args.push_back("--metrics-mode=httptls");
    const bool custom = pool.custom_policy();
    pod.member("metadata")
        .member("annotations")
        .set("openshift.io/required-scc",
             custom ? "resource-topology-exporter" : "resource-topology-exporter-v2");
    exporter.member("securityContext")
        .set("seLinuxOptions",
             Value::object({{"type", custom ? "rte.process" : "container_device_plugin_t"},
                            {"level", "s0"}}));
    exporter.member("volumeMounts")
        .push_back(mount("rte-config-volume", "/etc/resource-topology-exporter/", false));
    pod_spec.member("volumes").push_back(
        volume("rte-config-volume", "configMap",
               Value::object({{"name", daemon_set_name(pool.name)}, {"optional", true}})));
  }
}

void choose_nodes(Platform platform, const Pool& pool, Value& pod_spec) {
  if (platform == Platform::HyperShift) {
    pod_spec.set("nodeSelector", Value::object({{"hypershift.openshift.io/nodePool", pool.name}}));
  } else if (pool.object) {
    select_nodes(pool.object->spec()["nodeSelector"], pod_spec);
  } else {
    pod_spec.set("nodeSelector", Value::object({{"node-role.kubernetes.io/" + pool.name, ""}}));
  }
}

}  // namespace

std::string verbosity_flag(std::string_view log_level) {
  const int level = log_level == "Debug"      ? 4
                    : log_level == "Trace"    ? 6
                    : log_level == "TraceAll" ? 8
                                              : 2;
  return fmt::format("-v={}", level);
}

std::string daemon_set_name(std::string_view pool) {
  return fmt::format("{}-{}", kOperatorName, pool);
}

std::string config_hash(const Value& data) {
  if (!data.is_object()) {
    return {};
  }
  std::map<std::string, std::string> sorted;
  for (const Member& entry : data.members()) {
    sorted.emplace(entry.key(), entry.value.str());
  }
  std::string text;
  for (const auto& [key, value] : sorted) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", key, value);
  }
  return "SHA256:" + sha256_hex("map[" + text + "]");
}

std::vector<Value> exporter_objects(const Settings& settings, Platform platform) {
  std::vector<Value> objects = parsed(data::numa_exporter_objects());
  if (platform != Platform::Kubernetes) {
    for (Value& constraints : parsed(data::numa_exporter_constraints())) {
      constraints.set("users",
                      Value::list({fmt::format("system:serviceaccount:{}:rte", settings.ns)}));
      objects.push_back(std::move(constraints));
    }
  }
  for (Value& object : objects) {
    set_namespace(object, settings.ns);
  }
  if (!settings.emulated) {  // exporters of a lab have no tokens
    std::ranges::move(exporter_policy(settings.ns), std::back_inserter(objects));
  }
  return objects;
}

std::vector<Value> roles_among(const std::vector<Value>& objects) {
  std::vector<Value> roles;
  std::ranges::copy_if(objects, std::back_inserter(roles), [](const Value& object) {
    return object["kind"].as_string() == "Role" || object["kind"].as_string() == "ClusterRole";
  });
  return roles;
}

Value exporter_service(const Settings& settings) {
  Value service = parsed(data::numa_exporter_service()).front();
  set_namespace(service, settings.ns);
  return service;
}

Value exporter_daemon_set(const Settings& settings, Platform platform, const OperatorSpec& spec,
                          const Pool& pool, const std::string& hash) {
  const GroupConfig& config = pool.config;
  Value set = parsed(data::numa_exporter_daemon_set()).front();
  set.member("metadata").set("name", daemon_set_name(pool.name)).set("namespace", settings.ns);
  Value& pod = set.member("spec").member("template");
  Value& annotations = pod.member("metadata").member("annotations");
  annotations.set("configmap.hash", hash);
  if (settings.emulated) {
    annotations.set(kEmulateAnnotation, "pause");
  }
  Value& pod_spec = pod.member("spec");
  Value& containers = pod_spec.member("containers");
  const bool given = !spec.image_spec.empty();
  for (std::size_t i = 0; i < 2; ++i) {
    containers.item(i).set("image", given ? spec.image_spec : settings.exporter_image);
    containers.item(i).set("imagePullPolicy", "IfNotPresent");
  }
  Value& exporter = containers.item(0);
  if (!given) {
    exporter.set("securityContext", Value::object({{"runAsUser", 0}, {"runAsGroup", 0}}));
  }
  Value args = Value::list(
      {"--sysfs=/host-sys", "--podresources-socket=unix:///host-podresources/kubelet.sock",
       verbosity_flag(spec.log_level), "--refresh-node-resources", "--add-nrt-owner=false"});
  for (const std::string& flag : refresh_flags(config)) {
    args.push_back(flag);
  }
  if (config.info_refresh_pause == "Enabled") {
    args.push_back("--no-publish");
  }
  const bool fingerprint = config.pods_fingerprinting != "Disabled";
  if (fingerprint) {
    args.push_back("--pods-fingerprint");
    args.push_back(config.pods_fingerprinting == "Enabled"
                       ? "--pods-fingerprint-method=all"
                       : "--pods-fingerprint-method=with-exclusive-resources");
    exporter.member("env").push_back(
        Value::object({{"name", "PFP_STATUS_DUMP"}, {"value", "/run/pfpstatus"}}));
    exporter.member("volumeMounts").push_back(mount("run-pfpstatus", "/run/pfpstatus", false));
    pod_spec.member("volumes").push_back(volume(
        "run-pfpstatus", "emptyDir", Value::object({{"medium", "Memory"}, {"sizeLimit", "8Mi"}})));
  } else {
    args.push_back("--pods-fingerprint=false");
  }
  add_platform_parts(platform, pool, pod, args);
  exporter.set("args", std::move(args));
  choose_nodes(platform, pool, pod_spec);
  if (!config.tolerations.empty()) {
    pod_spec.set("tolerations", Value::list(config.tolerations));
  }
  return set;
}

}  // namespace athanor::numa
