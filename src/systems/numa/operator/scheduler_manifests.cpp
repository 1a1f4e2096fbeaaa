// SPDX-License-Identifier: Apache-2.0
// Objects and configuration of the secondary scheduler (docs/spec/numa.md 8.4, 8.5).
#include <fmt/core.h>

#include "base/check.hpp"
#include "kube/text/yaml.hpp"
#include "systems/numa/operator/manifests.hpp"

namespace athanor::numa {
namespace {

constexpr std::string_view kSchedulerObjects = R"yaml(
apiVersion: v1
kind: ServiceAccount
metadata: {name: secondary-scheduler}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: topology-aware-scheduler}
rules:
- {apiGroups: ["", events.k8s.io], resources: [events], verbs: [create, patch, update]}
- {apiGroups: [""], resources: [nodes], verbs: [get, list, watch]}
- {apiGroups: [""], resources: [pods], verbs: [get, list, watch, delete]}
- {apiGroups: [""], resources: [bindings, pods/binding], verbs: [create]}
- {apiGroups: [""], resources: [pods/status], verbs: [patch, update]}
- {apiGroups: [""], resources: [replicationcontrollers, services, namespaces, persistentvolumeclaims, persistentvolumes], verbs: [get, list, watch]}
- {apiGroups: [apps, extensions], resources: [replicasets], verbs: [get, list, watch]}
- {apiGroups: [apps], resources: [statefulsets], verbs: [get, list, watch]}
- {apiGroups: [policy], resources: [poddisruptionbudgets], verbs: [get, list, watch]}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}
- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [numa-scheduler-leader], verbs: [get, list, update, watch]}
- {apiGroups: [coordination.k8s.io], resources: [leasecandidates], verbs: [create, delete, deletecollection, get, list, patch, update, watch]}
- {apiGroups: [authentication.k8s.io], resources: [tokenreviews], verbs: [create]}
- {apiGroups: [authorization.k8s.io], resources: [subjectaccessreviews], verbs: [create]}
- {apiGroups: [storage.k8s.io], resources: [csinodes, storageclasses, csidrivers, csistoragecapacities, volumeattachments], verbs: [get, list, watch]}
- {apiGroups: [resource.k8s.io], resources: [deviceclasses, resourceclaims, resourceslices], verbs: [get, list, watch]}
- {apiGroups: [topology.node.k8s.io], resources: [noderesourcetopologies], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: topology-aware-scheduler}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: topology-aware-scheduler}
subjects:
- {kind: ServiceAccount, name: secondary-scheduler}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: topology-aware-scheduler-leader-elect}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}
- {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [numa-scheduler-leader], verbs: [get, update]}
- {apiGroups: [""], resources: [endpoints], verbs: [create]}
- {apiGroups: [""], resources: [endpoints], resourceNames: [numa-scheduler-leader], verbs: [get, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: topology-aware-scheduler-leader-elect}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: topology-aware-scheduler-leader-elect}
subjects:
- {kind: ServiceAccount, name: secondary-scheduler}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: scheduler-default-deny-all}
spec:
  podSelector: {matchLabels: {app: secondary-scheduler}}
  policyTypes: [Ingress, Egress]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: scheduler-egress-to-api-server}
spec:
  podSelector: {matchLabels: {app: secondary-scheduler}}
  policyTypes: [Egress]
  egress:
  - ports:
    - {protocol: TCP, port: 6443}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: secondary-scheduler, labels: {app: secondary-scheduler}}
spec:
  selector: {matchLabels: {app: secondary-scheduler}}
  template:
    metadata:
      labels: {app: secondary-scheduler}
      annotations:
        target.workload.openshift.io/management: '{"effect": "PreferredDuringScheduling"}'
    spec:
      serviceAccountName: secondary-scheduler
      priorityClassName: system-node-critical
      tolerations:
      - {key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule}
      - {key: node-role.kubernetes.io/master, operator: Exists, effect: NoSchedule}
      affinity:
        nodeAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 1
            preference:
              matchExpressions:
              - {key: node-role.kubernetes.io/control-plane, operator: Exists}
      topologySpreadConstraints:
      - topologyKey: kubernetes.io/hostname
        maxSkew: 1
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: secondary-scheduler}}
        matchLabelKeys: [pod-template-hash]
      securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: secondary-scheduler
        command: [/bin/kube-scheduler]
        securityContext:
          allowPrivilegeEscalation: false
          capabilities: {drop: [ALL]}
        resources:
          requests: {cpu: 150m, memory: 500Mi}
        volumeMounts:
        - {name: etckubernetes, mountPath: /etc/kubernetes}
        - {name: runpfpstatus, mountPath: /run/pfpstatus}
      volumes:
      - {name: etckubernetes, configMap: {name: topo-aware-scheduler-config}}
      - {name: runpfpstatus, emptyDir: {medium: Memory, sizeLimit: 64Mi}}
)yaml";

constexpr std::string_view kConfig = R"yaml(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: false
  resourceName: numa-scheduler-leader
profiles:
- pluginConfig:
  - args:
      apiVersion: kubescheduler.config.k8s.io/v1
      cache:
        foreignPodsDetect: OnlyExclusiveResources
        informerMode: Dedicated
        resyncMethod: Autodetect
      kind: NodeResourceTopologyMatchArgs
      scoringStrategy: {type: LeastAllocated}
    name: NodeResourceTopologyMatch
  plugins:
    filter:
      disabled: [{name: '*'}]
      enabled: [{name: NodeUnschedulable}, {name: NodeName}, {name: TaintToleration},
        {name: NodeAffinity}, {name: NodePorts}, {name: KNIDebug}, {name: NodeResourcesFit},
        {name: NodeResourceTopologyMatch}, {name: VolumeRestrictions}, {name: NodeVolumeLimits},
        {name: VolumeBinding}, {name: VolumeZone}, {name: PodTopologySpread},
        {name: InterPodAffinity}]
    multiPoint:
      disabled: [{name: DynamicResources}]
      enabled: [{name: NodeResourceTopologyMatch}]
)yaml";

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
  Value config = parsed_scheduler(kConfig).front();
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
  std::vector<Value> objects = parsed_scheduler(kSchedulerObjects);
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
