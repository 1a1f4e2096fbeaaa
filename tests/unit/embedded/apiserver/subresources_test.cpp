// SPDX-License-Identifier: Apache-2.0
// Binding, eviction, logs, scale of workloads, finalize (docs/spec/apiserver.md 12).
#include "kube/value/condition.hpp"
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::subresources_test {
namespace {

constexpr std::string_view kPods = "/api/v1/namespaces/tst/pods";

std::string pod(std::string_view rest) {
  return std::string(kPods) + std::string(rest);
}

void make_pod(TestServer& server, std::string_view name) {
  Value object = parse(
      R"({"metadata":{"labels":{"app":"x"}},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  object.set_path({"metadata", "name"}, Value(name));
  const Answer answer = server.post(kPods, object);
  ASSERT_EQ(answer.status, 201) << answer.text;
}

const Value kBinding = parse(R"({"metadata":{"name":"pp"},"target":{"kind":"Node","name":"n1"}})");

TEST(Binding, AssignsOnce) {
  TestServer server;
  make_pod(server, "pp");
  const Answer bound = server.post(pod("/pp/binding"), kBinding);
  EXPECT_EQ(bound.status, 201) << bound.text;
  EXPECT_EQ(bound.value, parse(R"({"kind":"Status","apiVersion":"v1","metadata":{},
                                   "status":"Success","code":201})"));
  const Answer now = server.get(pod("/pp"));
  EXPECT_EQ(now.value["spec"]["nodeName"].as_string(), "n1");
  EXPECT_EQ(now.value["metadata"]["generation"].as_int(), 1);  // as the reference has it
  EXPECT_EQ(now.value["status"]["conditions"][0]["type"].as_string(), "PodScheduled");
  const Answer again = server.post(pod("/pp/binding"), kBinding);
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.message(),
            "Operation cannot be fulfilled on pods/binding \"pp\": pod pp is already assigned to "
            "node \"n1\"");
  EXPECT_EQ(again.value["details"]["kind"].as_string(), "pods/binding");
}

TEST(Binding, WorksAsACollection) {
  TestServer server;
  make_pod(server, "pp");
  Value binding = kBinding;
  binding.set_path({"metadata", "name"}, "pp");
  EXPECT_EQ(server.post("/api/v1/namespaces/tst/bindings", binding).status, 201);
  EXPECT_EQ(server.get(pod("/pp")).value["spec"]["nodeName"].as_string(), "n1");
}

TEST(Eviction, AsksTheBudget) {
  TestServer server;
  make_pod(server, "pp");
  server.post(pod("/pp/binding"), kBinding);
  server.patch(pod("/pp/status"), "merge",
               R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})");
  const std::string budgets = "/apis/policy/v1/namespaces/tst/poddisruptionbudgets";
  ASSERT_EQ(server
                .post(budgets, parse(R"({"metadata":{"name":"b"},
                    "spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"x"}}}})"))
                .status,
            201);
  server.patch(budgets + "/b/status", "merge",
               R"({"status":{"observedGeneration":1,"disruptionsAllowed":0,"desiredHealthy":1,
                   "currentHealthy":1,"expectedPods":1}})");
  const Value eviction = parse(R"({"apiVersion":"policy/v1","kind":"Eviction",
                                   "metadata":{"name":"pp"}})");
  const Answer blocked = server.post(pod("/pp/eviction"), eviction);
  EXPECT_EQ(blocked.status, 429);
  EXPECT_EQ(blocked.message(), "Cannot evict pod as it would violate the pod's disruption budget.");
  EXPECT_EQ(blocked.value["details"]["causes"], parse(R"([{"reason":"DisruptionBudget","message":
                "The disruption budget b needs 1 healthy pods and has 1 currently"}])"));
  server.patch(budgets + "/b/status", "merge", R"({"status":{"disruptionsAllowed":1}})");
  EXPECT_EQ(server.post(pod("/pp/eviction"), eviction).status, 201);
  EXPECT_TRUE(server.get(pod("/pp")).value["metadata"].contains("deletionTimestamp"));
  const Value conditions = server.get(pod("/pp")).value["status"]["conditions"];
  EXPECT_EQ(find_condition(conditions, "DisruptionTarget")["reason"].as_string(),
            "EvictionByEvictionAPI");
  EXPECT_EQ(server.get(budgets + "/b").value["status"]["disruptionsAllowed"].as_int(9), 0);
  EXPECT_EQ(server.post(pod("/pp/eviction"), parse(R"({"metadata":{"name":"qq"}})")).message(),
            "name in URL does not match name in Eviction object");
}

