// SPDX-License-Identifier: Apache-2.0
// Row by row: what is refused on create and on update (docs/spec/apiserver.md 14.4).
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::validation_test {
namespace {

constexpr const char* kMaps = "/api/v1/namespaces/tst/configmaps";
constexpr const char* kSecrets = "/api/v1/namespaces/tst/secrets";
constexpr const char* kPods = "/api/v1/namespaces/tst/pods";
constexpr const char* kServices = "/api/v1/namespaces/tst/services";
constexpr const char* kDeployments = "/apis/apps/v1/namespaces/tst/deployments";
constexpr const char* kSets = "/apis/apps/v1/namespaces/tst/statefulsets";
constexpr const char* kDaemons = "/apis/apps/v1/namespaces/tst/daemonsets";
constexpr const char* kJobs = "/apis/batch/v1/namespaces/tst/jobs";
constexpr const char* kCronJobs = "/apis/batch/v1/namespaces/tst/cronjobs";
constexpr const char* kClaims = "/api/v1/namespaces/tst/persistentvolumeclaims";
constexpr const char* kVolumes = "/api/v1/persistentvolumes";
constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/tst/leases";
constexpr const char* kPriorities = "/apis/scheduling.k8s.io/v1/priorityclasses";
constexpr const char* kRoles = "/apis/rbac.authorization.k8s.io/v1/namespaces/tst/roles";
constexpr const char* kBindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/tst/rolebindings";
constexpr const char* kEvents = "/api/v1/namespaces/tst/events";
constexpr const char* kHooks =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

std::string test_name(std::string_view what) {
  std::string name(what);
  for (char& c : name) {
    c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  return name;
}

struct Create {
  const char* what;
  const char* path;
  const char* body;
  const char* error;  // behind "is invalid: "; ends with "*": a prefix
};

class CreateRefusals : public ::testing::TestWithParam<Create> {};

void expect_error(const Answer& answer, std::string_view wanted) {
  ASSERT_EQ(answer.status, 422) << answer.text;
  const std::string message = answer.message();
  const std::size_t start = message.find("is invalid: ");
  ASSERT_NE(start, std::string::npos) << message;
  const std::string error = message.substr(start + 12);
  if (wanted.ends_with('*')) {
    wanted.remove_suffix(1);
    EXPECT_EQ(error.substr(0, wanted.size()), wanted) << error;
  } else {
    EXPECT_EQ(error, wanted);
  }
}

TEST_P(CreateRefusals, HaveTheirText) {
  TestServer server;
  const Create& row = GetParam();
  expect_error(server.post(row.path, parse(row.body)), row.error);
}

const Create kCreates[] = {
    {"config key", kMaps, R"({"metadata":{"name":"a"},"data":{"a/b":"x"}})",
     "data[a/b]: Invalid value: \"a/b\": a valid config key must consist of alphanumeric "
     "characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for "
     "validation is '[-._a-zA-Z0-9]+')"},
    {"tls secret", kSecrets, R"({"metadata":{"name":"a"},"type":"kubernetes.io/tls"})",
     "[data[tls.crt]: Required value, data[tls.key]: Required value]"},
    {"docker secret", kSecrets,
     R"({"metadata":{"name":"a"},"type":"kubernetes.io/dockerconfigjson",
       "stringData":{".dockerconfigjson":"{"}})",
     "data[.dockerconfigjson]: Invalid value: *"},
    {"account token secret", kSecrets,
     R"({"metadata":{"name":"a"},"type":"kubernetes.io/service-account-token"})",
     "metadata.annotations[kubernetes.io/service-account.name]: Required value"},
    {"ssh secret", kSecrets, R"({"metadata":{"name":"a"},"type":"kubernetes.io/ssh-auth"})",
     "data[ssh-privatekey]: Required value"},
    {"pod without containers", kPods, R"({"metadata":{"name":"p"},"spec":{}})",
     "spec.containers: Required value"},
    {"two containers of one name", kPods,
     R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"a"},
       {"name":"c","image":"a"}]}})",
     "spec.containers[1].name: Duplicate value: \"c\""},
    {"image", kPods, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}]}})",
     "spec.containers[0].image: Required value"},
    {"container name", kPods,
     R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"C_","image":"a"}]}})",
     "spec.containers[0].name: Invalid value: \"C_\": a lowercase RFC 1123 label*"},
    {"port zero", kPods,
     R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"a",
       "ports":[{"containerPort":0}]}]}})",
     "spec.containers[0].ports[0].containerPort: Required value"},
    {"port too high", kPods,
     R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"a",
       "ports":[{"containerPort":70000}]}]}})",
     "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and "
     "65535, inclusive"},
    {"more requested than allowed", kPods,
     R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"a","resources":
       {"requests":{"cpu":"2"},"limits":{"cpu":"1"}}}]}})",
     "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to "
     "cpu limit of 1"},
    {"extended resource differs", kPods,
     R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"a","resources":
       {"requests":{"nvidia.com/gpu":"1"},"limits":{"nvidia.com/gpu":"2"}}}]}})",
     "spec.containers[0].resources.requests: Invalid value: \"1\": must be equal to nvidia.com/gpu "
     "limit of 2"},
    {"extended resource without limit", kPods,
     R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"a","resources":
       {"requests":{"nvidia.com/gpu":"1"}}}]}})",
     "spec.containers[0].resources.limits: Required value: Limit must be set for non "
     "overcommitable resources"},
    {"part of a GPU", kPods,
     R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"a","resources":
       {"limits":{"nvidia.com/gpu":"500m"}}}]}})",
     "[spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value: \"500m\": must be an "
     "integer, spec.containers[0].resources.requests[nvidia.com/gpu]: Invalid value: \"500m\": "
     "must be an integer]"},
    {"mount without volume", kPods,
     R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"a",
       "volumeMounts":[{"name":"nov","mountPath":"/x"}]}]}})",
     "spec.containers[0].volumeMounts[0].name: Not found: \"nov\""},
    {"environment name", kPods,
     R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"a",
       "env":[{"name":"a=b"}]}]}})",
     "spec.containers[0].env[0].name: Invalid value: \"a=b\": a valid environment variable name "
     "must consist only of printable ASCII characters other than '='"},
    {"restart policy", kPods,
     R"({"metadata":{"name":"p"},"spec":{"restartPolicy":"X",
       "containers":[{"name":"c","image":"a"}]}})",
     "spec.restartPolicy: Unsupported value: \"X\": supported values: \"Always\", \"OnFailure\", "
     "\"Never\""},
    {"node selector", kPods,
     R"({"metadata":{"name":"p"},"spec":{"nodeSelector":{"-bad":"x"},
       "containers":[{"name":"c","image":"a"}]}})",
     "spec.nodeSelector: Invalid value: \"-bad\": name part must consist of*"},
    {"affinity", kPods,
     R"({"metadata":{"name":"p"},"spec":{"affinity":{"nodeAffinity":
       {"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
       {"matchExpressions":[{"key":"a","operator":"In"}]}]}}},
       "containers":[{"name":"c","image":"a"}]}})",
     "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
     "[0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or "
     "'NotIn'"},
    {"gates", kPods,
     R"({"metadata":{"name":"p"},"spec":{"schedulingGates":[{"name":"a.b/c"},{"name":"a.b/c"}],
       "containers":[{"name":"c","image":"a"}]}})",
     "spec.schedulingGates[1]: Duplicate value: \"a.b/c\""},
    {"deadline", kPods,
     R"({"metadata":{"name":"p"},"spec":{"activeDeadlineSeconds":0,
       "containers":[{"name":"c","image":"a"}]}})",
     "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"},
    {"deployment without selector", kDeployments,
     R"({"metadata":{"name":"d"},"spec":{"template":{"metadata":{"labels":{"a":"b"}},
       "spec":{"containers":[{"name":"c","image":"a"}]}}}})",
     "[spec.selector: Required value, spec.template.metadata.labels: Invalid value: "
     R"({"a":"b"}: `selector` does not match template `labels`])"},
    {"selector of other labels", kDeployments,
     R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":
       {"metadata":{"labels":{"a":"c"}},"spec":{"containers":[{"name":"c","image":"a"}]}}}})",
     "spec.template.metadata.labels: Invalid value: {\"a\":\"c\"}: `selector` does not match "
     "template `labels`"},
    {"deployment that restarts never", kDeployments,
     R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":
       {"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Never",
       "containers":[{"name":"c","image":"a"}]}}}})",
     "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: "
     "\"Always\""},
    {"fewer than no replicas", kDeployments,
     R"({"metadata":{"name":"d"},"spec":{"replicas":-1,"selector":{"matchLabels":{"a":"b"}},
       "template":{"metadata":{"labels":{"a":"b"}},
       "spec":{"containers":[{"name":"c","image":"a"}]}}}})",
     "spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
    {"update that cannot move", kDeployments,
     R"({"metadata":{"name":"d"},"spec":{"strategy":{"rollingUpdate":{"maxSurge":0,
       "maxUnavailable":0}},"selector":{"matchLabels":{"a":"b"}},"template":
       {"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"a"}]}}}})",
     "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` "
     "is 0"},
    {"daemon set percentages", kDaemons,
     R"({"metadata":{"name":"d"},"spec":{"updateStrategy":{"rollingUpdate":
       {"maxUnavailable":"x%"}},"selector":{"matchLabels":{"a":"b"}},"template":
       {"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"a"}]}}}})",
     "[spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: \"x%\": a valid percent "
     "string*"},
    {"job that restarts always", kJobs,
     R"({"metadata":{"name":"j"},"spec":{"template":{"spec":{
       "containers":[{"name":"c","image":"a"}]}}}})",
     "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""},
    {"failure policy", kJobs,
     R"({"metadata":{"name":"j"},"spec":{"podFailurePolicy":{"rules":[{"action":"Ignore",
       "onPodConditions":[{"type":"X"}]}]},"template":{"spec":{"restartPolicy":"OnFailure",
       "containers":[{"name":"c","image":"a"}]}}}})",
     "spec.template.spec.restartPolicy: Invalid value: \"OnFailure\": only \"Never\" is supported "
     "when podFailurePolicy is specified"},
    {"indexed without completions", kJobs,
     R"({"metadata":{"name":"j"},"spec":{"completionMode":"Indexed","parallelism":2,
       "template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"a"}]}}}})",
     "spec.completions: Required value: when completion mode is Indexed"},
    {"schedule", kCronJobs,
     R"({"metadata":{"name":"c"},"spec":{"schedule":"x","jobTemplate":{"spec":{"template":{"spec":{
       "restartPolicy":"Never","containers":[{"name":"c","image":"a"}]}}}}}})",
     "spec.schedule: Invalid value: \"x\": expected exactly 5 fields, found 1: [x]"},
    {"schedule out of range", kCronJobs,
     R"({"metadata":{"name":"c"},"spec":{"schedule":"61 * * * MON-FRI","jobTemplate":{"spec":
       {"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"a"}]}}}}}})",
     "spec.schedule: Invalid value: \"61 * * * MON-FRI\": end of range (61) above maximum (59): "
     "61"},
    {"time zone", kCronJobs,
     R"({"metadata":{"name":"c"},"spec":{"schedule":"@daily","timeZone":"Europe/Nowhere",
       "jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never",
       "containers":[{"name":"c","image":"a"}]}}}}}})",
     "spec.timeZone: Invalid value: \"Europe/Nowhere\": unknown time zone Europe/Nowhere"},
    {"long name of a cron job", kCronJobs,
     R"({"metadata":{"name":"abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabc"},"spec":
       {"schedule":"@hourly","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never",
       "containers":[{"name":"c","image":"a"}]}}}}}})",
     "metadata.name: Invalid value: \"abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabc\": "
     "must be no more than 52 characters"},
    {"service without ports", kServices, R"({"metadata":{"name":"s"},"spec":{}})",
     "spec.ports: Required value"},
    {"unnamed ports", kServices,
     R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":1},{"port":2}]}})",
     "[spec.ports[0].name: Required value, spec.ports[1].name: Required value]"},
    {"ports of one name", kServices,
     R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":1,"name":"a"},{"port":2,"name":"a"}]}})",
     "spec.ports[1].name: Duplicate value: \"a\""},
    {"address outside", kServices,
     R"({"metadata":{"name":"s"},"spec":{"clusterIP":"1.2.3.4","ports":[{"port":1}]}})",
     "spec.clusterIPs: Invalid value: [\"1.2.3.4\"]: failed to allocate IP 1.2.3.4: the provided "
     "network does not match the current range"},
    {"node port outside", kServices,
     R"({"metadata":{"name":"s"},"spec":{"type":"NodePort","ports":[{"port":1,"nodePort":80}]}})",
     "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The "
     "range of valid ports is 30000-32767"},
    {"claim without size", kClaims,
     R"({"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"]}})",
     "spec.resources[storage]: Required value"},
    {"volume without source", kVolumes,
     R"({"metadata":{"name":"v"},"spec":{"accessModes":["ReadWriteOnce"],
       "capacity":{"storage":"1Gi"}}})",
     "spec: Required value: must specify a volume type"},
    {"volume without capacity", kVolumes,
     R"({"metadata":{"name":"v"},"spec":{"accessModes":["ReadWriteOnce"],
       "hostPath":{"path":"/x"}}})",
     "[spec.capacity: Required value, spec.capacity: Unsupported value: null: supported values: "
     "\"storage\"]"},
    {"lease", kLeases,
     R"({"metadata":{"name":"l"},"spec":{"leaseDurationSeconds":0,"leaseTransitions":-1}})",
     "[spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0, "
     "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0]"},
    {"priority too high", kPriorities, R"({"metadata":{"name":"p"},"value":1000000001})",
     "value: Forbidden: maximum allowed value of a user defined priority is 1000000000"},
    {"system priority", kPriorities, R"({"metadata":{"name":"system-x"},"value":1})",
     "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system "
     "use only. error: system-x is not a known system priority class"},
    {"role without verbs", kRoles,
     R"({"metadata":{"name":"r"},"rules":[{"apiGroups":[""],"resources":["pods"]}]})",
     "rules[0].verbs: Required value: verbs must contain at least one value"},
    {"role over paths", kRoles,
     R"({"metadata":{"name":"r"},"rules":[{"verbs":["get"],"nonResourceURLs":["/x"]}]})",
     "rules[0].nonResourceURLs: Invalid value: [\"/x\"]: namespaced rules cannot apply to "
     "non-resource URLs"},
    {"binding to another kind", kBindings,
     R"({"metadata":{"name":"b"},"roleRef":{"kind":"X","name":"r"}})",
     "roleRef.kind: Unsupported value: \"X\": supported values: \"Role\", \"ClusterRole\""},
    {"subject of another kind", kBindings,
     R"({"metadata":{"name":"b"},"roleRef":{"kind":"Role","name":"r"},
       "subjects":[{"kind":"X","name":"x"}]})",
     "subjects[0].kind: Unsupported value: \"X\": supported values: \"ServiceAccount\", \"User\", "
     "\"Group\""},
    {"runtime handler", "/apis/node.k8s.io/v1/runtimeclasses",
     R"({"metadata":{"name":"r"},"handler":"A_"})",
     "handler: Invalid value: \"A_\": a lowercase RFC 1123 label*"},
    {"limit order", "/api/v1/namespaces/tst/limitranges",
     R"({"metadata":{"name":"l"},"spec":{"limits":[{"type":"Pod","min":{"cpu":"2"},
       "max":{"cpu":"1"}}]}})",
     "spec.limits[0].min[cpu]: Invalid value: \"2\": min value 2 is greater than max value 1"},
    {"event of another namespace", kEvents,
     R"({"metadata":{"name":"e"},"involvedObject":{"namespace":"other","kind":"Pod","name":"p"}})",
     "involvedObject.namespace: Invalid value: \"other\": does not match event.namespace"},
    {"new event without time", "/apis/events.k8s.io/v1/namespaces/tst/events",
     R"({"metadata":{"name":"e"},"regarding":{"namespace":"tst"},"type":"Normal","reason":"R",
       "action":"A","reportingController":"c","reportingInstance":"i"})",
     "eventTime: Required value"},
    {"budget of both", "/apis/policy/v1/namespaces/tst/poddisruptionbudgets",
     R"({"metadata":{"name":"b"},"spec":{"minAvailable":1,"maxUnavailable":1}})",
     "spec: Invalid value: *"},
    {"webhook", kHooks,
     R"({"metadata":{"name":"w"},"webhooks":[{"name":"a.b","sideEffects":"Some",
       "admissionReviewVersions":["v1"],"timeoutSeconds":31,
       "clientConfig":{"url":"http://a/b"}}]})",
     "[webhooks[0].name: Invalid value: \"a.b\": should be a domain with at least three segments "
     "separated by dots, webhooks[0].sideEffects: Unsupported value: \"Some\": supported values: "
     "\"None\", \"NoneOnDryRun\", webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value "
     "must be between 1 and 30 seconds, webhooks[0].clientConfig.url: Invalid value: \"http\": "
     "'https' is the only allowed URL scheme; desired format: https://host[/path]]"},
    {"slice", "/apis/resource.k8s.io/v1/resourceslices",
     R"({"metadata":{"name":"s"},"spec":{"driver":"a.b","pool":{"name":"p",
       "resourceSliceCount":1},"devices":[{"name":"A"},{"name":"g","attributes":{"1x":{"int":1}}}]}})",
     "[spec: Required value: exactly one of*"},
    {"taints", "/api/v1/nodes",
     R"({"metadata":{"name":"n"},"spec":{"taints":[{"key":"a","effect":"NoSchedule"},
       {"key":"a","value":"x","effect":"NoSchedule"}]}})",
     "metadata.taints[1]: Duplicate value: *"},
};

