// SPDX-License-Identifier: Apache-2.0
// Rules that the comparison with the real server brought to light (docs/testing.md).
#include <string>
#include <string_view>

#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::reference_rules_test {
namespace {

constexpr std::string_view kPods = "/api/v1/namespaces/tst/pods";
constexpr std::string_view kServices = "/api/v1/namespaces/tst/services";
constexpr std::string_view kPolicies = "/apis/networking.k8s.io/v1/namespaces/tst/networkpolicies";
constexpr std::string_view kSlices = "/apis/resource.k8s.io/v1/resourceslices";
constexpr std::string_view kEvents = "/apis/events.k8s.io/v1/namespaces/tst/events";

struct Rule {
  const char* what;
  std::string_view path;
  std::string body;
  const char* cause;  // one of the errors, as the message tells it
};

std::string pod(const std::string& container, const std::string& spec = {}) {
  return R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"x",)" + container +
         "}]" + spec + "}}";
}

std::string volume(const std::string& source) {
  return R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"x"}],)"
         R"("volumes":[{"name":"v",)" +
         source + "}]}}";
}

class ReferenceRules : public ::testing::TestWithParam<Rule> {};

TEST_P(ReferenceRules, Refuse) {
  TestServer server;
  const Rule& rule = GetParam();
  const Answer answer = server.post(rule.path, parse(rule.body));
  EXPECT_EQ(answer.status, 422) << answer.text;
  EXPECT_NE(answer.message().find(rule.cause), std::string::npos) << answer.message();
}

