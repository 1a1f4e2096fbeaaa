// SPDX-License-Identifier: Apache-2.0
// Row by row: what a create adds (docs/spec/apiserver.md 14.2).
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::defaults_test {
namespace {

// What of `wanted` is missing in `actual`: objects may have more members, lists not more items.
std::string missing(const Value& wanted, const Value& actual, const std::string& path = "") {
  if (wanted.is_object()) {
    for (const Member& member : wanted.members()) {
      const std::string here = path + "/" + std::string(member.key());
      if (member.value.is_null() ? actual.contains(member.key()) : !actual.contains(member.key())) {
        return here + (member.value.is_null() ? " is there" : " is absent");
      }
      if (std::string error = missing(member.value, actual[member.key()], here); !error.empty()) {
        return error;
      }
    }
    return "";
  }
  if (wanted.is_list() && wanted.size() == actual.size()) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      std::string error = missing(wanted[i], actual[i], path + "/" + std::to_string(i));
      if (!error.empty()) {
        return error;
      }
    }
    return "";
  }
  return wanted == actual ? "" : path + " is " + json::print(actual);
}

struct Row {
  const char* what;
  const char* path;
  const char* body;
  const char* wanted;  // null: must be absent
};

class Defaults : public ::testing::TestWithParam<Row> {};

TEST_P(Defaults, AreAddedOnCreateAndStable) {
  TestServer server;
  const Row& row = GetParam();
  const Answer made = server.post(row.path, parse(row.body));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(missing(parse(row.wanted), made.value), "") << made.text;
  // Writing it back changes nothing.
  const std::string item = std::string(row.path) + "/" + made.value["metadata"]["name"].str();
  const Answer same = server.put(item, made.value);
  EXPECT_EQ(same.status, 200) << same.text;
  EXPECT_EQ(same.value["metadata"]["resourceVersion"], made.value["metadata"]["resourceVersion"])
      << same.text;
}

constexpr const char* kPods = "/api/v1/namespaces/tst/pods";
constexpr const char* kDeployments = "/apis/apps/v1/namespaces/tst/deployments";

