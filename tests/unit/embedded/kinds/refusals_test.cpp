// SPDX-License-Identifier: Apache-2.0
// What each family of kinds refuses, with the words of the reference (the sweep over every place of
// every object brought these to light: docs/testing.md).
#include <string>
#include <string_view>

#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::refusals_test {
namespace {

constexpr std::string_view kPods = "/api/v1/namespaces/tst/pods";
constexpr std::string_view kDeployments = "/apis/apps/v1/namespaces/tst/deployments";
constexpr std::string_view kReplicaSets = "/apis/apps/v1/namespaces/tst/replicasets";
constexpr std::string_view kStatefulSets = "/apis/apps/v1/namespaces/tst/statefulsets";
constexpr std::string_view kDaemonSets = "/apis/apps/v1/namespaces/tst/daemonsets";
constexpr std::string_view kRevisions = "/apis/apps/v1/namespaces/tst/controllerrevisions";
constexpr std::string_view kJobs = "/apis/batch/v1/namespaces/tst/jobs";
constexpr std::string_view kScalers =
    "/apis/autoscaling/v2/namespaces/tst/horizontalpodautoscalers";
constexpr std::string_view kIngresses = "/apis/networking.k8s.io/v1/namespaces/tst/ingresses";
constexpr std::string_view kIngressClasses = "/apis/networking.k8s.io/v1/ingressclasses";
constexpr std::string_view kLimits = "/api/v1/namespaces/tst/limitranges";
constexpr std::string_view kQuotas = "/api/v1/namespaces/tst/resourcequotas";
constexpr std::string_view kClaims = "/api/v1/namespaces/tst/persistentvolumeclaims";
constexpr std::string_view kServices = "/api/v1/namespaces/tst/services";
constexpr std::string_view kEndpointSlices =
    "/apis/discovery.k8s.io/v1/namespaces/tst/endpointslices";
constexpr std::string_view kHooks =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
constexpr std::string_view kDeviceClasses = "/apis/resource.k8s.io/v1/deviceclasses";
constexpr std::string_view kDeviceClaims = "/apis/resource.k8s.io/v1/namespaces/tst/resourceclaims";

struct Refusal {
  const char* what;
  std::string_view path;
  std::string spec;   // the object without metadata
  const char* cause;  // one of the errors, as the message tells it
};

std::string pod(const std::string& spec, const std::string& container = {}) {
  return R"("spec":{"containers":[{"name":"c","image":"x")" + container + "}]" + spec + "}";
}

std::string workload(const std::string& spec, const std::string& template_spec = {},
                     const std::string& labels = R"({"a":"b"})") {
  return R"("spec":{"selector":{"matchLabels":)" + labels +
         R"(},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c",)"
         R"("image":"x","volumeMounts":[{"name":"v","mountPath":"/v"}]}],"volumes":[{"name":"v")" +
         template_spec + "}]}}" + spec + "}";
}

std::string scaler(const std::string& more) {
  return R"("spec":{"maxReplicas":2,"scaleTargetRef":{"kind":"Deployment","name":"a",)"
         R"("apiVersion":"apps/v1"})" +
         more + "}";
}

std::string ingress(const std::string& path) {
  return R"("spec":{"rules":[{"host":"a.b","http":{"paths":[{"pathType":"Prefix",)" + path +
         "}]}}]}";
}

std::string limit(const std::string& item) {
  return R"("spec":{"limits":[)" + item + "]}";
}

std::string claim(const std::string& more) {
  return R"("spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}})" +
         more + "}";
}

std::string hook(const std::string& more) {
  return R"("webhooks":[{"name":"w.ex.com","sideEffects":"None","admissionReviewVersions":["v1"],)" +
         more + "}]";
}

class KindRefusals : public ::testing::TestWithParam<Refusal> {};

TEST_P(KindRefusals, MatchTextsOfReference) {
  TestServer server;
  const Refusal& refusal = GetParam();
  const Answer answer =
      server.post(refusal.path, parse(R"({"metadata":{"name":"n"},)" + refusal.spec + "}"));
  EXPECT_EQ(answer.status, 422) << answer.text;
  EXPECT_NE(answer.message().find(refusal.cause), std::string::npos) << answer.message();
}

