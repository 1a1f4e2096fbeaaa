// SPDX-License-Identifier: Apache-2.0
#include "systems/das/operands.hpp"

#include <fmt/core.h>

#include <initializer_list>
#include <map>
#include <string>
#include <utility>

#include "api/builtin.hpp"
#include "runtime/view/tls_profile.hpp"
#include "systems/das/names.hpp"
#include "systems/das/vendor/vendor.hpp"

namespace athanor::das {
namespace {

Value labels(std::initializer_list<Member> members) {
  return Value::object(members);
}

Value make(const Kind& kind, const char* name, const Settings& settings) {
  const std::string api_version = kind.group.empty()
                                      ? std::string(kind.version)
                                      : fmt::format("{}/{}", kind.group, kind.version);
  return Value::object({{"apiVersion", api_version},
                        {"kind", kind.name},
                        {"metadata", Value::object({{"name", name}, {"namespace", settings.ns}})}});
}

// A pod of a lab stands for a part of the process: it runs, and its arguments say what it is.
Value stand_in(const char* container, std::initializer_list<std::string> words) {
  Value command = Value::list({"/bin/sh", "-c", "exec sleep infinity"});
  for (const std::string& word : words) {
    command.push_back(word);
  }
  return Value::object(
      {{"name", container}, {"image", "athanor/das:lab"}, {"command", std::move(command)}});
}

Value variable(const char* name, const char* value) {
  return Value::object({{"name", name}, {"value", value}});
}

Value pod_template(const Value& pod_labels, const char* account, Value container) {
  return Value::object(
      {{"metadata", Value::object({{"labels", pod_labels}})},
       {"spec", Value::object({{"serviceAccountName", account},
                               {"containers", Value::list({std::move(container)})}})}});
}

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
  Value env = Value::list({node_name(), variable("NVIDIA_MIG_CONFIG_DEVICES", "all"),
                           variable("NVIDIA_VISIBLE_DEVICES", "all"),
                           variable("NVIDIA_DRIVER_CAPABILITIES", "compute,utility"),
                           variable("NVIDIA_DISABLE_REQUIRE", "true")});
  if (settings.emulated()) {
    env.push_back(variable("EMULATED_MODE", "enabled"));
    env.push_back(variable("EMULATED_GPU_MODEL", settings.gpu_model.c_str()));
    env.push_back(variable("EMULATED_GPU_COUNT", std::to_string(settings.gpu_count).c_str()));
    env.push_back(variable("EMULATED_DEVICE_IDS", settings.device_ids.c_str()));
  }
  if (settings.dra()) {
    env.push_back(variable("DAS_ALLOCATION_API", settings.allocation_api.c_str()));
  }
  if (!settings.memory_quota_resource.empty()) {
    env.push_back(variable("DAS_MEMORY_QUOTA_RESOURCE", settings.memory_quota_resource.c_str()));
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

Value agent(const DASOperator& op, const Settings& settings) {
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
  }
  const Value pod_labels = labels({{"k8s-app", "das-daemonset"}, {"name", "das-daemonset"}});
  Value pod = pod_template(pod_labels, settings.production ? "das-daemonset" : "das-operator",
                           std::move(container));
  pod.member("spec").set("nodeSelector", agent_selector(op));
  if (settings.production) {
    add_folders(pod.member("spec"), settings);
    if (!settings.emulated()) {
      pod.member("spec").set("runtimeClassName", kRuntimeClass);
    }
  }
  Value object = make(api::kDaemonSet, "das-daemonset", settings);
  object.member("metadata").set("labels", labels({{"k8s-app", "das-daemonset"}}));
  object.set("spec",
             Value::object({{"selector",
                             Value::object({{"matchLabels", labels({{"name", "das-daemonset"}})}})},
                            {"template", std::move(pod)}}));
  return object;
}

Value deployment(const char* name, int replicas, const Value& pod_labels, const char* account,
                 Value container, const Settings& settings) {
  Value object = make(api::kDeployment, name, settings);
  object.member("metadata").set("labels", pod_labels);
  object.set("spec", Value::object(
                         {{"replicas", replicas},
                          {"selector", Value::object({{"matchLabels", pod_labels}})},
                          {"template", pod_template(pod_labels, account, std::move(container))}}));
  return object;
}

Value scheduler_config(const DASOperator& op, const Settings& settings) {
  Value object = make(api::kConfigMap, "das-scheduler-config", settings);
  object.member("metadata")
      .set("annotations", Value::object({{kLogLevelAnnotation, op.spec.operator_log_level.empty()
                                                                   ? "Normal"
                                                                   : op.spec.operator_log_level}}));
  object.set(
      "data",
      Value::object({{"config.yaml", fmt::format(
                                         R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: true
  resourceName: das-scheduler
  resourceNamespace: {0}
profiles:
- schedulerName: das-scheduler
  plugins:
    multiPoint:
      enabled:
      - name: MigAccelerator
  pluginConfig:
  - name: MigAccelerator
    args:
      namespace: {0}
      placementPolicy: {1}
      gpuOrder: {2}
      nodeScoringPolicy: {3}
      profileWeights: {4}
)",
                                         settings.ns, settings.placement_policy, settings.gpu_order,
                                         settings.node_scoring_policy, settings.weights_text())}}));
  return object;
}

Value policy(const char* name, Value spec, const Settings& settings) {
  Value object = make(kNetworkPolicy, name, settings);
  object.set("spec", std::move(spec));
  return object;
}

Value port(const char* protocol, Value number) {
  return Value::object({{"protocol", protocol}, {"port", std::move(number)}});
}

void add_policies(const Settings& settings, std::vector<Operand>& operands) {
  const auto add = [&](const char* name, Value spec) {
    operands.push_back({&kNetworkPolicy, policy(name, std::move(spec), settings)});
  };
  const Value all = Value::object();
  add("das-deny-all",
      Value::object({{"podSelector", all}, {"policyTypes", Value::list({"Ingress", "Egress"})}}));
  const auto egress = [&](Value rule) {
    return Value::object({{"podSelector", all},
                          {"policyTypes", Value::list({"Egress"})},
                          {"egress", Value::list({std::move(rule)})}});
  };
  add("das-allow-egress-kube-apiserver",
      egress(Value::object({{"ports", Value::list({port("TCP", 6443)})}})));
  add("das-allow-egress-cluster-dns",
      egress(Value::object(
          {{"to", Value::list({Value::object(
                      {{"namespaceSelector",
                        Value::object({{"matchLabels", labels({{"kubernetes.io/metadata.name",
                                                                "kube-system"}})}})},
                       {"podSelector",
                        Value::object({{"matchLabels", labels({{"k8s-app", "kube-dns"}})}})}})})},
           {"ports", Value::list({port("UDP", "dns"), port("TCP", "dns-tcp")})}})));
  add("das-allow-ingress-webhook",
      Value::object(
          {{"podSelector", Value::object({{"matchLabels", labels({{"app.kubernetes.io/name",
                                                                   "das-operator-webhook"}})}})},
           {"policyTypes", Value::list({"Ingress"})},
           {"ingress",
            Value::list({Value::object({{"ports", Value::list({port("TCP", 8443)})}})})}}));
}

std::vector<Operand> owned_by(const DASOperator& op, std::vector<Operand> operands) {
  const OwnerReference owner{.api_version = kGroupVersion,
                             .kind = std::string(kDASOperator.name),
                             .name = std::string(op.object.name()),
                             .uid = std::string(op.object.uid())};
  for (Operand& operand : operands) {
    operand.object.member("metadata").set("ownerReferences", Value::list({owner.to_value()}));
  }
  return operands;
}

}  // namespace