const Row kRows[] = {
    {"pod", kPods,
     R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"a:1"}],
       "serviceAccount":"default"}})",
     R"({"spec":{"restartPolicy":"Always","dnsPolicy":"ClusterFirst",
       "schedulerName":"default-scheduler","terminationGracePeriodSeconds":30,
       "securityContext":{},"enableServiceLinks":true,"serviceAccountName":"default",
       "containers":[{"name":"c","terminationMessagePath":"/dev/termination-log",
       "terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent","resources":{}}]},
       "status":{"phase":"Pending","qosClass":"BestEffort"}})"},
    {"image without tag", kPods,
     R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"host:5000/a"}]}})",
     R"({"spec":{"containers":[{"imagePullPolicy":"Always"}]}})"},
    {"latest", kPods,
     R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"a:latest"}]}})",
     R"({"spec":{"containers":[{"imagePullPolicy":"Always"}]}})"},
    {"digest", kPods,
     R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"a@sha256:00"}]}})",
     R"({"spec":{"containers":[{"imagePullPolicy":"IfNotPresent"}]}})"},
    {"limits become requests", kPods,
     R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"a:1","resources":
       {"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"500m"}}}]}})",
     R"({"spec":{"containers":[{"resources":{"requests":{"cpu":"500m","memory":"1Gi"}}}]},
       "status":{"qosClass":"Burstable"}})"},
    {"guaranteed", kPods,
     R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"a:1","resources":
       {"limits":{"cpu":"1","memory":"1Gi"}}}]}})",
     R"({"status":{"qosClass":"Guaranteed"}})"},
    {"limits of the pod", kPods,
     R"({"metadata":{"name":"p"},"spec":{"resources":{"limits":{"cpu":"4","memory":"1Gi"}},
       "containers":[{"name":"c","image":"a:1","resources":{"requests":{"cpu":"1"}}}],
       "initContainers":[{"name":"i","image":"a:1","resources":{"requests":{"cpu":"1500m"}}}]}})",
     R"({"spec":{"resources":{"limits":{"cpu":"4","memory":"1Gi"},
       "requests":{"cpu":"1500m","memory":"1Gi"}}},"status":{"qosClass":"Burstable"}})"},
    {"huge pages of a pod", kPods,
     R"({"metadata":{"name":"p"},"spec":{"resources":{"requests":{"cpu":"1"}},
       "containers":[{"name":"c","image":"a:1","resources":{"limits":{"cpu":"1",
       "hugepages-2Mi":"4Mi"}}}]}})",
     R"({"spec":{"resources":{"limits":{"hugepages-2Mi":"4Mi"},
       "requests":{"cpu":"1","hugepages-2Mi":"4Mi"}}}})"},
    {"guaranteed by the pod", kPods,
     R"({"metadata":{"name":"p"},"spec":{"resources":{"limits":{"cpu":"1","memory":"1Gi"}},
       "containers":[{"name":"c","image":"a:1"}]}})",
     R"({"spec":{"resources":{"requests":{"cpu":"1","memory":"1Gi"}}},
       "status":{"qosClass":"Guaranteed"}})"},
    {"requests of the pod", kPods,
     R"({"metadata":{"name":"p"},"spec":{"resources":{"requests":{"cpu":"1"}},
       "containers":[{"name":"c","image":"a:1"}]}})",
     R"({"status":{"qosClass":"Burstable"}})"},
    {"ports, environment, probes", kPods,
     R"({"metadata":{"name":"p"},"spec":{"hostNetwork":true,"containers":[{"name":"c","image":"a:1",
       "ports":[{"containerPort":80}],
       "env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],
       "livenessProbe":{"httpGet":{"port":80}},"readinessProbe":{"exec":{"command":["a"]}}}]}})",
     R"({"spec":{"containers":[{"ports":[{"containerPort":80,"protocol":"TCP","hostPort":80}],
       "env":[{"valueFrom":{"fieldRef":{"apiVersion":"v1"}}}],
       "livenessProbe":{"httpGet":{"path":"/","scheme":"HTTP"},"timeoutSeconds":1,
       "periodSeconds":10,"successThreshold":1,"failureThreshold":3},
       "readinessProbe":{"timeoutSeconds":1}}]}})"},
    {"volumes", "/api/v1/namespaces/tst/podtemplates",
     R"({"metadata":{"name":"p"},"template":{"spec":{"containers":[{"name":"c","image":"a:1"}],
       "volumes":[{"name":"a"},{"name":"b","configMap":{"name":"x"}},
       {"name":"c","secret":{"secretName":"x"}},
       {"name":"d","downwardAPI":{"items":[{"path":"p","fieldRef":{"fieldPath":"metadata.name"}}]}},
       {"name":"e","projected":{"sources":[{"serviceAccountToken":{"path":"t"}}]}},
       {"name":"f","hostPath":{"path":"/x"}},
       {"name":"g","ephemeral":{"volumeClaimTemplate":{"spec":{"accessModes":["ReadWriteOnce"]}}}}
       ]}}})",
     R"({"template":{"spec":{"volumes":[{"emptyDir":{}},{"configMap":{"defaultMode":420}},
       {"secret":{"defaultMode":420}},
       {"downwardAPI":{"defaultMode":420,"items":[{"fieldRef":{"apiVersion":"v1"}}]}},
       {"projected":{"defaultMode":420,
       "sources":[{"serviceAccountToken":{"expirationSeconds":3600}}]}},
       {"hostPath":{"type":""}},
       {"ephemeral":{"volumeClaimTemplate":{"spec":{"volumeMode":"Filesystem"}}}}]}}})"},
    {"deployment", kDeployments,
     R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":
       {"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"a:1"}]}}}})",
     R"({"spec":{"replicas":1,"strategy":{"type":"RollingUpdate","rollingUpdate":
       {"maxUnavailable":"25%","maxSurge":"25%"}},"revisionHistoryLimit":10,
       "progressDeadlineSeconds":600,"template":{"spec":{"restartPolicy":"Always",
       "enableServiceLinks":null}}},"status":{}})"},
    {"replica set", "/apis/apps/v1/namespaces/tst/replicasets",
     R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":
       {"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"a:1"}]}}}})",
     R"({"spec":{"replicas":1},"status":{"replicas":0}})"},
    {"replication controller", "/api/v1/namespaces/tst/replicationcontrollers",
     R"({"metadata":{"name":"d"},"spec":{"template":
       {"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"a:1"}]}}}})",
     R"({"metadata":{"labels":{"a":"b"}},"spec":{"replicas":1,"selector":{"a":"b"}}})"},
    {"stateful set", "/apis/apps/v1/namespaces/tst/statefulsets",
     R"({"metadata":{"name":"d"},"spec":{"serviceName":"s","selector":{"matchLabels":{"a":"b"}},
       "template":{"metadata":{"labels":{"a":"b"}},
       "spec":{"containers":[{"name":"c","image":"a:1"}]}},
       "volumeClaimTemplates":[{"metadata":{"name":"v"},"spec":{"accessModes":["ReadWriteOnce"],
       "resources":{"requests":{"storage":"1Gi"}}}}]}})",
     R"({"spec":{"replicas":1,"podManagementPolicy":"OrderedReady","updateStrategy":
       {"type":"RollingUpdate","rollingUpdate":{"partition":0}},"revisionHistoryLimit":10,
       "persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain","whenScaled":"Retain"},
       "volumeClaimTemplates":[{"kind":"PersistentVolumeClaim","apiVersion":"v1",
       "spec":{"volumeMode":"Filesystem"},"status":{"phase":"Pending"}}]},
       "status":{"replicas":0,"availableReplicas":0}})"},
    {"daemon set", "/apis/apps/v1/namespaces/tst/daemonsets",
     R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":
       {"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"a:1"}]}}}})",
     R"({"metadata":{"annotations":{"deprecated.daemonset.template.generation":"1"}},
       "spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":
       {"maxUnavailable":1,"maxSurge":0}},"revisionHistoryLimit":10}})"},
    {"job", "/apis/batch/v1/namespaces/tst/jobs",
     R"({"metadata":{"name":"j"},"spec":{"template":{"spec":{"restartPolicy":"Never",
       "containers":[{"name":"c","image":"a:1"}]}}}})",
     R"({"metadata":{"labels":{"batch.kubernetes.io/job-name":"j","job-name":"j"}},
       "spec":{"parallelism":1,"completions":1,"backoffLimit":6,"completionMode":"NonIndexed",
       "suspend":false,"manualSelector":false,"podReplacementPolicy":"TerminatingOrFailed",
       "template":{"metadata":{"labels":{"batch.kubernetes.io/job-name":"j","job-name":"j"}}}}})"},
    {"job with a failure policy and limits per index", "/apis/batch/v1/namespaces/tst/jobs",
     R"({"metadata":{"name":"j"},"spec":{"completionMode":"Indexed","completions":2,
       "parallelism":2,"backoffLimitPerIndex":1,"podFailurePolicy":{"rules":[{"action":"Ignore",
       "onPodConditions":[{"type":"DisruptionTarget"}]}]},"template":{"spec":{
       "restartPolicy":"Never","containers":[{"name":"c","image":"a:1"}]}}}})",
     R"({"spec":{"backoffLimit":2147483647,"podReplacementPolicy":"Failed","podFailurePolicy":
       {"rules":[{"onPodConditions":[{"type":"DisruptionTarget","status":"True"}]}]}}})"},
    {"parallelism alone", "/apis/batch/v1/namespaces/tst/jobs",
     R"({"metadata":{"name":"j"},"spec":{"parallelism":3,"template":{"spec":{
       "restartPolicy":"Never","containers":[{"name":"c","image":"a:1"}]}}}})",
     R"({"spec":{"parallelism":3,"completions":null}})"},
    {"cron job", "/apis/batch/v1/namespaces/tst/cronjobs",
     R"({"metadata":{"name":"c"},"spec":{"schedule":"*/5 * * * *","jobTemplate":{"spec":{"template":
       {"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"a:1"}]}}}}}})",
     R"({"spec":{"concurrencyPolicy":"Allow","suspend":false,"successfulJobsHistoryLimit":3,
       "failedJobsHistoryLimit":1,"jobTemplate":{"spec":{"backoffLimit":null,
       "template":{"spec":{"dnsPolicy":"ClusterFirst"}}}}}})"},
    {"service", "/api/v1/namespaces/tst/services",
     R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}})",
     R"({"spec":{"type":"ClusterIP","sessionAffinity":"None","ports":[{"port":80,"protocol":"TCP",
       "targetPort":80,"nodePort":null}],"internalTrafficPolicy":"Cluster","ipFamilies":["IPv4"],
       "ipFamilyPolicy":"SingleStack"},"status":{"loadBalancer":{}}})"},
    {"service with affinity", "/api/v1/namespaces/tst/services",
     R"({"metadata":{"name":"s"},"spec":{"sessionAffinity":"ClientIP","clusterIP":"None",
       "ports":[{"port":80}]}})",
     R"({"spec":{"clusterIP":"None","clusterIPs":["None"],
       "sessionAffinityConfig":{"clientIP":{"timeoutSeconds":10800}}}})"},
    {"service with leftovers of an affinity", "/api/v1/namespaces/tst/services",
     R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":80}],
       "sessionAffinityConfig":{"clientIP":{"timeoutSeconds":5}}}})",
     R"({"spec":{"sessionAffinity":"None","sessionAffinityConfig":null}})"},
    {"load balancer", "/api/v1/namespaces/tst/services",
     R"({"metadata":{"name":"s"},"spec":{"type":"LoadBalancer","ports":[{"port":80}]}})",
     R"({"spec":{"externalTrafficPolicy":"Cluster","allocateLoadBalancerNodePorts":true}})"},
    {"external name", "/api/v1/namespaces/tst/services",
     R"({"metadata":{"name":"s"},"spec":{"type":"ExternalName","externalName":"a.b"}})",
     R"({"spec":{"clusterIP":null,"ipFamilies":null,"internalTrafficPolicy":null}})"},
    {"secret", "/api/v1/namespaces/tst/secrets",
     R"({"metadata":{"name":"s"},"stringData":{"a":"x"},"data":{"b":"eQ=="}})",
     R"({"type":"Opaque","data":{"a":"eA==","b":"eQ=="},"stringData":null})"},
    {"namespace", "/api/v1/namespaces", R"({"metadata":{"name":"fresh"}})",
     R"({"metadata":{"labels":{"kubernetes.io/metadata.name":"fresh"}},
       "spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}})"},
    {"claim", "/api/v1/namespaces/tst/persistentvolumeclaims",
     R"({"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],
       "resources":{"requests":{"storage":"1Gi"}}}})",
     R"({"spec":{"volumeMode":"Filesystem"},"status":{"phase":"Pending"}})"},
    {"volume", "/api/v1/persistentvolumes",
     R"({"metadata":{"name":"v"},"spec":{"accessModes":["ReadWriteOnce"],
       "capacity":{"storage":"1Gi"},"hostPath":{"path":"/x"}}})",
     R"({"spec":{"persistentVolumeReclaimPolicy":"Retain","volumeMode":"Filesystem"},
       "status":{"phase":"Pending","lastPhaseTransitionTime":"2026-11-20T10:00:00Z"}})"},
    {"endpoints", "/api/v1/namespaces/tst/endpoints",
     R"({"metadata":{"name":"e"},"subsets":[{"addresses":[{"ip":"10.0.0.1"}],
       "ports":[{"port":80}]}]})",
     R"({"subsets":[{"ports":[{"port":80,"protocol":"TCP"}]}]})"},
    {"endpoint slice", "/apis/discovery.k8s.io/v1/namespaces/tst/endpointslices",
     R"({"metadata":{"name":"e"},"addressType":"IPv4","endpoints":[],"ports":[{"port":80}]})",
     R"({"ports":[{"port":80,"protocol":"TCP","name":""}]})"},
    {"limit range", "/api/v1/namespaces/tst/limitranges",
     R"({"metadata":{"name":"l"},"spec":{"limits":[{"type":"Container","max":{"cpu":"2"},
       "min":{"memory":"1Mi"}},{"type":"Pod","max":{"cpu":"4"}}]}})",
     R"({"spec":{"limits":[{"default":{"cpu":"2"},"defaultRequest":{"cpu":"2","memory":"1Mi"}},
       {"default":null,"defaultRequest":null}]}})"},
    {"priority class", "/apis/scheduling.k8s.io/v1/priorityclasses",
     R"({"metadata":{"name":"p"},"value":10})", R"({"preemptionPolicy":"PreemptLowerPriority"})"},
    {"storage class", "/apis/storage.k8s.io/v1/storageclasses",
     R"({"metadata":{"name":"s"},"provisioner":"x"})",
     R"({"reclaimPolicy":"Delete","volumeBindingMode":"Immediate"})"},
    {"CSI driver", "/apis/storage.k8s.io/v1/csidrivers", R"({"metadata":{"name":"d"},"spec":{}})",
     R"({"spec":{"attachRequired":true,"podInfoOnMount":false,
       "volumeLifecycleModes":["Persistent"],"storageCapacity":false,
       "fsGroupPolicy":"ReadWriteOnceWithFSType","requiresRepublish":false,"seLinuxMount":false}})"},
    {"role binding", "/apis/rbac.authorization.k8s.io/v1/namespaces/tst/rolebindings",
     R"({"metadata":{"name":"b"},"roleRef":{"kind":"ClusterRole","name":"view"},"subjects":[
       {"kind":"User","name":"u"},{"kind":"ServiceAccount","name":"s","namespace":"tst"}]})",
     R"({"roleRef":{"apiGroup":"rbac.authorization.k8s.io"},"subjects":[
       {"apiGroup":"rbac.authorization.k8s.io"},{"apiGroup":null}]})"},
    {"network policy", "/apis/networking.k8s.io/v1/namespaces/tst/networkpolicies",
     R"({"metadata":{"name":"n"},"spec":{"podSelector":{},"egress":[{"ports":[{"port":53}]}]}})",
     R"({"spec":{"policyTypes":["Ingress","Egress"],
       "egress":[{"ports":[{"port":53,"protocol":"TCP"}]}]}})"},
    {"autoscaler", "/apis/autoscaling/v2/namespaces/tst/horizontalpodautoscalers",
     R"({"metadata":{"name":"h"},"spec":{"maxReplicas":3,
       "scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"}}})",
     R"({"spec":{"minReplicas":1,"metrics":[{"type":"Resource","resource":{"name":"cpu",
       "target":{"type":"Utilization","averageUtilization":80}}}]}})"},
    {"mutating webhook", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
     R"({"metadata":{"name":"w"},"webhooks":[{"name":"a.b.c","sideEffects":"None",
       "admissionReviewVersions":["v1"],"clientConfig":{"service":{"name":"s","namespace":"n"}},
       "rules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],
       "resources":["pods"]}]}]})",
     R"({"webhooks":[{"failurePolicy":"Fail","matchPolicy":"Equivalent","namespaceSelector":{},
       "objectSelector":{},"timeoutSeconds":10,"reinvocationPolicy":"Never",
       "rules":[{"scope":"*"}],"clientConfig":{"service":{"port":443}}}]})"},
    {"resource claim", "/apis/resource.k8s.io/v1/namespaces/tst/resourceclaims",
     R"({"metadata":{"name":"r"},"spec":{"devices":{"requests":[{"name":"g","exactly":
       {"deviceClassName":"gpu"}}]}}})",
     R"({"spec":{"devices":{"requests":[{"exactly":{"allocationMode":"ExactCount","count":1}}]}}})"},
    {"API service", "/apis/apiregistration.k8s.io/v1/apiservices",
     R"({"metadata":{"name":"v1.x.y"},"spec":{"group":"x.y","version":"v1","versionPriority":1,
       "groupPriorityMinimum":1,"service":{"name":"s","namespace":"n"}}})",
     R"({"spec":{"service":{"port":443}}})"},
    {"flow schema", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
     R"({"metadata":{"name":"f"},"spec":{"priorityLevelConfiguration":{"name":"x"}}})",
     R"({"spec":{"matchingPrecedence":1000}})"},
};

