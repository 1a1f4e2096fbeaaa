// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/operator/operator_manifests.hpp"

#include <fmt/core.h>

#include "api/describe.hpp"
#include "base/check.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/operator/operator_rights.hpp"

namespace athanor::numa {
namespace {

constexpr const char* kName = "numaresources-controller-manager";

constexpr std::string_view kOperatorObjects = R"yaml(
apiVersion: v1
kind: ServiceAccount
metadata: {name: numaresources-controller-manager}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: numaresources-controller-manager}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: numaresources-controller-manager}
subjects:
- {kind: ServiceAccount, name: numaresources-controller-manager}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: numaresources-controller-manager}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: numaresources-controller-manager}
subjects:
- {kind: ServiceAccount, name: numaresources-controller-manager}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: numaresources-operator-egress-to-api-server}
spec:
  podSelector: {matchLabels: {app: numaresources-operator}}
  policyTypes: [Egress]
  egress:
  - ports:
    - {protocol: TCP, port: 6443}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: numaresources-ingress-to-operator-metrics}
spec:
  podSelector: {matchLabels: {app: numaresources-operator}}
  policyTypes: [Ingress]
  ingress:
  - ports:
    - {protocol: TCP, port: 8080}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: numaresources-operator-default-deny-all}
spec:
  podSelector: {matchLabels: {app: numaresources-operator}}
  policyTypes: [Ingress, Egress]
---
apiVersion: v1
kind: Service
metadata:
  name: numaresources-controller-manager-metrics-service
  labels: {control-plane: controller-manager}
spec:
  selector: {control-plane: controller-manager}
  ports:
  - {name: https, protocol: TCP, port: 8080, targetPort: 8080}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: numaresources-controller-manager
  labels: {app: numaresources-operator, control-plane: controller-manager}
spec:
  replicas: 1
  selector: {matchLabels: {control-plane: controller-manager}}
  template:
    metadata:
      labels: {app: numaresources-operator, control-plane: controller-manager}
    spec:
      serviceAccountName: numaresources-controller-manager
      terminationGracePeriodSeconds: 10
      securityContext:
        runAsNonRoot: true
        seccompProfile: {type: RuntimeDefault}
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
      containers:
      - name: manager
        args:
        - controllers
        - --systems=numa
        env:
        - {name: NAMESPACE, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.namespace}}}
        - {name: PODNAME, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.name}}}
        - {name: POD_NAME, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.name}}}
        - {name: POD_NAMESPACE, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.namespace}}}
        ports:
        - {name: metrics, containerPort: 8080, protocol: TCP}
        - {name: health, containerPort: 8081, protocol: TCP}
        resources:
          requests: {cpu: 100m, memory: 20Mi}
        securityContext:
          allowPrivilegeEscalation: false
          capabilities: {drop: [ALL]}
        terminationMessagePolicy: FallbackToLogsOnError
        startupProbe:
          httpGet: {path: /healthz, port: health}
          periodSeconds: 10
          failureThreshold: 3
        livenessProbe:
          httpGet: {path: /healthz, port: health}
          periodSeconds: 10
        readinessProbe:
          httpGet: {path: /readyz, port: health}
          initialDelaySeconds: 5
          periodSeconds: 10
)yaml";

constexpr std::string_view kMonitoring = R"yaml(
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: numaresources-controller-manager
  labels: {control-plane: controller-manager}
spec:
  selector: {matchLabels: {control-plane: controller-manager}}
  endpoints:
  - interval: 30s
    path: /metrics
    scheme: https
    targetPort: 8080
    bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token
    tlsConfig: {insecureSkipVerify: true}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: prometheus-k8s}
rules:
- {apiGroups: [""], resources: [services, endpoints, pods], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: prometheus-k8s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: prometheus-k8s}
subjects:
- {kind: ServiceAccount, name: prometheus-k8s, namespace: openshift-monitoring}
)yaml";

std::vector<Value> parsed_operator(std::string_view text) {
  auto documents = yaml::parse_all(text);
  ATHANOR_CHECK(documents.ok(), "manifests in the program are valid");
  return *std::move(documents);
}

void place(Value& object, const std::string& ns) {
  if (!object["kind"].as_string().starts_with("Cluster")) {
    object.member("metadata").set("namespace", ns);
  }
  for (std::size_t i = 0; i < object["subjects"].size(); ++i) {
    if (object["subjects"][i]["namespace"].is_null()) {
      object.member("subjects").item(i).set("namespace", ns);
    }
  }
}

Value deployment_of(Value deployment, const OperatorInstall& install) {
  Value& container =
      deployment.member("spec").member("template").member("spec").member("containers").item(0);
  container.set("image", install.image);
  return deployment;
}

