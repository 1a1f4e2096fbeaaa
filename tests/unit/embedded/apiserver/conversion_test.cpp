// SPDX-License-Identifier: Apache-2.0
// Built-in kinds that two versions share (docs/spec/apiserver.md 14.1).
#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::conversion_test {
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
      R"([{"type":"Resource","resource":{"name":"memory","targetAverageUtilization":50}}])");
  const Answer changed =
      server.patch(v1 + "/h", "merge", R"({"spec":{"targetCPUUtilizationPercentage":60}})");
  ASSERT_EQ(changed.status, 200) << changed.text;
  const Answer now = server.get(v2 + "/h");
  ASSERT_EQ(now.value["spec"]["metrics"].size(), 2U) << now.text;
  EXPECT_EQ(now.value["spec"]["metrics"][1]["resource"]["target"]["averageUtilization"].as_int(),
            60);
  EXPECT_FALSE(now.value["metadata"].contains("annotations"));
}

constexpr std::string_view kAutoscalers = "/namespaces/tst/horizontalpodautoscalers";
constexpr std::string_view kMetrics = "autoscaling.alpha.kubernetes.io/metrics";

std::string autoscalers(std::string_view version) {
  return "/apis/autoscaling/" + std::string(version) + std::string(kAutoscalers);
}

std::string autoscaler(std::string_view metadata, std::string_view spec) {
  return R"({"metadata":{"name":"h")" + std::string(metadata) +
         R"(},"spec":{"maxReplicas":5,"scaleTargetRef":{"kind":"Deployment","name":"d",)"
         R"("apiVersion":"apps/v1"})" +
         std::string(spec) + "}}";
}

Value annotated(std::string_view name, std::string_view text) {
  return Value::object(
      {{"metadata",
        Value::object({{"annotations", Value::object({{std::string(name), Value(text)}})}})}});
}