const Refusal kPodRefusals[] = {
    {"sysctl", kPods, pod(R"(,"securityContext":{"sysctls":[{"name":"A_b","value":"1"}]})"),
     "spec.securityContext.sysctls[0].name: Invalid value: \"A_b\": must have at most 253"},
    {"host_sysctl", kPods,
     pod(R"(,"hostNetwork":true,"securityContext":{"sysctls":[{"name":"net.x","value":"1"}]})"),
     "may not be specified when 'hostNetwork' is true"},
    {"user", kPods, pod("", R"(,"securityContext":{"runAsUser":-1})"),
     "securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive"},
    {"group", kPods, pod(R"(,"securityContext":{"fsGroup":1099511627776})"),
     "spec.securityContext.fsGroup: Invalid value: 1099511627776: must be between 0 and"},
    {"seccomp", kPods, pod(R"(,"securityContext":{"seccompProfile":{"type":"Localhost"}})"),
     "seccompProfile.localhostProfile: Required value: must be set when seccomp type"},
    {"escalation", kPods,
     pod("", R"(,"securityContext":{"privileged":true,"allowPrivilegeEscalation":false})"),
     "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"},
    {"spread", kPods, pod(R"(,"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"z"}])"),
     "spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: \"\": supported "
     "values: \"DoNotSchedule\", \"ScheduleAnyway\""},
    {"spread_twice", kPods, pod(R"(,"topologySpreadConstraints":[
       {"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule"},
       {"maxSkew":2,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule"}])"),
     "{topologyKey, whenUnsatisfiable}: Duplicate value: \"{z, DoNotSchedule}\""},
    {"pod_amount_name", kPods, pod(R"(,"resources":{"limits":{"ephemeral-storage":"1Gi"}})"),
     "spec.resources.limits[ephemeral-storage]: Unsupported value: \"ephemeral-storage\": "
     "supported "
     "values: \"cpu\", \"hugepages-\", \"memory\""},
    {"pod_amount_claims", kPods,
     pod(R"(,"resources":{"limits":{"cpu":"1"},"claims":[{"name":"x"}]})"),
     "spec.resources.claims: Forbidden: claims cannot be set for Resources at pod-level"},
    {"pod_amount_order", kPods,
     pod(R"(,"resources":{"limits":{"cpu":"1"},"requests":{"cpu":"2"}})"),
     "spec.resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1"},
    {"pod_amount_sum", kPods,
     pod(R"(,"resources":{"requests":{"cpu":"1"}})", R"(,"resources":{"requests":{"cpu":"2"}})"),
     "spec.resources.requests[cpu]: Invalid value: \"1\": must be greater than or equal to "
     "aggregate "
     "container requests of 2"},
    {"pod_amount_limit", kPods,
     pod(R"(,"resources":{"limits":{"cpu":"1"}})",
         R"(,"resources":{"limits":{"cpu":"2"},"requests":{"cpu":"1"}})"),
     "spec.resources.containers[0][cpu].limits: Invalid value: \"2\": must be less than or equal "
     "to "
     "pod limits of 1"},
    {"pod_amount_system", kPods, pod(R"(,"os":{"name":"windows"},"resources":{})"),
     "spec.resources: Forbidden: may not be set for a windows pod"},
    {"node_values", kPods,
     pod(R"(,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
       {"nodeSelectorTerms":[{"matchExpressions":[{"key":"k","operator":"In","values":["-"]}]}]}}})"),
     "nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: \"-\": a valid label"},
    {"node_fields", kPods,
     pod(R"(,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
       {"nodeSelectorTerms":[{"matchFields":[{"key":"k","operator":"In","values":["a"]}]}]}}})"),
     "matchFields[0].key: Invalid value: \"k\": not a valid field selector key"},
    {"topology", kPods,
     pod(R"(,"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{}]}})"),
     "topologyKey: Invalid value: \"\": name part must be non-empty"},
    {"gate", kPods, pod(R"(,"nodeName":"n","schedulingGates":[{"name":"a.b/c"}])"),
     "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"},
    {"grace", kPods,
     pod("", R"(,"readinessProbe":{"tcpSocket":{"port":1},"terminationGracePeriodSeconds":1})"),
     "terminationGracePeriodSeconds: Invalid value: 1: must not be set for readinessProbes"},
    {"sleep", kPods, pod("", R"(,"lifecycle":{"preStop":{"sleep":{"seconds":31}}})"),
     "must be non-negative and less than terminationGracePeriodSeconds (30)"},
    {"env_from", kPods, pod("", R"(,"envFrom":[{}])"),
     "envFrom: Invalid value: \"\": must specify one of: `configMapRef` or `secretRef`"},
    {"sub_path", kPods,
     pod(R"(,"volumes":[{"name":"v"}])",
         R"(,"volumeMounts":[{"name":"v","mountPath":"/v","subPath":"/x"}])"),
     "volumeMounts.subPath: Invalid value: \"/x\": must be a relative path"},
    {"broken_volume", kPods,
     pod(R"(,"volumes":[{"name":"v","hostPath":{}}])",
         R"(,"volumeMounts":[{"name":"v","mountPath":"/v"}])"),
     "spec.containers[0].volumeMounts[0].name: Not found: \"v\""},
    {"node_port", kPods,
     pod(R"(,"hostNetwork":true)", R"(,"ports":[{"containerPort":1,"hostPort":2}])"),
     "must match `containerPort` when `hostNetwork` is true"},
};
INSTANTIATE_TEST_SUITE_P(Pods, KindRefusals, ::testing::ValuesIn(kPodRefusals),
                         [](const auto& row) { return row.param.what; });

