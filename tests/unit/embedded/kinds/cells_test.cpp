// SPDX-License-Identifier: Apache-2.0
// Row by row: what `kubectl get` shows of an object (docs/spec/apiserver.md Appendix T).
#include <gtest/gtest.h>

#include "embedded/kinds/kind_behaviour.hpp"
#include "embedded/kinds/resource_info.hpp"
#include "unit/embedded/apiserver/fixture.hpp"

namespace athanor::apiserver::cells_test {
namespace {

struct Row {
  const char* what;
  const char* resource;  // "group/plural", "/pods"
  const char* object;    // without name and creation time, 90 s ago
  const char* cells;     // without the name; "AGE" for 90s
};

class Rows : public ::testing::TestWithParam<Row> {};

// The row without its name, ages as AGE.
std::string cells_of(const Row& row) {
  const std::string_view resource = row.resource;
  const std::size_t slash = resource.find('/');
  const KindBehaviour* behaviour =
      kind_behaviour(resource.substr(0, slash), "v1", resource.substr(slash + 1));
  EXPECT_NE(behaviour, nullptr);
  EXPECT_NE(behaviour->cells, nullptr);
  Value object = test::parse(row.object);
  Value& metadata = object.member("metadata");
  metadata.set("name", "x");
  metadata.set("creationTimestamp", format_time(test::kNow - std::chrono::seconds(90)));
  Value shown = Value::list();
  for (const Value& cell : behaviour->cells(object, test::kNow)) {
    if (cell.as_string() != "x") {
      shown.push_back(cell.as_string() == "90s" ? Value("AGE") : cell);
    }
  }
  return json::print(shown);
}

TEST_P(Rows, ShowTheirState) {
  const Row& row = GetParam();
  Value wanted = test::parse(row.cells);
  EXPECT_EQ(cells_of(row), json::print(wanted));
}

const Row kRows[] = {
    {"pending pod", "/pods",
     R"({"spec":{"containers":[{"name":"c"}]},"status":{"phase":"Pending"}})",
     R"(["0/1","Pending","0","AGE","<none>","<none>","<none>","<none>"])"},
    {"running pod", "/pods",
     R"({"spec":{"nodeName":"n","containers":[{"name":"c"}]},"status":{"phase":"Running",
       "podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"}],"containerStatuses":[{"name":"c",
       "ready":true,"restartCount":2,"state":{"running":{}},
       "lastState":{"terminated":{"finishedAt":"2026-01-04T23:55:00Z"}}}]}})",
     R"=(["1/1","Running","2 (5m ago)","AGE","10.0.0.1","n","<none>","<none>"])="},
    {"creating pod", "/pods",
     R"({"spec":{"nodeName":"n","containers":[{"name":"c"}]},"status":{"phase":"Pending",
       "containerStatuses":[{"name":"c","state":{"waiting":{"reason":"ContainerCreating"}}}]}})",
     R"(["0/1","ContainerCreating","0","AGE","<none>","n","<none>","<none>"])"},
    {"crashing pod", "/pods",
     R"({"spec":{"containers":[{"name":"c"}]},"status":{"phase":"Running",
       "containerStatuses":[{"name":"c","restartCount":3,
       "state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}})",
     R"(["0/1","CrashLoopBackOff","3","AGE","<none>","<none>","<none>","<none>"])"},
    {"completed pod", "/pods",
     R"({"spec":{"containers":[{"name":"c"}]},"status":{"phase":"Succeeded",
       "containerStatuses":[{"name":"c","state":{"terminated":{"reason":"Completed"}}}]}})",
     R"(["0/1","Completed","0","AGE","<none>","<none>","<none>","<none>"])"},
    {"pod ended by a signal", "/pods",
     R"({"spec":{"containers":[{"name":"c"}]},"status":{"phase":"Failed",
       "containerStatuses":[{"name":"c","state":{"terminated":{"signal":9,"exitCode":137}}}]}})",
     R"(["0/1","Signal:9","0","AGE","<none>","<none>","<none>","<none>"])"},
    {"pod ended by a code", "/pods",
     R"({"spec":{"containers":[{"name":"c"}]},"status":{"phase":"Failed",
       "containerStatuses":[{"name":"c","state":{"terminated":{"exitCode":3}}}]}})",
     R"(["0/1","ExitCode:3","0","AGE","<none>","<none>","<none>","<none>"])"},
    {"one of two containers done, pod ready", "/pods",
     R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]},"status":{"phase":"Running",
       "conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[
       {"name":"a","state":{"terminated":{"reason":"Completed"}}},
       {"name":"b","ready":true,"state":{"running":{}}}]}})",
     R"(["1/2","Running","0","AGE","<none>","<none>","<none>","<none>"])"},
    {"one of two containers done, pod not ready", "/pods",
     R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]},"status":{"phase":"Running",
       "containerStatuses":[{"name":"a","state":{"terminated":{"reason":"Completed"}}},
       {"name":"b","ready":true,"state":{"running":{}}}]}})",
     R"(["1/2","NotReady","0","AGE","<none>","<none>","<none>","<none>"])"},
    {"initialising pod", "/pods",
     R"({"spec":{"initContainers":[{"name":"i"},{"name":"k"}],"containers":[{"name":"c"}]},
       "status":{"phase":"Pending","initContainerStatuses":[
       {"name":"i","state":{"terminated":{"exitCode":0}}},{"name":"k","state":{"running":{}}}]}})",
     R"(["0/1","Init:1/2","0","AGE","<none>","<none>","<none>","<none>"])"},
    {"init container failed", "/pods",
     R"({"spec":{"initContainers":[{"name":"i"}],"containers":[{"name":"c"}]},
       "status":{"phase":"Pending","initContainerStatuses":[
       {"name":"i","state":{"terminated":{"exitCode":2}}}]}})",
     R"(["0/1","Init:ExitCode:2","0","AGE","<none>","<none>","<none>","<none>"])"},
    {"init container waits", "/pods",
     R"({"spec":{"initContainers":[{"name":"i"}],"containers":[{"name":"c"}]},
       "status":{"phase":"Pending","initContainerStatuses":[{"name":"i","restartCount":4,
       "state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}})",
     R"(["0/1","Init:CrashLoopBackOff","4","AGE","<none>","<none>","<none>","<none>"])"},
    {"sidecar counts", "/pods",
     R"({"spec":{"initContainers":[{"name":"s","restartPolicy":"Always"}],
       "containers":[{"name":"c"}]},"status":{"phase":"Running","initContainerStatuses":[
       {"name":"s","started":true,"ready":true,"restartCount":1,"state":{"running":{}}}],
       "containerStatuses":[{"name":"c","ready":true,"state":{"running":{}}}]}})",
     R"(["2/2","Running","1","AGE","<none>","<none>","<none>","<none>"])"},
    {"deleted pod", "/pods",
     R"({"metadata":{"deletionTimestamp":"2026-01-05T00:00:00Z"},
       "spec":{"containers":[{"name":"c"}]},"status":{"phase":"Running"}})",
     R"(["0/1","Terminating","0","AGE","<none>","<none>","<none>","<none>"])"},
    {"pod of a lost node", "/pods",
     R"({"metadata":{"deletionTimestamp":"2026-01-05T00:00:00Z"},
       "spec":{"containers":[{"name":"c"}]},"status":{"phase":"Running","reason":"NodeLost"}})",
     R"(["0/1","Unknown","0","AGE","<none>","<none>","<none>","<none>"])"},
    {"evicted pod", "/pods",
     R"({"spec":{"containers":[{"name":"c"}]},"status":{"phase":"Failed","reason":"Evicted"}})",
     R"(["0/1","Evicted","0","AGE","<none>","<none>","<none>","<none>"])"},
    {"gated pod", "/pods",
     R"({"spec":{"containers":[{"name":"c"}],"readinessGates":[{"conditionType":"a"}]},
       "status":{"phase":"Pending","nominatedNodeName":"m","conditions":[{"type":"PodScheduled",
       "status":"False","reason":"SchedulingGated"},{"type":"a","status":"True"}]}})",
     R"(["0/1","SchedulingGated","0","AGE","<none>","<none>","m","1/1"])"},
    {"node", "/nodes",
     R"({"metadata":{"labels":{"node-role.kubernetes.io/worker":"","kubernetes.io/role":"infra"}},
       "spec":{"unschedulable":true},"status":{"conditions":[{"type":"Ready","status":"True"}],
       "addresses":[{"type":"InternalIP","address":"10.0.0.9"}],
       "nodeInfo":{"kubeletVersion":"v1","osImage":"os"}}})",
     R"(["Ready,SchedulingDisabled","infra,worker","AGE","v1","10.0.0.9","<none>","os",
       "<unknown>","<unknown>"])"},
    {"lost node", "/nodes", R"({"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}})",
     R"(["NotReady","<none>","AGE","","<none>","<none>","<unknown>","<unknown>","<unknown>"])"},
    {"unseen node", "/nodes", "{}",
     R"(["Unknown","<none>","AGE","","<none>","<none>","<unknown>","<unknown>","<unknown>"])"},
    {"namespace", "/namespaces", R"({"status":{"phase":"Terminating"}})",
     R"(["Terminating","AGE"])"},
    {"config map", "/configmaps", R"({"data":{"a":"","b":""},"binaryData":{"c":""}})",
     R"([3,"AGE"])"},
    {"secret", "/secrets", R"({"type":"Opaque","data":{"a":""}})", R"(["Opaque",1,"AGE"])"},
    {"service account", "/serviceaccounts", "{}", R"(["AGE"])"},
    {"service", "/services",
     R"({"spec":{"type":"ClusterIP","clusterIP":"10.96.0.5","ports":[{"port":80,"protocol":"TCP"},
       {"port":53,"protocol":"UDP"}],"selector":{"b":"c","a":"b"}}})",
     R"(["ClusterIP","10.96.0.5","<none>","80/TCP,53/UDP","AGE","a=b,b=c"])"},
    {"node port", "/services",
     R"({"spec":{"type":"NodePort","clusterIP":"10.96.0.5",
       "ports":[{"port":80,"nodePort":30080,"protocol":"TCP"}]}})",
     R"(["NodePort","10.96.0.5","<none>","80:30080/TCP","AGE","<none>"])"},
    {"headless", "/services", R"({"spec":{"type":"ClusterIP","clusterIP":"None"}})",
     R"(["ClusterIP","None","<none>","<none>","AGE","<none>"])"},
    {"load balancer that waits", "/services",
     R"({"spec":{"type":"LoadBalancer","clusterIP":"10.96.0.5"}})",
     R"(["LoadBalancer","10.96.0.5","<pending>","<none>","AGE","<none>"])"},
    {"load balancer", "/services",
     R"({"spec":{"type":"LoadBalancer","clusterIP":"10.96.0.5"},
       "status":{"loadBalancer":{"ingress":[{"ip":"1.2.3.4"},{"hostname":"h"}]}}})",
     R"(["LoadBalancer","10.96.0.5","1.2.3.4,h","<none>","AGE","<none>"])"},
    {"external name", "/services", R"({"spec":{"type":"ExternalName","externalName":"a.b"}})",
     R"(["ExternalName","<none>","a.b","<none>","AGE","<none>"])"},
    {"endpoints", "/endpoints",
     R"({"subsets":[{"addresses":[{"ip":"1.1.1.1"},{"ip":"1.1.1.2"}],
       "ports":[{"port":80},{"port":81}]}]})",
     R"(["1.1.1.1:80,1.1.1.1:81,1.1.1.2:80 + 1 more...","AGE"])"},
    {"endpoint slice", "discovery.k8s.io/endpointslices",
     R"({"addressType":"IPv4","endpoints":[{"addresses":["1.1.1.1"]}]})",
     R"(["IPv4","<unset>","1.1.1.1","AGE"])"},
    {"event", "/events",
     R"({"apiVersion":"v1","involvedObject":{"kind":"Pod","name":"p","fieldPath":"spec"},
       "type":"Normal","reason":"R","message":" m\n","firstTimestamp":"2026-01-04T23:59:00Z",
       "lastTimestamp":"2026-01-04T23:59:50Z","count":3,"source":{"component":"c","host":"h"}})",
     R"(["10s","Normal","R","pod/p","spec","c, h","m","60s",3])"},
    {"new event", "events.k8s.io/events",
     R"({"apiVersion":"events.k8s.io/v1","regarding":{"kind":"Job","name":"j"},"type":"Warning",
       "reason":"R","note":"n","eventTime":"2026-01-04T23:59:00.000000Z",
       "reportingController":"a.b/c","reportingInstance":"i","series":{"count":4,
       "lastObservedTime":"2026-01-04T23:59:55.000000Z"}})",
     R"(["5s","Warning","R","job/j","","a.b/c, i","n","60s",4])"},
    {"lease", "coordination.k8s.io/leases", "{}", R"(["","AGE"])"},
    {"deployment", "apps/deployments",
     R"({"spec":{"replicas":3,"selector":{"matchLabels":{"a":"b"}},"template":{"spec":{"containers":[
       {"name":"c","image":"i"},{"name":"d","image":"k"}]}}},
       "status":{"readyReplicas":1,"updatedReplicas":2,"availableReplicas":1}})",
     R"(["1/3",2,1,"AGE","c,d","i,k","a=b"])"},
    {"replica set", "apps/replicasets",
     R"({"spec":{"replicas":3,"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}},
       "status":{"replicas":2,"readyReplicas":1}})",
     R"([3,2,1,"AGE","c","i","<none>"])"},
    {"stateful set", "apps/statefulsets",
     R"({"spec":{"replicas":3,"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}})",
     R"(["0/3","AGE","c","i"])"},
    {"daemon set", "apps/daemonsets",
     R"({"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"spec":{"containers":[
       {"name":"c","image":"i"}]}}},"status":{"desiredNumberScheduled":3,
       "currentNumberScheduled":2,"numberReady":1}})",
     R"([3,2,1,0,0,"<none>","AGE","c","i","a=b"])"},
    {"controller revision", "apps/controllerrevisions",
     R"({"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"s",
       "uid":"u","controller":true}]},"revision":2})",
     R"(["statefulset.apps/s",2,"AGE"])"},
    {"running job", "batch/jobs",
     R"({"spec":{"completions":3,"parallelism":1,"selector":{"matchLabels":{"a":"b"}},
       "template":{"spec":{"containers":[{"name":"c","image":"i"}]}}},
       "status":{"succeeded":1,"startTime":"2026-01-04T23:59:00Z"}})",
     R"(["Running","1/3","60s","AGE","c","i","a=b"])"},
    {"complete job", "batch/jobs",
     R"({"spec":{"parallelism":2},"status":{"succeeded":1,"startTime":"2026-01-04T23:50:00Z",
       "completionTime":"2026-01-04T23:50:05Z","conditions":[
       {"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"}]}})",
     R"(["Complete","1/1 of 2","5s","AGE","","","<none>"])"},
    {"suspended job", "batch/jobs",
     R"({"spec":{"parallelism":1},"status":{"conditions":[{"type":"Suspended","status":"True"}]}})",
     R"(["Suspended","0/1","","AGE","","","<none>"])"},
    {"failed job", "batch/jobs",
     R"({"spec":{"completions":1},"status":{"conditions":[{"type":"FailureTarget","status":"True"},
       {"type":"Failed","status":"True"}]}})",
     R"(["Failed","0/1","","AGE","","","<none>"])"},
    {"cron job", "batch/cronjobs",
     R"({"spec":{"schedule":"@daily","suspend":true},"status":{"active":[{}],
       "lastScheduleTime":"2026-01-04T23:00:00Z"}})",
     R"(["@daily","<none>","True",1,"60m","AGE","","","<none>"])"},
    {"claim", "/persistentvolumeclaims",
     R"({"spec":{"volumeName":"v","storageClassName":"s","volumeMode":"Filesystem"},"status":
       {"phase":"Bound","capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"]}})",
     R"(["Bound","v","1Gi","RWO","s","<unset>","AGE","Filesystem"])"},
    {"unbound claim", "/persistentvolumeclaims", R"({"status":{"phase":"Pending"}})",
     R"(["Pending","","","","","<unset>","AGE","<unset>"])"},
    {"volume", "/persistentvolumes",
     R"({"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteMany","ReadOnlyMany"],
       "persistentVolumeReclaimPolicy":"Retain","claimRef":{"namespace":"n","name":"c"},
       "storageClassName":"s"},"status":{"phase":"Bound"}})",
     R"(["1Gi","RWX,ROX","Retain","Bound","n/c","s","<unset>","","AGE","<unset>"])"},
    {"default storage class", "storage.k8s.io/storageclasses",
     R"({"metadata":{"annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},
       "provisioner":"p","reclaimPolicy":"Delete","volumeBindingMode":"Immediate"})",
     R"=(["x (default)","p","Delete","Immediate",false,"AGE"])="},
    {"quota", "/resourcequotas",
     R"({"status":{"hard":{"requests.cpu":"1","pods":"5","limits.cpu":"2"},"used":{"pods":"3"}}})",
     R"(["pods: 3/5, requests.cpu: 0/1","limits.cpu: 0/2","AGE"])"},
    {"limit range", "/limitranges", "{}", R"(["2026-01-04T23:58:30Z"])"},
    {"priority class", "scheduling.k8s.io/priorityclasses",
     R"({"value":7,"globalDefault":true,"preemptionPolicy":"Never"})", R"([7,true,"AGE","Never"])"},
    {"runtime class", "node.k8s.io/runtimeclasses", R"({"handler":"runc"})", R"(["runc","AGE"])"},
    {"budget", "policy/poddisruptionbudgets",
     R"({"spec":{"maxUnavailable":"10%"},"status":{"disruptionsAllowed":2}})",
     R"(["N/A","10%",2,"AGE"])"},
    {"role", "rbac.authorization.k8s.io/roles", "{}", R"(["2026-01-04T23:58:30Z"])"},
    {"role binding", "rbac.authorization.k8s.io/rolebindings",
     R"({"roleRef":{"kind":"Role","name":"r"},"subjects":[{"kind":"User","name":"u"},
       {"kind":"Group","name":"g"},{"kind":"Group","name":"h"},
       {"kind":"ServiceAccount","namespace":"n","name":"s"}]})",
     R"(["Role/r","AGE","u","g, h","n/s"])"},
    {"ingress", "networking.k8s.io/ingresses",
     R"({"spec":{"tls":[{}],"rules":[{"host":"a"},{"host":"b"}]}})",
     R"(["<none>","a,b","","80, 443","AGE"])"},
    {"network policy", "networking.k8s.io/networkpolicies", R"({"spec":{"podSelector":{}}})",
     R"(["<none>","AGE"])"},
    {"webhooks", "admissionregistration.k8s.io/mutatingwebhookconfigurations",
     R"({"webhooks":[{},{}]})", R"([2,"AGE"])"},
    {"API service", "apiregistration.k8s.io/apiservices",
     R"({"spec":{"service":{"namespace":"n","name":"s"}},"status":{"conditions":[
       {"type":"Available","status":"False","reason":"Gone"}]}})",
     R"=(["n/s","False (Gone)","AGE"])="},
    {"autoscaler", "autoscaling/horizontalpodautoscalers",
     R"({"spec":{"minReplicas":1,"maxReplicas":3,"scaleTargetRef":{"kind":"Deployment","name":"d"},
       "metrics":[{"type":"Resource","resource":{"name":"cpu",
       "target":{"averageUtilization":80}}}]},"status":{"currentReplicas":2}})",
     R"(["Deployment/d","cpu: <unknown>/80%","1",3,2,"AGE"])"},
    {"pending resource claim", "resource.k8s.io/resourceclaims", "{}", R"(["pending","AGE"])"},
    {"used resource claim", "resource.k8s.io/resourceclaims",
     R"({"metadata":{"deletionTimestamp":"2026-01-05T00:00:00Z"},
       "status":{"allocation":{},"reservedFor":[{}]}})",
     R"(["deleted,allocated,reserved","AGE"])"},
    {"resource slice", "resource.k8s.io/resourceslices",
     R"({"spec":{"nodeName":"n","driver":"d","pool":{"name":"p"}}})", R"(["n","d","p","AGE"])"},
};

std::string row_name(const ::testing::TestParamInfo<Row>& row) {
  std::string name = row.param.what;
  for (char& c : name) {
    c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(AppendixT, Rows, ::testing::ValuesIn(kRows), row_name);

// Every built-in resource with columns of its own has as many cells.
TEST(Columns, HaveACellEach) {
  const std::vector<std::string_view> generic = {"customresourcedefinitions"};
  for (const auto& resource : built_in_resources()) {
    if (!resource->stored) {
      continue;
    }
    const KindBehaviour* behaviour = resource->behaviour;
    if (behaviour == nullptr || behaviour->cells == nullptr) {
      EXPECT_NE(std::find(generic.begin(), generic.end(), resource->plural), generic.end())
          << resource->group << "/" << resource->plural << " has no cells";
      continue;
    }
    Value object = Value::object({{"apiVersion", resource->api_version()},
                                  {"kind", resource->kind},
                                  {"metadata", Value::object({{"name", "x"}})}});
    EXPECT_EQ(behaviour->cells(object, test::kNow).size(), resource->columns.size())
        << resource->group << "/" << resource->plural;
  }
}

}  // namespace
}  // namespace athanor::apiserver::cells_test