INSTANTIATE_TEST_SUITE_P(Section14_4, CreateRefusals, ::testing::ValuesIn(kCreates),
                         [](const auto& row) { return test_name(row.param.what); });

struct Change {
  const char* what;
  const char* path;
  const char* body;
  const char* patch;  // merge
  const char* error;  // nullptr: allowed
  const char* subresource = "";
};

class ChangeRules : public ::testing::TestWithParam<Change> {};

TEST_P(ChangeRules, Hold) {
  TestServer server;
  const Change& row = GetParam();
  const Answer made = server.post(row.path, parse(row.body));
  ASSERT_EQ(made.status, 201) << made.text;
  const std::string item =
      std::string(row.path) + "/" + made.value["metadata"]["name"].str() + row.subresource;
  const Answer changed = server.patch(item, "merge", row.patch);
  if (row.error == nullptr) {
    EXPECT_EQ(changed.status, 200) << changed.text;
  } else {
    expect_error(changed, row.error);
  }
}

constexpr const char* kPod =
    R"({"metadata":{"name":"p"},"spec":{"activeDeadlineSeconds":100,"automountServiceAccountToken":false,
      "tolerations":[{"key":"a","operator":"Exists"}],"containers":[{"name":"c","image":"a:1"}]}})";
constexpr const char* kGated =
    R"({"metadata":{"name":"p"},"spec":{"schedulingGates":[{"name":"a.b/c"}],
      "nodeSelector":{"a":"b"},"containers":[{"name":"c","image":"a:1"}]}})";