const Refusal kWorkloadRefusals[] = {
    {"strategy", kDeployments, workload(R"(,"strategy":{"type":"x"})"),
     R"(spec.strategy: Unsupported value: {"Type":"x","RollingUpdate":null}: supported values: )"
     R"("Recreate", "RollingUpdate")"},
    {"selector", kReplicaSets, workload("", "", R"({"a":"-"})"),
     R"(spec.selector: Invalid value: {"matchLabels":{"a":"-"}}: invalid label selector)"},
    {"daemon_update", kDaemonSets,
     workload(R"(,"updateStrategy":{"rollingUpdate":{"maxUnavailable":0}})"),
     "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge"},
    {"daemon_both", kDaemonSets,
     workload(R"(,"updateStrategy":{"rollingUpdate":{"maxUnavailable":1,"maxSurge":1}})"),
     "maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero"},
    {"daemon_strategy", kDaemonSets, workload(R"(,"updateStrategy":{"type":"x"})"),
     R"(spec.updateStrategy: Unsupported value: {"Type":"x","RollingUpdate":null})"},
    {"stateful_strategy", kStatefulSets, workload(R"(,"updateStrategy":{"type":"x"})"),
     R"(spec.updateStrategy: Invalid value: {"Type":"x","RollingUpdate":null}: must be )"
     R"('RollingUpdate' or 'OnDelete')"},
    {"service_name", kStatefulSets, workload(R"(,"serviceName":"A_b")"),
     "spec.serviceName: Invalid value: \"A_b\": a lowercase RFC 1123 label"},
    {"claim_template", kStatefulSets, workload(R"(,"volumeClaimTemplates":[{}])"),
     "spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode"},
    {"claim_volume", kStatefulSets, workload(R"(,"volumeClaimTemplates":[{}])"),
     "spec.template.spec.volumes[0].persistentVolumeClaim.claimName: Required value"},
    {"revision", kRevisions, R"("revision":-1,"data":{})",
     "revision: Invalid value: -1: must be greater than or equal to 0"},
    {"completion_mode", kJobs,
     R"("spec":{"completionMode":"","template":{"spec":{"restartPolicy":"Never",
       "containers":[{"name":"c","image":"x"}]}}})",
     R"(spec.completionMode: Unsupported value: "": supported values: "NonIndexed", "Indexed")"},
};
INSTANTIATE_TEST_SUITE_P(Workloads, KindRefusals, ::testing::ValuesIn(kWorkloadRefusals),
                         [](const auto& row) { return row.param.what; });