const Rule kRules[] = {
    {"exec", kPods, pod(R"("livenessProbe":{"exec":{}})"),
     "spec.containers[0].livenessProbe.exec.command: Required value"},
    {"handlers", kPods, pod(R"("readinessProbe":{"httpGet":{"port":1},"tcpSocket":{"port":1}})"),
     "spec.containers[0].readinessProbe.tcpSocket: Forbidden: may not specify more than 1 handler "
     "type"},
    {"port_name", kPods, pod(R"("readinessProbe":{"tcpSocket":{"port":"1-"}})"),
     "spec.containers[0].readinessProbe.tcpSocket.port: Invalid value: \"1-\": must contain at "
     "least one letter (a-z)"},
    {"host_ports", kPods, pod(R"("ports":[{"containerPort":1,"hostPort":9},
         {"containerPort":2,"hostPort":9}])"),
     "spec.containers[0].ports[1].hostPort: Duplicate value: \"TCP//9\""},
    {"value_from", kPods, pod(R"("env":[{"name":"A","valueFrom":{"fieldRef":null}}])"),
     "spec.containers[0].env[0].valueFrom: Invalid value: \"\": must specify one of: `fieldRef`"},
    {"field_path", kPods,
     pod(R"("env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"spec.restartPolicy"}}}])"),
     "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "
     "\"spec.restartPolicy\""},
    {"resource", kPods,
     pod(R"("env":[{"name":"A","valueFrom":{"resourceFieldRef":{"resource":"cpu"}}}])"),
     "spec.containers[0].env[0].valueFrom.resourceFieldRef.resource: Unsupported value: \"cpu\""},
    {"alias", kPods, pod(R"("command":["x"])", R"(,"hostAliases":[{"ip":"x","hostnames":["h"]}])"),
     "spec.hostAliases[0].ip: Invalid value: \"x\": must be a valid IP address"},
    {"nameserver", kPods, pod(R"("command":["x"])", R"(,"dnsConfig":{"nameservers":["x"]})"),
     "spec.dnsConfig.nameservers[0]: Invalid value: \"x\": must be a valid IP address"},
    {"items", kPods, volume(R"("configMap":{"name":"m","items":[{"key":"k","path":"../p"}]})"),
     "spec.volumes[0].configMap.items[0].path: Invalid value: \"../p\": must not contain '..'"},
    {"projected", kPods,
     volume(R"("projected":{"sources":[{"configMap":{"name":"m","items":[{"key":"k"}]}}]})"),
     "spec.volumes[0].projected.sources[0].configMap.items[0].path: Required value"},
    {"downward", kPods, volume(R"("downwardAPI":{"items":[{"path":"p"}]})"),
     "spec.volumes[0].downwardAPI: Required value: one of fieldRef and resourceFieldRef"},
    {"mode", kPods, volume(R"("secret":{"secretName":"s","defaultMode":1000})"),
     "spec.volumes[0].secret.defaultMode: Invalid value: 1000: must be a number between 0 and"},
    {"nameless", kPods, R"({"metadata":{},"spec":{}})",
     "[metadata.name: Required value: name or generateName is required, spec.containers: Required "
     "value]"},
    {"none_with_ports", kServices,
     R"({"metadata":{"name":"s"},"spec":{"type":"NodePort","clusterIP":"None",
         "ports":[{"port":1}]}})",
     "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services"},
    {"policy_port", kPolicies,
     R"({"metadata":{"name":"n"},"spec":{"podSelector":{},"ingress":[{"ports":[{"port":0}]}]}})",
     "spec.ingress[0].ports[0].port: Invalid value: 0: must be between 1 and 65535"},
    {"policy_peer", kPolicies,
     R"({"metadata":{"name":"n"},"spec":{"podSelector":{},"egress":[{"to":[{}]}]}})",
     "spec.egress[0].to[0]: Required value: must specify a peer"},
    {"pool", kSlices,
     R"({"metadata":{"name":"s"},"spec":{"driver":"a.b","nodeName":"n","pool":{"name":"A_b"}}})",
     "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero"},
    {"counters_and_devices", kSlices,
     R"({"metadata":{"name":"s"},"spec":{"driver":"a.b","nodeName":"n",
         "pool":{"name":"p","resourceSliceCount":1},"devices":[{"name":"d"}],
         "sharedCounters":[{"name":"c","counters":{"m":{"value":"1"}}}]}})",
     "spec: Invalid value: \"\": only one of `sharedCounters` or `devices` is allowed"},
    {"counter_names", kSlices,
     R"({"metadata":{"name":"s"},"spec":{"driver":"a.b","nodeName":"n",
         "pool":{"name":"p","resourceSliceCount":1},
         "sharedCounters":[{"name":"c","counters":{"m":{"value":"1"}}},{"name":"c","counters":{}}]}})",
     "[spec.sharedCounters[1]: Duplicate value: \"c\", spec.sharedCounters[1].counters: Required "
     "value]"},
    {"consumption", kSlices,
     R"({"metadata":{"name":"s"},"spec":{"driver":"a.b","nodeName":"n",
         "pool":{"name":"p","resourceSliceCount":1},"devices":[{"name":"d","consumesCounters":[
         {"counterSet":"a","counters":{"m":{"value":"1"}}},
         {"counterSet":"b","counters":{"m":{"value":"1"}}},
         {"counterSet":"c","counters":{"m":{"value":"1"}}}]}]}})",
     "spec.devices[0].consumesCounters: Too many: 3: must have at most 2 items"},
    {"volume_modes", "/api/v1/persistentvolumes",
     R"({"metadata":{"name":"v"},"spec":{"capacity":{"storage":"1Gi"},"hostPath":{},
         "accessModes":["A"]}})",
     "[spec.accessModes: Unsupported value: \"A\": supported values: \"ReadOnlyMany\", "
     "\"ReadWriteMany\", \"ReadWriteOnce\", \"ReadWriteOncePod\", spec.hostPath.path: Required "
     "value]"},
    {"revision", "/apis/apps/v1/namespaces/tst/controllerrevisions",
     R"({"metadata":{"name":"r"},"revision":1})", "data: Required value: data is mandatory"},
    {"ingress", "/apis/networking.k8s.io/v1/namespaces/tst/ingresses",
     R"({"metadata":{"name":"i"},"spec":{"rules":[{"http":{}}]}})",
     "spec.rules[0].http.paths: Required value"},
    {"event", kEvents,
     R"({"metadata":{"name":"e"},"eventTime":"2020-01-01T00:00:00.000001Z","type":"Normal",
         "regarding":{"namespace":"tst"},"reason":"R","reportingController":"a.b/c",
         "reportingInstance":"i","deprecatedCount":3})",
     "[action: Required value, count: Invalid value: \"\": needs to be unset]"},
};

INSTANTIATE_TEST_SUITE_P(Differential, ReferenceRules, ::testing::ValuesIn(kRules),
                         [](const auto& row) { return std::string(row.param.what); });

