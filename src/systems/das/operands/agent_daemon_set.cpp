// SPDX-License-Identifier: Apache-2.0
// The agents' DaemonSet.
#include <fmt/core.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/builtin.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/operands/object_builders.hpp"

namespace athanor::das {
namespace {

Value agent_selector(const DASOperator& op) {
  std::map<std::string, std::string> selector{{kMigCapableLabel, "true"}};
  for (const auto& [label, value] : op.spec.node_selector) {
    selector[label] = value;
  }
  Value node_selector = Value::object();
  for (const auto& [label, value] : selector) {
    node_selector.set(label, value);
  }
  return node_selector;
}

Value node_name() {
  return Value::object(
      {{"name", "NODE_NAME"},
       {"valueFrom",
        Value::object({{"fieldRef", Value::object({{"fieldPath", "spec.nodeName"}})}})}});
}

// athanor-agent on a node with hardware, or with GPUs that it makes up (docs/spec/das.md 8.1).
Value real_agent(const Settings& settings) {
  Value arguments = Value::list({"daemonset", "--namespace=" + settings.ns});
  if (settings.cuda_visible_devices != "index") {
    arguments.push_back("--cuda-visible-devices=" + settings.cuda_visible_devices);
  }
  if (settings.cluster_policy_name) {
    arguments.push_back("--cluster-policy-name=" + *settings.cluster_policy_name);
  }
  Value env = Value::list({node_name(), variable("NVIDIA_MIG_CONFIG_DEVICES", "all"),
                           variable("NVIDIA_VISIBLE_DEVICES", "all"),
                           variable("NVIDIA_DRIVER_CAPABILITIES", "compute,utility"),
                           variable("NVIDIA_DISABLE_REQUIRE", "true")});
  if (settings.emulated()) {
    env.push_back(variable("EMULATED_MODE", "enabled"));
    env.push_back(variable("EMULATED_GPU_MODEL", settings.gpu_model));
    env.push_back(variable("EMULATED_GPU_COUNT", std::to_string(settings.gpu_count)));
    env.push_back(variable("EMULATED_DEVICE_IDS", settings.device_ids));
    const auto add = [&](const char* name, std::int64_t number) {
      if (number != 0) {
        env.push_back(variable(name, std::to_string(number)));
      }
    };
    add("EMULATED_SLICE_CREATE_MS", settings.slice_create_ms);
    add("EMULATED_SLICE_DESTROY_MS", settings.slice_destroy_ms);
    if (settings.fail_per_million != 0) {
      constexpr double kMillion = 1e6;
      env.push_back(
          variable("EMULATED_FAIL_RATE",
                   fmt::format("{}", static_cast<double>(settings.fail_per_million) / kMillion)));
    }
  }
  if (settings.dra()) {
    env.push_back(variable("DAS_ALLOCATION_API", settings.allocation_api));
  }
  if (!settings.memory_quota_resource.empty()) {
    env.push_back(variable("DAS_MEMORY_QUOTA_RESOURCE", settings.memory_quota_resource));
  }
  const auto probe = [](const char* path) {
    return Value::object(
        {{"httpGet", Value::object({{"path", path}, {"port", "https"}, {"scheme", "HTTPS"}})},
         {"periodSeconds", 10}});
  };
  constexpr int kLastWords = 30;
  return Value::object(
      {{"name", "das-daemonset"},
       {"image", settings.agent_image},
       {"args", std::move(arguments)},
       {"env", std::move(env)},
       {"ports", Value::list({Value::object({{"name", "https"}, {"containerPort", 8443}})})},
       {"livenessProbe", probe("/healthz")},
       {"readinessProbe", probe("/readyz")},
       {"lifecycle",
        Value::object(
            {{"preStop", Value::object({{"sleep", Value::object({{"seconds", kLastWords}})}})}})},
       {"securityContext",
        Value::object({{"privileged", true},
                       {"allowPrivilegeEscalation", true},
                       {"runAsUser", 0},
                       {"capabilities", Value::object({{"drop", Value::list({"ALL"})}})},
                       {"seccompProfile", Value::object({{"type", "RuntimeDefault"}})}})}});
}

// The folders of the node that its agent works in, at the same paths.
void add_folders(Value& pod_spec, const Settings& settings) {
  std::vector<std::pair<const char*, const char*>> folders{
      {"device-plugins", "/var/lib/kubelet/device-plugins"},
      {"pod-resources", "/var/lib/kubelet/pod-resources"},
      {"cdi", "/var/run/cdi"}};
  if (!settings.emulated()) {
    // Pipes of MPS daemons, and the memory that their servers share with clients.
    folders.emplace_back("state", kStateFolder);
  }
  if (settings.dra()) {
    folders.emplace_back("plugins", "/var/lib/kubelet/plugins");
    folders.emplace_back("plugins-registry", "/var/lib/kubelet/plugins_registry");
  }
  Value mounts = Value::list();
  Value volumes = Value::list();
  for (const auto& [name, path] : folders) {
    mounts.push_back(Value::object({{"name", name}, {"mountPath", path}}));
    volumes.push_back(Value::object(
        {{"name", name},
         {"hostPath", Value::object({{"path", path}, {"type", "DirectoryOrCreate"}})}}));
  }
  if (!settings.emulated()) {
    mounts.push_back(Value::object({{"name", "mps-shm"}, {"mountPath", "/dev/shm"}}));
    volumes.push_back(
        Value::object({{"name", "mps-shm"},
                       {"hostPath", Value::object({{"path", std::string(kStateFolder) + "/mps/shm"},
                                                   {"type", "DirectoryOrCreate"}})}}));
    pod_spec.set("hostPID", true);  // MPS knows its clients by their process ids
  }
  pod_spec.member("containers").item(0).set("volumeMounts", std::move(mounts));
  pod_spec.set("volumes", std::move(volumes));
}

// A node without its agent starts no pod with slices: it runs on every node that is selected, and
// before what can wait. Lab pods are placeholders, which take what the DASOperator says alone.
void add_place(const DASOperator& op, const Settings& settings, Value& pod_spec) {
  const DASOperatorSpec& wanted = op.spec;
  if (wanted.tolerations.is_list()) {
    pod_spec.set("tolerations", wanted.tolerations);
  } else if (settings.production) {
    pod_spec.set("tolerations", Value::list({Value::object({{"operator", "Exists"}})}));
  }
  if (!wanted.priority_class_name.empty()) {
    pod_spec.set("priorityClassName", wanted.priority_class_name);
  } else if (settings.production) {
    pod_spec.set("priorityClassName", "system-node-critical");
  }
  if (wanted.resources.is_object()) {
    pod_spec.member("containers").item(0).set("resources", wanted.resources);
  } else if (settings.production) {
    pod_spec.member("containers")
        .item(0)
        .set("resources",
             Value::object({{"requests", Value::object({{"cpu", "10m"}, {"memory", "64Mi"}})}}));
  }
}

}  // namespace

Value agent_set(const DASOperator& op, const Settings& settings) {
  Value container = settings.dra()
                        ? stand_in("das-daemonset", {"/usr/bin/das-daemonset", "daemonset",
                                                     "--allocation-api=" + settings.allocation_api})
                        : stand_in("das-daemonset", {"/usr/bin/das-daemonset", "daemonset"});
  if (settings.production) {
    container = real_agent(settings);
  } else {
    Value env = Value::list({node_name(), variable("NVIDIA_MIG_CONFIG_DEVICES", "all")});
    if (settings.emulated()) {
      env.push_back(variable("EMULATED_MODE", "enabled"));
    }
    container.set("env", std::move(env));
    if (settings.agent_image != Settings{}.agent_image) {
      container.set("image", settings.agent_image);
    }
  }
  const Value pod_labels = Value::object({{"k8s-app", "das-daemonset"}, {"name", "das-daemonset"}});
  Value pod = pod_template(pod_labels, settings.production ? "das-daemonset" : "das-operator",
                           std::move(container));
  pod.member("spec").set("nodeSelector", agent_selector(op));
  add_place(op, settings, pod.member("spec"));
  if (settings.production) {
    add_folders(pod.member("spec"), settings);
    if (!settings.emulated()) {
      pod.member("spec").set("runtimeClassName", kRuntimeClass);
    }
  }
  Value object = make_object(api::kDaemonSet, "das-daemonset", settings);
  object.member("metadata").set("labels", Value::object({{"k8s-app", "das-daemonset"}}));
  object.set(
      "spec",
      Value::object({{"selector",
                      Value::object({{"matchLabels", Value::object({{"name", "das-daemonset"}})}})},
                     {"template", std::move(pod)}}));
  return object;
}

}  // namespace athanor::das