std::vector<Operand> operands_of(const DASOperator& op, const Settings& settings,
                                 const Value* tls) {
  std::vector<Operand> operands;
  operands.push_back({&api::kDaemonSet, agent(op, settings)});
  if (tls != nullptr && settings.production) {
    Value& set = operands.back().object;
    add_tls_flags(read_tls_profile(*tls), "--", set);
    set.member("spec")
        .member("template")
        .member("metadata")
        .set("annotations", Value::object({{kTlsAnnotation, tls_profile_hash(*tls)}}));
  }
  if (settings.production) {
    operands.push_back(
        {&api::kServiceAccount, make(api::kServiceAccount, "das-daemonset", settings)});
    return owned_by(op, std::move(operands));
  }
  operands.push_back({&api::kConfigMap, scheduler_config(op, settings)});
  operands.push_back(
      {&api::kServiceAccount, make(api::kServiceAccount, "das-scheduler", settings)});
  operands.push_back(
      {&api::kDeployment,
       deployment(
           "das-scheduler", 2, labels({{"app", "das-scheduler"}}), "das-scheduler",
           stand_in("scheduler", {"das-scheduler", "--config=/etc/das-scheduler/config.yaml"}),
           settings)});
  const Value webhook_labels = labels({{"app.kubernetes.io/name", "das-operator-webhook"},
                                       {"app.kubernetes.io/part-of", "das-operator"}});
  operands.push_back(
      {&api::kDeployment,
       deployment("das-operator-webhook", 2, webhook_labels, "das-operator",
                  stand_in("das-operator-webhook", {"/usr/bin/das-webhook", "serve", "--tls=true"}),
                  settings)});
  Value service = make(api::kService, "das-operator-webhook", settings);
  service.set("spec",
              Value::object({{"selector", webhook_labels},
                             {"ports", Value::list({Value::object({{"name", "https"},
                                                                   {"port", 8443},
                                                                   {"targetPort", 8443},
                                                                   {"protocol", "TCP"}})})}}));
  operands.push_back({&api::kService, std::move(service)});
  add_policies(settings, operands);
  return owned_by(op, std::move(operands));
}

Value operator_deployment(const Settings& settings) {
  Value container = stand_in("das-operator", {"/usr/bin/das-operator", "operator"});
  container.set("env", Value::list({variable("OPERATOR_NAME", "das-operator"),
                                    variable("EMULATED_MODE", settings.emulated_mode.c_str())}));
  return deployment("das-operator", 2, labels({{"name", "das-operator"}}), "das-operator",
                    std::move(container), settings);
}

}  // namespace athanor::das