TEST(ReferenceForms, DevicesThatConsumeCountersAreFewer) {
  const auto slice = [](int devices, bool counters) {
    Value list = Value::list();
    for (int i = 0; i < devices; ++i) {
      list.push_back(Value::object({{"name", "d" + std::to_string(i)}}));
    }
    if (counters) {
      list.item(0).set("consumesCounters",
                       parse(R"([{"counterSet":"a","counters":{"m":{"value":"1"}}}])"));
    }
    Value body = parse(R"({"metadata":{"name":"s"},"spec":{"driver":"a.b","nodeName":"n",
                           "pool":{"name":"p","resourceSliceCount":1}}})");
    body.set_path({"spec", "devices"}, list);
    return body;
  };
  TestServer server;
  EXPECT_EQ(server.post(std::string(kSlices), slice(65, true)).status, 422);
  EXPECT_EQ(server.post(std::string(kSlices), slice(65, false)).status, 201);
}

TEST(ReferenceForms, KindAndVersionAreTexts) {
  TestServer server;
  const Answer answer = server.post("/api/v1/namespaces/tst/configmaps",
                                    parse(R"({"Kind":{},"metadata":{"name":"a"}})"));
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.message().substr(0, 73),
            "the object provided is unrecognized (must be of type ConfigMap): couldn't");
}

TEST(ReferenceForms, FinalizersAreNamedTwice) {
  TestServer server;
  const Answer answer = server.post("/api/v1/namespaces/tst/configmaps",
                                    parse(R"({"metadata":{"name":"a","finalizers":["-"]}})"));
  EXPECT_EQ(answer.status, 422);
  const std::string message = answer.message();
  EXPECT_NE(message.find("metadata.finalizers: Invalid value: \"-\": name part must consist"),
            std::string::npos);
  EXPECT_NE(message.find("metadata.finalizers[0]: Invalid value: \"-\": name is neither"),
            std::string::npos);
}

TEST(ReferenceForms, ServicesTakeTheirEndpointsAlong) {
  TestServer server;
  server.post(kServices, parse(R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":1}]}})"));
  server.post("/api/v1/namespaces/tst/endpoints", parse(R"({"metadata":{"name":"s"}})"));
  EXPECT_EQ(server.remove(std::string(kServices) + "/s").status, 200);
  EXPECT_EQ(server.get("/api/v1/namespaces/tst/endpoints/s").status, 404);
}

TEST(ReferenceForms, LeavesReplicasUnownedAfterScaleToZero) {
  TestServer server;
  const std::string path = "/apis/apps/v1/namespaces/tst/deployments";
  server.post(path, parse(R"({"metadata":{"name":"d"},"spec":{"replicas":2,
    "selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
    "spec":{"containers":[{"name":"c","image":"x"}]}}}})"));
  EXPECT_EQ(server.patch(path + "/d/scale", "merge", R"({"spec":{"replicas":0}})").status, 200);
  const Answer answer = server.get(path + "/d");
  for (const Value& entry : answer.value["metadata"]["managedFields"].items()) {
    EXPECT_FALSE(entry["fieldsV1"]["f:spec"].contains("f:replicas")) << answer.text;
  }
}

TEST(ReferenceForms, AnInstructionAboutNothingSaysNothing) {
  TestServer server;
  const std::string path = "/api/v1/namespaces/tst/podtemplates";
  server.post(path, parse(R"({"metadata":{"name":"t"},
    "template":{"spec":{"containers":[{"name":"c","image":"x"}]}}})"));
  const Answer answer =
      server.patch(path + "/t", "strategic-merge",
                   R"({"template":{"spec":{"nodeSelector":{"$patch":"replace","x":"y"}}}})");
  EXPECT_EQ(answer.status, 200) << answer.text;
  EXPECT_TRUE(answer.value["template"]["spec"]["nodeSelector"].is_null()) << answer.text;
}

TEST(ReferenceForms, AnEmptyListOfManagersEndsTheTracking) {
  TestServer server;
  server.post("/api/v1/namespaces/tst/configmaps",
              parse(R"({"metadata":{"name":"a"},"data":{"x":"1"}})"));
  const Answer answer = server.put("/api/v1/namespaces/tst/configmaps/a",
                                   parse(R"({"metadata":{"name":"a","managedFields":[]},
                                       "data":{"x":"1"}})"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.value["metadata"]["managedFields"].is_null()) << answer.text;
}

}  // namespace
}  // namespace athanor::apiserver::reference_rules_test