std::string row_name(const ::testing::TestParamInfo<Row>& info) {
  std::string name = info.param.what;
  for (char& c : name) {
    c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Section14_2, Defaults, ::testing::ValuesIn(kRows), row_name);

TEST(Services, GetDistinctAddressesAndPorts) {
  TestServer server;
  std::set<std::string> addresses;
  std::set<std::int64_t> ports;
  for (int i = 0; i < 20; ++i) {
    const Answer made =
        server.post("/api/v1/namespaces/tst/services",
                    parse(R"({"metadata":{"generateName":"s-"},"spec":{"type":"NodePort",
          "ports":[{"name":"a","port":80},{"name":"b","port":81}]}})"));
    ASSERT_EQ(made.status, 201) << made.text;
    const Value& spec = made.value["spec"];
    EXPECT_TRUE(spec["clusterIP"].as_string().starts_with("10.96."));
    EXPECT_TRUE(addresses.insert(spec["clusterIP"].str()).second);
    for (const Value& port : spec["ports"].items()) {
      EXPECT_GE(port["nodePort"].as_int(), 30000);
      EXPECT_LE(port["nodePort"].as_int(), 32767);
      EXPECT_TRUE(ports.insert(port["nodePort"].as_int()).second);
    }
  }
}

TEST(Services, KeepTheirAddressUntilTheyNeedNone) {
  TestServer server;
  const std::string item = "/api/v1/namespaces/tst/services/s";
  const Answer made = server.post("/api/v1/namespaces/tst/services",
                                  parse(R"({"metadata":{"name":"s"},"spec":{"type":"NodePort",
                    "ports":[{"port":80}]}})"));
  const Answer same = server.put(
      item, parse(R"({"metadata":{"name":"s"},"spec":{"type":"NodePort","ports":[{"port":80}]}})"));
  ASSERT_EQ(same.status, 200) << same.text;
  EXPECT_EQ(same.value["spec"]["clusterIP"], made.value["spec"]["clusterIP"]);
  EXPECT_EQ(same.value["spec"]["ports"], made.value["spec"]["ports"]);
  const Answer internal = server.patch(item, "merge", R"({"spec":{"type":"ClusterIP"}})");
  ASSERT_EQ(internal.status, 200) << internal.text;
  EXPECT_FALSE(internal.value["spec"]["ports"][0].contains("nodePort"));
  const Answer external =
      server.patch(item, "merge", R"({"spec":{"type":"ExternalName","externalName":"a.b"}})");
  ASSERT_EQ(external.status, 200) << external.text;
  EXPECT_FALSE(external.value["spec"].contains("clusterIP"));
}