constexpr const char* kPlaced =
    R"({"metadata":{"name":"p"},"spec":{"schedulingGates":[{"name":"a.b/c"}],"affinity":{"nodeAffinity":
      {"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":
      [{"key":"k","operator":"In","values":["v"]}]}]}}},"containers":[{"name":"c","image":"a:1"}]}})";
constexpr const char* kDeployment =
    R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":
      {"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"a:1"}]}}}})";
constexpr const char* kSet =
    R"({"metadata":{"name":"d"},"spec":{"serviceName":"s","selector":{"matchLabels":{"a":"b"}},
      "template":{"metadata":{"labels":{"a":"b"}},
      "spec":{"containers":[{"name":"c","image":"a:1"}]}}}})";
constexpr const char* kJob =
    R"({"metadata":{"name":"j"},"spec":{"completions":3,"template":{"spec":{
      "restartPolicy":"Never","containers":[{"name":"c","image":"a:1"}]}}}})";
constexpr const char* kSuspended =
    R"({"metadata":{"name":"j"},"spec":{"suspend":true,"template":{"spec":{
      "restartPolicy":"Never","containers":[{"name":"c","image":"a:1"}]}}}})";
constexpr const char* kClaim =
    R"({"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],
      "resources":{"requests":{"storage":"1Gi"}}}})";