const Refusal kOtherRefusals[] = {
    {"metric", kScalers, scaler(R"(,"metrics":[{}])"),
     "spec.metrics[0].type: Required value: must specify a metric source type"},
    {"metric_source", kScalers, scaler(R"(,"metrics":[{"type":"Pods"}])"),
     "spec.metrics[0].pods: Required value: must populate information for the given metric source"},
    {"metric_target", kScalers,
     scaler(R"(,"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"x"}}}])"),
     "target.type: Invalid value: \"x\": must be either Utilization, Value, or AverageValue"},
    {"no_pods", kScalers, scaler(R"(,"minReplicas":0)"),
     "spec.metrics: Forbidden: must specify at least one Object or External metric"},
    {"backend", kIngresses, ingress(R"("path":"/")"),
     "paths[0].backend: Invalid value: \"\": resource or service backend is required"},
    {"backend_port", kIngresses, ingress(R"("path":"/","backend":{"service":{"name":"s"}})"),
     "paths[0].backend: Required value: port name or number is required"},
    {"relative", kIngresses,
     ingress(R"("path":"x","backend":{"service":{"name":"s","port":{"number":1}}})"),
     "paths[0].path: Invalid value: \"x\": must be an absolute path"},
    {"wildcard", kIngresses, R"("spec":{"rules":[{"host":"a.*"}]})",
     "spec.rules[0].host: Invalid value: \"a.*\": a wildcard DNS-1123 subdomain must start"},
    {"controller", kIngressClasses, R"("spec":{"controller":"x"})",
     "spec.controller: Invalid value: \"x\": must be a domain-prefixed path"},
    {"limit_type", kLimits, limit(R"({"type":"x"})"),
     "spec.limits[0].type: Invalid value: \"x\": must be a standard limit type"},
    {"limit_claim", kLimits, limit(R"({"type":"PersistentVolumeClaim"})"),
     "spec.limits[0].limits: Required value: either minimum or maximum storage value"},
    {"limit_resource", kLimits, limit(R"({"type":"Container","max":{"x":1}})"),
     "spec.limits[0].max[x]: Invalid value: \"x\": must be a standard resource for containers"},
    {"limit_order", kLimits, limit(R"({"type":"Container","min":{"cpu":2},"default":{"cpu":1}})"),
     "spec.limits[0].default[cpu]: Invalid value: \"2\": min value 2 is greater than default "
     "value"},
    {"quota_resource", kQuotas, R"("spec":{"hard":{"x":1}})",
     "spec.hard[x]: Invalid value: \"x\": must be a standard resource for quota"},
    {"quota_amount", kQuotas, R"("spec":{"hard":{"count/configmaps":"1500m"}})",
     "spec.hard[count/configmaps]: Invalid value: \"1500m\": must be an integer"},
    {"claim_class", kClaims, claim(R"(,"storageClassName":"A_b")"),
     "spec.storageClassName: Invalid value: \"A_b\": a lowercase RFC 1123 subdomain"},
    {"protocol", kServices, R"("spec":{"ports":[{"port":1,"appProtocol":"-"}]})",
     "spec.ports[0].appProtocol: Invalid value: \"-\": name part must consist"},
    {"address", kServices, R"("spec":{"clusterIP":"x","ports":[{"port":1}]})",
     "spec.clusterIPs[0]: Invalid value: \"x\": must be a valid IP address"},
    {"twin_ports", kServices, R"("spec":{"ports":[{"name":"a","port":1},{"name":"b","port":1}]})",
     R"(spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":1,)"
     R"("TargetPort":0,"NodePort":0})"},
    {"endpoint", kEndpointSlices, R"("addressType":"IPv4","endpoints":[{"addresses":["x"]}])",
     "endpoints[0].addresses[0]: Invalid value: \"x\": must be a valid IP address"},
    {"operation", kHooks,
     hook(R"("clientConfig":{"url":"https://a"},"rules":[{"operations":[""],"apiGroups":["a"],
       "apiVersions":["v1"],"resources":["x"]}])"),
     "webhooks[0].rules[0].operations[0]: Unsupported value: \"\""},
    {"escape", kHooks, hook(R"("clientConfig":{"url":"10%"})"),
     "url must be a valid URL: parse \"10%\": invalid URL escape \"%\"; desired format"},
    {"service_of_hook", kHooks, hook(R"("clientConfig":{"service":{"name":"s"}})"),
     "webhooks[0].clientConfig.service.name: Required value"},
    {"device", kDeviceClasses, R"("spec":{"selectors":[{"cel":{"expression":"x"}}]})",
     "selectors[0].cel.expression: Invalid value: \"x\": compilation failed: ERROR: <input>:1:1"},
    {"device_type", kDeviceClasses, R"("spec":{"selectors":[{"cel":{"expression":"1e3"}}]})",
     "must evaluate to bool or the unknown type, not double"},
    {"device_count", kDeviceClaims,
     R"("spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c","count":-1}}]}})",
     "requests[0].exactly.count: Invalid value: -1: must be greater than zero"},
    {"taint", "/api/v1/nodes",
     R"("spec":{"taints":[{"key":"k","effect":"NoSchedule"},{"key":"k","effect":"NoSchedule"}]})",
     R"(Duplicate value: {"Key":"k","Value":"","Effect":"NoSchedule","TimeAdded":null}: taints)"},
    {"ranges", "/api/v1/nodes", R"("spec":{"podCIDRs":["10.1.0.0/24","10.2.0.0/24"]})",
     "spec.podCIDRs: Invalid value: [\"10.1.0.0/24\",\"10.2.0.0/24\"]: may specify no more than "
     "one"},
    {"finalizer", "/api/v1/namespaces", R"("spec":{"finalizers":["x"]})",
     "spec.finalizers: Invalid value: \"x\": name is neither a standard finalizer name nor"},
    {"capacity", "/api/v1/persistentvolumes",
     R"("spec":{"capacity":{"storage":-1},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/x"}})",
     "spec.capacity[storage]: Invalid value: -1: must be a valid resource quantity"},
    {"binding_mode", "/apis/storage.k8s.io/v1/storageclasses",
     R"("provisioner":"p","volumeBindingMode":"")",
     "volumeBindingMode: Unsupported value: \"\": supported values: \"Immediate\""},
    {"overhead", "/apis/node.k8s.io/v1/runtimeclasses",
     R"("handler":"h","overhead":{"podFixed":{"x":1}})",
     "overhead.limits[x]: Invalid value: \"x\": must be a standard resource for containers"},
};
INSTANTIATE_TEST_SUITE_P(Others, KindRefusals, ::testing::ValuesIn(kOtherRefusals),
                         [](const auto& row) { return row.param.what; });