TEST(Jobs, SelectTheirPodsByUid) {
  TestServer server;
  const Answer made =
      server.post("/apis/batch/v1/namespaces/tst/jobs",
                  parse(R"({"metadata":{"generateName":"j-"},"spec":{"template":{"spec":{
        "restartPolicy":"Never","containers":[{"name":"c","image":"a:1"}]}}}})"));
  ASSERT_EQ(made.status, 201) << made.text;
  const Value& uid = made.value["metadata"]["uid"];
  EXPECT_EQ(made.value["spec"]["selector"]["matchLabels"]["batch.kubernetes.io/controller-uid"],
            uid);
  EXPECT_EQ(made.value["spec"]["template"]["metadata"]["labels"]["controller-uid"], uid);
  EXPECT_EQ(made.value["metadata"]["labels"]["job-name"], made.value["metadata"]["name"]);
}

TEST(DaemonSets, CountTheirTemplates) {
  TestServer server;
  const std::string list = "/apis/apps/v1/namespaces/tst/daemonsets";
  ASSERT_EQ(server
                .post(list, parse(R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":
                  {"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
                  "spec":{"containers":[{"name":"c","image":"a:1"}]}}}})"))
                .status,
            201);
  const auto generation = [](const Answer& answer) {
    return answer.value["metadata"]["annotations"]["deprecated.daemonset.template.generation"]
        .str();
  };
  EXPECT_EQ(generation(server.patch(list + "/d", "merge", R"({"spec":{"minReadySeconds":3}})")),
            "1");
  EXPECT_EQ(generation(server.patch(list + "/d", "strategic-merge",
                                    R"({"spec":{"template":{"spec":{"containers":[
                                      {"name":"c","image":"a:2"}]}}}})")),
            "2");
}

}  // namespace
}  // namespace athanor::apiserver::defaults_test