TEST(Status, TakesAnnotationsButNoLabelsOfDeployment) {
  TestServer server;
  const std::string path = "/apis/apps/v1/namespaces/tst/deployments";
  Value object = server
                     .post(path, parse(R"({"metadata":{"name":"d"},"spec":{
      "selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
      "spec":{"containers":[{"name":"c","image":"i"}]}}}})"))
                     .value;
  object.set_path({"metadata", "annotations", "deployment.kubernetes.io/revision"}, "1");
  object.set_path({"metadata", "labels", "x"}, "y");
  object.set_path({"spec", "replicas"}, 7);
  object.set_path({"status", "replicas"}, 1);
  EXPECT_EQ(server.put(path + "/d/status", object).status, 200);
  const Value now = server.get(path + "/d").value;
  EXPECT_EQ(now["metadata"]["annotations"]["deployment.kubernetes.io/revision"].as_string(), "1");
  EXPECT_FALSE(now["metadata"].contains("labels"));
  EXPECT_EQ(now["spec"]["replicas"].as_int(), 1);
  EXPECT_EQ(now["status"]["replicas"].as_int(), 1);
}

TEST(Log, ChecksItsOptions) {
  TestServer server;
  make_pod(server, "pp");
  EXPECT_EQ(server.get(pod("/pp/log?container=zz")).message(),
            "container zz is not valid for pod pp");
  EXPECT_EQ(server.get(pod("/pp/log?tailLines=-1")).message(),
            "PodLogOptions \"pp\" is invalid: tailLines: Invalid value: -1: must be greater than "
            "or equal to 0");
  const Answer unscheduled = server.get(pod("/pp/log"));
  EXPECT_EQ(unscheduled.status, 200);
  EXPECT_EQ(unscheduled.text, "");
}

TEST(Scale, ChangesTheParent) {
  TestServer server;
  const std::string path = "/apis/apps/v1/namespaces/tst/deployments";
  const Answer made = server.post(path, parse(R"({"metadata":{"name":"d"},"spec":{"replicas":1,
      "selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
      "spec":{"containers":[{"name":"c","image":"i"}]}}}})"));
  ASSERT_EQ(made.status, 201) << made.text;
  const Answer scale = server.patch(path + "/d/scale", "merge", R"({"spec":{"replicas":3}})");
  ASSERT_EQ(scale.status, 200) << scale.text;
  EXPECT_EQ(scale.value["spec"]["replicas"].as_int(), 3);
  EXPECT_EQ(scale.value["status"]["selector"].as_string(), "a=b");
  const Answer now = server.get(path + "/d");
  EXPECT_EQ(now.value["spec"]["replicas"].as_int(), 3);
  EXPECT_EQ(now.value["metadata"]["generation"].as_int(), 2);
  EXPECT_EQ(server.patch(path + "/d/scale", "merge", R"({"spec":{"replicas":-1}})").message(),
            "Scale.autoscaling \"d\" is invalid: spec.replicas: Invalid value: -1: must be greater "
            "than or equal to 0");
}

TEST(Finalize, RemovesADeletedNamespace) {
  TestServer server;
  ASSERT_EQ(server
                .post("/api/v1/namespaces", parse(R"({"metadata":{"name":"gone"},
                                                     "spec":{"finalizers":["kubernetes"]}})"))
                .status,
            201);
  const Answer deleting = server.remove("/api/v1/namespaces/gone");
  EXPECT_EQ(deleting.value["status"]["phase"].as_string(), "Terminating");
  EXPECT_TRUE(deleting.value["metadata"].contains("deletionTimestamp"));
  Value object = server.get("/api/v1/namespaces/gone").value;
  object.set("spec", Value::object());
  EXPECT_EQ(server.put("/api/v1/namespaces/gone/finalize", object).status, 200);
  EXPECT_EQ(server.get("/api/v1/namespaces/gone").status, 404);
}

}  // namespace
}  // namespace athanor::apiserver::subresources_test