struct StatusRefusal {
  const char* what;
  std::string_view path;
  std::string spec;
  std::string status;
  const char* cause;
};

class KindStatusRefusals : public ::testing::TestWithParam<StatusRefusal> {};

TEST_P(KindStatusRefusals, MatchTextsOfReference) {
  TestServer server;
  const StatusRefusal& refusal = GetParam();
  const Answer made =
      server.post(refusal.path, parse(R"({"metadata":{"name":"n"},)" + refusal.spec + "}"));
  EXPECT_EQ(made.status, 201) << made.text;
  const Answer answer = server.patch(std::string(refusal.path) + "/n/status", "merge",
                                     R"({"status":)" + refusal.status + "}");
  EXPECT_EQ(answer.status, 422) << answer.text;
  EXPECT_NE(answer.message().find(refusal.cause), std::string::npos) << answer.message();
}

const StatusRefusal kStatusRefusals[] = {
    {"address", kPods, pod(""), R"({"podIPs":[{"ip":"x"}]})",
     "status.podIPs[0]: Invalid value: \"x\": must be a valid IP address"},
    {"condition", kPods, pod(""), R"({"conditions":[{"type":"-","status":"True"}]})",
     "status.conditions[0].Type: Invalid value: \"-\": name part must consist"},
    {"counter", kReplicaSets, workload(""), R"({"replicas":1,"readyReplicas":2})",
     "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas"},
    {"generation", kDeployments, workload(""), R"({"observedGeneration":-1})",
     "status.observedGeneration: Invalid value: -1: must be greater than or equal to 0"},
    {"daemon", kDaemonSets, workload(""), R"({"numberReady":-1})",
     "status.numberReady: Invalid value: -1: must be greater than or equal to 0"},
    {"phase", "/api/v1/namespaces", R"("spec":{})", R"({"phase":"x"})",
     "status.Phase: Invalid value: \"x\": may only be 'Active' if `deletionTimestamp` is empty"},
    {"twins", "/api/v1/nodes", R"("spec":{})",
     R"({"addresses":[{"type":"T","address":"a"},{"type":"T","address":"a"}]})",
     R"(status.addresses[1]: Duplicate value: {"Type":"T","Address":"a"})"},
    {"ingress", kIngresses, R"("spec":{"rules":[{"host":"a.b"}]})",
     R"({"loadBalancer":{"ingress":[{"ip":"x"}]}})",
     "status.loadBalancer.ingress[0].ip: Invalid value: \"x\": must be a valid IP address"},
};
INSTANTIATE_TEST_SUITE_P(Statuses, KindStatusRefusals, ::testing::ValuesIn(kStatusRefusals),
                         [](const auto& row) { return row.param.what; });