// The operator's name in OLM and its installation.
Value service_version(const OperatorInstall& install, const std::string& version) {
  Value csv = parsed_operator(R"yaml(
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  annotations: {capabilities: Basic Install}
spec:
  displayName: numaresources-operator
  description: Accounts NUMA zones of nodes and places pods where they fit.
  installModes:
  - {type: OwnNamespace, supported: true}
  - {type: SingleNamespace, supported: true}
  - {type: MultiNamespace, supported: false}
  - {type: AllNamespaces, supported: true}
)yaml")
                  .front();
  csv.member("metadata").set("name", "numaresources-operator.v" + version);
  csv.member("spec").set("version", version);
  Value owned = Value::list();
  for (const api::CustomKind* custom : numa_kinds()) {
    if (custom->kind->group == kGroup) {
      owned.push_back(
          Value::object({{"kind", custom->kind->name},
                         {"name", fmt::format("{}.{}", custom->kind->plural, custom->kind->group)},
                         {"version", custom->kind->version},
                         {"displayName", custom->kind->name}}));
    }
  }
  csv.set_path({"spec", "customresourcedefinitions", "owned"}, std::move(owned));
  Value strategy = Value::object();
  for (const Value& object : operator_manifests(install)) {
    if (object["kind"].as_string() == "Deployment") {
      strategy.set("deployments",
                   Value::list({Value::object({{"name", kName}, {"spec", object["spec"]}})}));
    }
  }
  strategy.set("clusterPermissions",
               Value::list({Value::object(
                   {{"serviceAccountName", kName}, {"rules", operator_cluster_rules()}})}));
  strategy.set(
      "permissions",
      Value::list({Value::object({{"serviceAccountName", kName}, {"rules", operator_rules()}})}));
  csv.set_path({"spec", "install"},
               Value::object({{"strategy", "deployment"}, {"spec", std::move(strategy)}}));
  // The sample objects, as the console offers them.
  const Value examples = Value::list(
      {Value::object({{"apiVersion", kOperatorKind.api_version()},
                      {"kind", kOperatorKind.name},
                      {"metadata", Value::object({{"name", kOperatorName}})},
                      {"spec", Value::object({{"nodeGroups", Value::list({Value::object(
                                                                 {{"poolName", "worker"}})})}})}}),
       Value::object({{"apiVersion", kSchedulerKind.api_version()},
                      {"kind", kSchedulerKind.name},
                      {"metadata", Value::object({{"name", kSchedulerName}})},
                      {"spec", Value::object({{"imageSpec", install.scheduler_image}})}})});
  csv.set_path({"metadata", "annotations", "alm-examples"}, json::print(examples));
  return csv;
}

}  // namespace

Value topology_definition() {
  return api::crd_manifest(topology_crd());
}

std::vector<Value> operator_manifests(const OperatorInstall& install) {
  std::vector<Value> manifests;
  manifests.push_back(Value::object({{"apiVersion", "v1"},
                                     {"kind", "Namespace"},
                                     {"metadata", Value::object({{"name", install.ns}})}}));
  for (const api::CustomKind* custom : numa_kinds()) {
    manifests.push_back(api::crd_manifest(*custom));
  }
  manifests.push_back(Value::object({{"apiVersion", "rbac.authorization.k8s.io/v1"},
                                     {"kind", "ClusterRole"},
                                     {"metadata", Value::object({{"name", kName}})},
                                     {"rules", operator_cluster_rules()}}));
  manifests.push_back(
      Value::object({{"apiVersion", "rbac.authorization.k8s.io/v1"},
                     {"kind", "Role"},
                     {"metadata", Value::object({{"name", kName}, {"namespace", install.ns}})},
                     {"rules", operator_rules()}}));
  for (Value& object : parsed_operator(kOperatorObjects)) {
    place(object, install.ns);
    const bool runs = object["kind"].as_string() == "Deployment";
    manifests.push_back(runs ? deployment_of(object, install) : std::move(object));
  }
  if (install.monitoring) {
    for (Value& object : parsed_operator(kMonitoring)) {
      place(object, install.ns);
      if (object["kind"].as_string() == "ServiceMonitor") {
        object.member("spec")
            .member("endpoints")
            .item(0)
            .member("tlsConfig")
            .set("serverName", fmt::format("{}-metrics-service.{}.svc", kName, install.ns));
      }
      manifests.push_back(std::move(object));
    }
  }
  return manifests;
}

std::vector<std::pair<std::string, std::string>> bundle_files(const OperatorInstall& install,
                                                              const std::string& version) {
  std::vector<std::pair<std::string, std::string>> files;
  files.emplace_back("manifests/numaresources-operator.clusterserviceversion.yaml",
                     yaml::print(service_version(install, version)));
  for (const api::CustomKind* custom : numa_kinds()) {
    if (custom->kind->group == kGroup) {
      files.emplace_back(
          fmt::format("manifests/{}_{}.yaml", custom->kind->group, custom->kind->plural),
          yaml::print(api::crd_manifest(*custom)));
    }
  }
  for (Value& object : parsed_operator(kOperatorObjects)) {
    const std::string kind = object["kind"].str();
    if (kind == "Service" || kind == "NetworkPolicy") {
      files.emplace_back(
          fmt::format("manifests/{}_{}.yaml", object["metadata"]["name"].as_string(), kind),
          yaml::print(object));
    }
  }
  files.emplace_back(
      "metadata/annotations.yaml",
      "annotations:\n"
      "  operators.operatorframework.io.bundle.channel.default.v1: alpha\n"
      "  operators.operatorframework.io.bundle.channels.v1: alpha\n"
      "  operators.operatorframework.io.bundle.manifests.v1: manifests/\n"
      "  operators.operatorframework.io.bundle.mediatype.v1: registry+v1\n"
      "  operators.operatorframework.io.bundle.metadata.v1: metadata/\n"
      "  operators.operatorframework.io.bundle.package.v1: numaresources-operator\n");
  return files;
}

}  // namespace athanor::numa
