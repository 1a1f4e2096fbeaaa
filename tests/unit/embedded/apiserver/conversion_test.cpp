// SPDX-License-Identifier: Apache-2.0
// Built-in kinds that two versions share (spec/apiserver.md 14.1).
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver {
namespace {

TEST(Autoscaler, CarriesItsMetricsThroughV1) {
  TestServer server;
  const std::string v1 = "/apis/autoscaling/v1/namespaces/tst/horizontalpodautoscalers";
  const std::string v2 = "/apis/autoscaling/v2/namespaces/tst/horizontalpodautoscalers";
  const Answer made = server.post(v2, parse(R"({"metadata":{"name":"h"},"spec":{"maxReplicas":5,
      "scaleTargetRef":{"kind":"Deployment","name":"d","apiVersion":"apps/v1"},
      "metrics":[{"type":"Resource","resource":{"name":"memory","target":
         {"type":"Utilization","averageUtilization":50}}},
        {"type":"Resource","resource":{"name":"cpu","target":
         {"type":"Utilization","averageUtilization":70}}}]}})"));
  ASSERT_EQ(made.status, 201) << made.text;
  const Answer old = server.get(v1 + "/h");
  EXPECT_EQ(old.value["apiVersion"].as_string(), "autoscaling/v1");
  EXPECT_EQ(old.value["spec"]["targetCPUUtilizationPercentage"].as_int(), 70);
  EXPECT_FALSE(old.value["spec"].contains("metrics"));
  EXPECT_EQ(
      old.value["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/metrics"].as_string(),
      R"([{"type":"Resource","resource":{"name":"memory","target":)"
      R"({"type":"Utilization","averageUtilization":50}}}])");
  const Answer changed =
      server.patch(v1 + "/h", "merge", R"({"spec":{"targetCPUUtilizationPercentage":60}})");
  ASSERT_EQ(changed.status, 200) << changed.text;
  const Answer now = server.get(v2 + "/h");
  ASSERT_EQ(now.value["spec"]["metrics"].size(), 2U) << now.text;
  EXPECT_EQ(now.value["spec"]["metrics"][1]["resource"]["target"]["averageUtilization"].as_int(),
            60);
  EXPECT_FALSE(now.value["metadata"].contains("annotations"));
}

TEST(Events, OfTheNewGroupAreStoredAsCoreOnes) {
  TestServer server;
  const Answer made = server.post(
      "/apis/events.k8s.io/v1/namespaces/tst/events",
      parse(R"({"metadata":{"name":"e"},"regarding":{"kind":"Pod","name":"p","namespace":"tst"},
                "eventTime":"2026-11-20T10:00:00.000001Z","reportingController":"c",
                "reportingInstance":"c-1","action":"a","reason":"R","type":"Normal",
                "note":"hello"})"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.value["apiVersion"].as_string(), "events.k8s.io/v1");
  const Answer core = server.get("/api/v1/namespaces/tst/events/e");
  EXPECT_EQ(core.value["message"].as_string(), "hello");
  EXPECT_EQ(core.value["involvedObject"]["name"].as_string(), "p");
  EXPECT_EQ(core.value["reportingComponent"].as_string(), "c");
  Answer watch = server.get("/apis/events.k8s.io/v1/events?watch=1");
  const auto events = TestServer::events(watch);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0]["object"]["note"].as_string(), "hello");
}

}  // namespace
}  // namespace athanor::apiserver