struct Oddity {
  const char* what;
  std::string_view path;
  std::string spec;
  const char* warning;
};

class KindOddities : public ::testing::TestWithParam<Oddity> {};

TEST_P(KindOddities, AreWarnedOf) {
  TestServer server;
  const Oddity& oddity = GetParam();
  const Answer answer =
      server.post(oddity.path, parse(R"({"metadata":{"name":"n"},)" + oddity.spec + "}"));
  EXPECT_EQ(answer.status, 201) << answer.text;
  EXPECT_THAT(answer.warnings(), ::testing::Contains(::testing::HasSubstr(oddity.warning)));
}

const Oddity kOddities[] = {
    {"no_selector", kPods,
     pod(R"(,"affinity":{"podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[
       {"weight":1,"podAffinityTerm":{"topologyKey":"h"}}]}})"),
     "podAffinityTerm.labelSelector: a null labelSelector results in matching no pod"},
    {"twin_alias", kPods, pod(R"(,"hostAliases":[{"ip":"1.2.3.4"},{"ip":"1.2.3.4"}])"),
     R"(spec.hostAliases[1].ip: duplicate ip \"1.2.3.4\")"},
    {"no_source", kPods, pod(R"(,"volumes":[{"name":"v","projected":{"sources":[{}]}}])"),
     R"(volume \"v\" (Projected) has no sources provided)"},
    {"overlap", kPods, pod(R"(,"volumes":[{"name":"v","downwardAPI":{"items":[
       {"path":"l","fieldRef":{"fieldPath":"metadata.labels"}},
       {"path":"l/x","fieldRef":{"fieldPath":"metadata.labels"}}]}}])"),
     R"(volume \"v\" (DownwardAPI): overlapping paths: \"l/x\" with \"l\")"},
    {"fraction", kClaims,
     R"("spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":1.5}}})",
     R"(spec.resources.requests[storage]: fractional byte value \"1500m\" is invalid)"},
    {"history", kStatefulSets, workload(R"(,"revisionHistoryLimit":-1)"),
     "spec.revisionHistoryLimit: a negative value retains all historical revisions"},
};
INSTANTIATE_TEST_SUITE_P(All, KindOddities, ::testing::ValuesIn(kOddities),
                         [](const auto& row) { return row.param.what; });

}  // namespace
}  // namespace athanor::apiserver::refusals_test