constexpr const char* kOnlyPod =
    "spec: Forbidden: pod updates may not change fields other than "
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously "
    "negative)*";

const Change kChanges[] = {
    {"image of a pod", kPods, kPod, R"({"spec":{"containers":[{"name":"c","image":"a:2",
       "terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File",
       "imagePullPolicy":"IfNotPresent","resources":{}}]}})",
     nullptr},
    {"node of a pod", kPods, kPod, R"({"spec":{"nodeName":"n1"}})", kOnlyPod},
    {"sooner deadline", kPods, kPod, R"({"spec":{"activeDeadlineSeconds":50}})", nullptr},
    {"later deadline", kPods, kPod, R"({"spec":{"activeDeadlineSeconds":200}})",
     "spec.activeDeadlineSeconds: Invalid value: 200: must be less than or equal to previous "
     "value"},
    {"another toleration", kPods, kPod,
     R"({"spec":{"tolerations":[{"key":"a","operator":"Exists"},{"key":"b","operator":"Exists"},
       {"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute",
       "tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists",
       "effect":"NoExecute","tolerationSeconds":300}]}})",
     nullptr},
    {"a toleration less", kPods, kPod, R"({"spec":{"tolerations":[]}})",
     "spec.tolerations: Forbidden: existing toleration can not be modified except its "
     "tolerationSeconds"},
    {"gate removed", kPods, kGated, R"({"spec":{"schedulingGates":null}})", nullptr},
    {"gate added", kPods, kGated,
     R"({"spec":{"schedulingGates":[{"name":"a.b/c"},{"name":"a.b/d"}]}})",
     "spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling "
     "gate "
     "'a.b/d'"},
    {"narrower while gated", kPods, kGated, R"({"spec":{"nodeSelector":{"c":"d"},"affinity":
       {"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
       {"matchExpressions":[{"key":"x","operator":"Exists"}]}]}}}}})",
     nullptr},
    {"wider while gated", kPods, kGated, R"({"spec":{"nodeSelector":{"a":"x"}}})",
     "spec.nodeSelector: Invalid value: {\"a\":\"x\"}: only additions to spec.nodeSelector are "
     "allowed (no mutations or deletions)"},
    {"placement given up while gated", kPods, kPlaced, R"({"spec":{"affinity":null}})",
     "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: "
     "Invalid value: null: no additions/deletions to non-empty NodeSelectorTerms list are allowed"},
    {"placed elsewhere while gated", kPods, kPlaced, R"({"spec":{"affinity":{"nodeAffinity":
      {"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":
      [{"key":"k","operator":"Exists"}]}]}}}}})",
     "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms["
     "0]: "
     "Invalid value: {\"MatchExpressions\":[{\"Key\":\"k\",\"Operator\":"
     "\"Exists\",\"Values\":null}],\"MatchFields\":null}: only additions are allowed (no mutations "
     "or deletions)"},
    {"immutable map", kMaps, R"({"metadata":{"name":"a"},"immutable":true,"data":{"a":"b"}})",
     R"({"data":{"a":"c"}})", "data: Forbidden: field is immutable when `immutable` is set"},
    {"mutable again", kMaps, R"({"metadata":{"name":"a"},"immutable":true})",
     R"({"immutable":null})", "immutable: Forbidden: field is immutable when `immutable` is set"},
    {"type of a secret", kSecrets, R"({"metadata":{"name":"a"}})", R"({"type":"x"})",
     "type: Invalid value: \"x\": field is immutable"},
    {"selector", kDeployments, kDeployment,
     R"({"spec":{"selector":{"matchLabels":{"a":"c"}},
       "template":{"metadata":{"labels":{"a":"c"}}}}})",
     "spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"c\"}}: field is immutable"},
    {"replicas of a set", kSets, kSet, R"({"spec":{"replicas":3}})", nullptr},
    {"service of a set", kSets, kSet, R"({"spec":{"serviceName":"t"}})",
     "spec: Forbidden: updates to statefulset spec for fields other than*"},
    {"completions", kJobs, kJob, R"({"spec":{"completions":5}})",
     "spec.completions: Invalid value: 5: field is immutable"},
    {"parallelism", kJobs, kJob, R"({"spec":{"parallelism":5}})", nullptr},
    {"template of a job", kJobs, kJob,
     R"({"spec":{"template":{"spec":{"nodeSelector":{"a":"b"}}}}})",
     "spec.template: Invalid value: *"},
    {"elastic job", kJobs,
     R"({"metadata":{"name":"j"},"spec":{"completions":3,"parallelism":3,"completionMode":"Indexed",
       "template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"a:1"}]}}}})",
     R"({"spec":{"completions":4,"parallelism":4}})", nullptr},
    {"place of a suspended job", kJobs, kSuspended,
     R"({"spec":{"suspend":false,"template":{"metadata":{"labels":{"x":"y"}},"spec":{
       "nodeSelector":{"a":"b"},"tolerations":[{"operator":"Exists"}],
       "schedulingGates":[{"name":"a.b/c"}]}}}})",
     nullptr},
    {"image of a suspended job", kJobs, kSuspended,
     R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":"a:2"}]}}}})",
     "spec.template: Invalid value: *"},
    {"manager of a job", kJobs, kJob, R"({"spec":{"managedBy":"a.b/c"}})",
     "spec.managedBy: Invalid value: \"a.b/c\": field is immutable"},
    {"completion time of a running job", kJobs, kJob,
     R"({"status":{"completionTime":"2026-11-20T10:00:00Z"}})",
     "status.completionTime: Invalid value: \"2026-11-20T10:00:00Z\": cannot set completionTime "
     "when there is no Complete=True condition",
     "/status"},
    {"address of a service", kServices,
     R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":1}]}})",
     R"({"spec":{"clusterIP":"10.96.7.7","clusterIPs":["10.96.7.7"]}})",
     "spec.clusterIPs[0]: Invalid value: [\"10.96.7.7\"]: may not change once set"},
    {"unbound claim grows", kClaims, kClaim,
     R"({"spec":{"resources":{"requests":{"storage":"2Gi"}}}})",
     "spec: Forbidden: spec is immutable after creation except resources.requests and "
     "volumeAttributesClassName for bound claims"},
    {"volume of an unbound claim", kClaims, kClaim, R"({"spec":{"volumeName":"v"}})", nullptr},
    {"value of a priority", kPriorities, R"({"metadata":{"name":"p"},"value":1})", R"({"value":2})",
     "value: Forbidden: may not be changed in an update."},
    {"role of a binding", kBindings,
     R"({"metadata":{"name":"b"},"roleRef":{"kind":"Role","name":"a"}})",
     R"({"roleRef":{"name":"zz"}})",
     "roleRef: Invalid value: {\"APIGroup\":\"rbac.authorization.k8s.io\",\"Kind\":\"Role\","
     "\"Name\":\"zz\"}: cannot change roleRef"},
    {"handler of a runtime", "/apis/node.k8s.io/v1/runtimeclasses",
     R"({"metadata":{"name":"r"},"handler":"a"})", R"({"handler":"b"})",
     "handler: Invalid value: \"b\": field is immutable"},
    {"provisioner", "/apis/storage.k8s.io/v1/storageclasses",
     R"({"metadata":{"name":"s"},"provisioner":"a"})", R"({"provisioner":"b"})",
     "provisioner: Forbidden: updates to provisioner are forbidden."},
    {"expansion of a class", "/apis/storage.k8s.io/v1/storageclasses",
     R"({"metadata":{"name":"s"},"provisioner":"a"})", R"({"allowVolumeExpansion":true})", nullptr},
    {"resource claim", "/apis/resource.k8s.io/v1/namespaces/tst/resourceclaims",
     R"({"metadata":{"name":"r"},"spec":{"devices":{"requests":[{"name":"g","exactly":
       {"deviceClassName":"gpu"}}]}}})",
     R"({"spec":{"devices":{"requests":[{"name":"h","exactly":{"deviceClassName":"gpu"}}]}}})",
     "spec: Invalid value: *"},
    {"provider of a node", "/api/v1/nodes",
     R"({"metadata":{"name":"n"},"spec":{"providerID":"a"}})", R"({"spec":{"providerID":"b"}})",
     "spec.providerID: Forbidden: *"},
};