TEST(Autoscaler, ShowsMetricSourcesFlatInV1) {
  TestServer server;
  const Answer made = server.post(autoscalers("v2"), parse(autoscaler("", R"(,"metrics":[
      {"type":"Object","object":{"describedObject":{"kind":"S","name":"s"},
         "metric":{"name":"m","selector":{"matchLabels":{"b":"1","a":"2"}}},
         "target":{"type":"Value","value":"2"}}},
      {"type":"Pods","pods":{"metric":{"name":"m"},
         "target":{"type":"AverageValue","averageValue":"1500m"}}},
      {"type":"ContainerResource","containerResource":{"name":"memory","container":"c",
         "target":{"type":"AverageValue","averageValue":"1Gi"}}},
      {"type":"External","external":{"metric":{"name":"m"},
         "target":{"type":"AverageValue","averageValue":"3"}}}])")));
  ASSERT_EQ(made.status, 201) << made.text;
  const Answer old = server.get(autoscalers("v1") + "/h");
  EXPECT_EQ(old.value["metadata"]["annotations"][kMetrics].as_string(),
            R"([{"type":"Object","object":{"target":{"kind":"S","name":"s"},"metricName":"m",)"
            R"("targetValue":"2","selector":{"matchLabels":{"a":"2","b":"1"}}}},)"
            R"({"type":"Pods","pods":{"metricName":"m","targetAverageValue":"1500m"}},)"
            R"({"type":"ContainerResource","containerResource":{"name":"memory",)"
            R"("targetAverageValue":"1Gi","container":"c"}},)"
            R"({"type":"External","external":{"metricName":"m","targetAverageValue":"3"}}])");
  // Nothing is lost on the way back.
  server.patch(autoscalers("v1") + "/h", "merge", R"({"spec":{"maxReplicas":6}})");
  EXPECT_EQ(server.get(autoscalers("v2") + "/h").value["spec"]["metrics"],
            made.value["spec"]["metrics"]);
}

TEST(Autoscaler, ReadsMetricTextsOfV1Leniently) {
  TestServer server;
  server.post(autoscalers("v1"), parse(autoscaler("", "")));
  const auto metrics = [&](std::string_view text) {
    const Answer changed =
        server.patch(autoscalers("v1") + "/h", "merge", json::print(annotated(kMetrics, text)));
    EXPECT_EQ(changed.status, 200) << changed.text;
    return server.get(autoscalers("v2") + "/h").value["spec"]["metrics"];
  };
  EXPECT_EQ(metrics(R"([{"TYPE":"Pods","pods":{"metricName":"m","targetAverageValue":1}}])")[0],
            parse(R"({"type":"Pods","pods":{"metric":{"name":"m"},)"
                  R"("target":{"type":"AverageValue","averageValue":"1"}}})"));
  // What is no such text says nothing, and is gone.
  EXPECT_EQ(metrics("{").size(), 1U);
  EXPECT_EQ(metrics(R"([{"type":"Pods","pods":"x"}])").size(), 1U);
  EXPECT_FALSE(server.get(autoscalers("v1") + "/h").value["metadata"].contains("annotations"));
  const Answer refused = server.patch(autoscalers("v1") + "/h", "merge",
                                      json::print(annotated(kMetrics, R"([{"type":"Pods"}])")));
  EXPECT_THAT(refused.message(), ::testing::HasSubstr("spec.metrics[0].pods: Required value"));
}

TEST(Autoscaler, ShowsABehaviourWithCapitalsInV1) {
  TestServer server;
  const Answer made = server.post(
      autoscalers("v2"),
      parse(autoscaler("", R"(,"behavior":{"scaleUp":{"stabilizationWindowSeconds":5}})")));
  ASSERT_EQ(made.status, 201) << made.text;
  // A behaviour that says anything says everything.
  EXPECT_EQ(made.value["spec"]["behavior"]["scaleDown"],
            parse(R"({"selectPolicy":"Max","policies":[)"
                  R"({"type":"Percent","value":100,"periodSeconds":15}]})"));
  EXPECT_EQ(server.get(autoscalers("v1") + "/h")
                .value["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/behavior"]
                .as_string(),
            R"({"ScaleUp":{"StabilizationWindowSeconds":5,"SelectPolicy":"Max","Policies":[)"
            R"({"Type":"Pods","Value":4,"PeriodSeconds":15},)"
            R"({"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":null},)"
            R"("ScaleDown":{"StabilizationWindowSeconds":null,"SelectPolicy":"Max","Policies":[)"
            R"({"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":null}})");
  server.patch(autoscalers("v1") + "/h", "merge", R"({"spec":{"maxReplicas":6}})");
  EXPECT_EQ(server.get(autoscalers("v2") + "/h").value["spec"]["behavior"],
            made.value["spec"]["behavior"]);
}

TEST(Autoscaler, ShowsMeasuredMetricsInV1) {
  TestServer server;
  server.post(autoscalers("v2"), parse(autoscaler("", "")));
  const Answer written = server.patch(
      autoscalers("v2") + "/h/status", "merge",
      R"({"status":{"desiredReplicas":1,"currentMetrics":[{"type":"Resource","resource":{)"
      R"("name":"cpu","current":{"averageUtilization":7,"averageValue":"1"}}}],"conditions":[)"
      R"({"type":"AbleToScale","status":"True","reason":"R",)"
      R"("lastTransitionTime":"2026-11-20T10:00:00Z"}]}})");
  ASSERT_EQ(written.status, 200) << written.text;
  const Value old = server.get(autoscalers("v1") + "/h").value;
  EXPECT_EQ(old["status"]["currentCPUUtilizationPercentage"].as_int(), 7);
  const Value& texts = old["metadata"]["annotations"];
  EXPECT_EQ(texts["autoscaling.alpha.kubernetes.io/current-metrics"].as_string(),
            R"([{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":7,)"
            R"("currentAverageValue":"1"}}])");
  EXPECT_EQ(texts["autoscaling.alpha.kubernetes.io/conditions"].as_string(),
            R"([{"type":"AbleToScale","status":"True",)"
            R"("lastTransitionTime":"2026-11-20T10:00:00Z","reason":"R"}])");
  // A client of the first version changes it as little as one of the second.
  server.patch(autoscalers("v1") + "/h", "merge",
               R"({"metadata":{"annotations":{"autoscaling.alpha.kubernetes.io/conditions":)"
               R"("[]","autoscaling.alpha.kubernetes.io/current-metrics":null}}})");
  EXPECT_EQ(server.get(autoscalers("v2") + "/h").value["status"], written.value["status"]);
}

TEST(Events, StoresNewGroupAsCoreEvents) {
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
}  // namespace athanor::apiserver::conversion_test