INSTANTIATE_TEST_SUITE_P(Section14_4, ChangeRules, ::testing::ValuesIn(kChanges),
                         [](const auto& row) { return test_name(row.param.what); });

TEST(ConfigMaps, AreLimitedInSize) {
  TestServer server;
  Value map = config_map("a");
  map.member("data").set("k", std::string(1'048'577, 'x'));
  expect_error(server.post(kMaps, map), "[]: Too long: may not be more than 1048576 bytes");
}

TEST(Services, RefuseTakenAddresses) {
  TestServer server;
  const Value first = parse(R"({"metadata":{"name":"a"},"spec":{"clusterIP":"10.96.3.3",
    "type":"NodePort","ports":[{"port":1,"nodePort":30001}]}})");
  ASSERT_EQ(server.post(kServices, first).status, 201);
  Value second = first;
  second.set_path({"metadata", "name"}, "b");
  expect_error(server.post(kServices, second),
               "spec.clusterIPs: Invalid value: [\"10.96.3.3\"]: failed to allocate IP 10.96.3.3: "
               "provided IP is already allocated");
  second.member("spec").erase("clusterIP");
  expect_error(server.post(kServices, second),
               "spec.ports[0].nodePort: Invalid value: 30001: provided port is already allocated");
}

TEST(PriorityClasses, HaveOneDefault) {
  TestServer server;
  ASSERT_EQ(
      server.post(kPriorities, parse(R"({"metadata":{"name":"a"},"value":1,"globalDefault":true})"))
          .status,
      201);
  const Answer second = server.post(
      kPriorities, parse(R"({"metadata":{"name":"b"},"value":1,"globalDefault":true})"));
  EXPECT_EQ(second.status, 403);
  EXPECT_EQ(second.message(),
            "priorityclasses.scheduling.k8s.io \"b\" is forbidden: PriorityClass a is already "
            "marked as default. Only one default can exist");
}

TEST(Jobs, KeepTheirTerminalConditions) {
  TestServer server;
  ASSERT_EQ(server.post(kJobs, parse(kJob)).status, 201);
  const std::string status = std::string(kJobs) + "/j/status";
  ASSERT_EQ(server
                .patch(status, "merge",
                       R"({"status":{"succeeded":3,"startTime":"2026-11-20T09:00:00Z",
                         "completionTime":"2026-11-20T10:00:00Z",
                         "conditions":[{"type":"SuccessCriteriaMet","status":"True"},
                                       {"type":"Complete","status":"True"}]}})")
                .status,
            200);
  expect_error(server.patch(status, "merge", R"({"status":{"succeeded":2}})"),
               "status.succeeded: Invalid value: 2: cannot decrease the succeeded counter");
  expect_error(server.patch(status, "merge", R"({"status":{"conditions":null}})"), "[*");
}

}  // namespace
}  // namespace athanor::apiserver::validation_test
