// SPDX-License-Identifier: Apache-2.0
// What the differential stream brought to light about autoscalers, of which two versions are
// served.
#include "unit/embedded/apiserver/differential.hpp"

namespace athanor::apiserver::differential_autoscalers_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kAutoscalers = "/namespaces/tst/horizontalpodautoscalers";

void make_old_autoscaler(TestServer& server) {
  const Answer made = server.post(
      with("/apis/autoscaling/v1", kAutoscalers) + "?fieldManager=old",
      parse(R"({"metadata":{"name":"a"},"spec":{"maxReplicas":4,"scaleTargetRef":{"kind":)"
            R"("Deployment","name":"a","apiVersion":"apps/v1"},)"
            R"("targetCPUUtilizationPercentage":50}})"));
  ASSERT_EQ(made.status, 201) << made.text;
}

TEST(DifferentialAutoscalers, DropOwnershipOfFieldsAcrossVersions) {
  TestServer server;
  const std::string path(kAutoscalers);
  make_old_autoscaler(server);
  const auto entries = [&](std::string_view spec) {
    return json::print(server
                           .patch("/apis/autoscaling/v2" + path + "/a?fieldManager=new", "merge",
                                  R"({"spec":)" + std::string(spec) + "}")
                           .value["metadata"]["managedFields"]);
  };
  EXPECT_THAT(entries(R"({"maxReplicas":5})"), HasSubstr(R"("f:scaleTargetRef":{})"));
  EXPECT_THAT(entries(R"({"scaleTargetRef":{"name":"b"}})"),
              Not(HasSubstr(R"("f:scaleTargetRef":{})")));
}

TEST(DifferentialAutoscalers, OwnAnnotationThatCarriesWrittenStatus) {
  TestServer server;
  make_old_autoscaler(server);
  const Answer told =
      server.patch(with("/apis/autoscaling/v1", kAutoscalers) + "/a/status?fieldManager=m", "merge",
                   R"({"status":{"desiredReplicas":2,"currentCPUUtilizationPercentage":4}})");
  EXPECT_THAT(json::print(told.value["metadata"]["managedFields"]),
              HasSubstr(R"("f:autoscaling.alpha.kubernetes.io/current-metrics":{})"));
}

TEST(DifferentialAutoscalers, KeepFieldsOwnedInOtherVersionDuringApply) {
  TestServer server;
  const std::string path(kAutoscalers);
  const std::string target =
      R"("scaleTargetRef":{"kind":"Deployment","name":"a","apiVersion":"apps/v1"})";
  const auto apply = [&](std::string_view version, std::string_view spec) {
    return server.patch(
        "/apis/autoscaling/" + std::string(version) + path + "/a?fieldManager=m&force=true",
        "apply",
        R"({"apiVersion":"autoscaling/)" + std::string(version) +
            R"(","kind":"HorizontalPodAutoscaler","metadata":{"name":"a"},"spec":{)" +
            std::string(spec) + "}}");
  };
  apply("v2", R"("maxReplicas":4,)" + target);
  server.patch("/apis/autoscaling/v1" + path + "/a?fieldManager=old", "merge",
               R"({"spec":{"scaleTargetRef":{"name":"b"}}})");
  const Answer kept = apply("v2", R"("maxReplicas":3)");
  EXPECT_EQ(kept.status, 200) << kept.text;
  EXPECT_EQ(kept.value["spec"]["scaleTargetRef"],
            parse(R"({"kind":"Deployment","name":"b","apiVersion":"apps/v1"})"));
  const Answer target_set = apply("v1", R"("maxReplicas":3,"targetCPUUtilizationPercentage":50)");
  EXPECT_EQ(target_set.value["spec"]["targetCPUUtilizationPercentage"].as_int(), 50);
  const Answer gone = apply("v2", R"("maxReplicas":3)");
  // What the other version has by default is never gone.
  EXPECT_EQ(gone.value["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"].as_int(),
            50)
      << gone.text;
}

TEST(DifferentialAutoscalers, DropEmptiedMetricsInOtherVersion) {
  TestServer server;
  const std::string path(kAutoscalers);
  make_old_autoscaler(server);
  const Answer answer = server.patch(
      "/apis/autoscaling/v2" + path + "/a?fieldManager=new", "apply",
      R"({"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"a"},)"
      R"("spec":{"metrics":[]}})");
  EXPECT_EQ(answer.status, 200) << answer.text;
  EXPECT_THAT(answer.text, Not(HasSubstr("f:targetCPUUtilizationPercentage")));
}

TEST(DifferentialAutoscalers, DefaultMissingPoliciesButRefuseEmptyOnes) {
  TestServer server;
  const auto create = [&](std::string_view rules) {
    return server.post(
        with("/apis/autoscaling/v2", kAutoscalers),
        parse(
            R"({"metadata":{"generateName":"a-"},"spec":{"maxReplicas":4,"scaleTargetRef":{"kind":)"
            R"("Deployment","name":"a","apiVersion":"apps/v1"},"behavior":{"scaleUp":)" +
            std::string(rules) + "}}}"));
  };
  EXPECT_EQ(create("{}").value["spec"]["behavior"]["scaleUp"]["policies"].size(), 2U);
  const Answer refused = create(R"({"policies":[]})");
  EXPECT_EQ(refused.status, 422) << refused.text;
  EXPECT_THAT(
      refused.message(),
      HasSubstr("spec.behavior.scaleUp.policies: Required value: must specify at least one"));
}

TEST(DifferentialAutoscalers, ShowEveryCpuUtilisationInOlderVersion) {
  TestServer server;
  const std::string path(kAutoscalers);
  const std::string cpu =
      R"({"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization",)"
      R"("averageUtilization":50}}})";
  server.post("/apis/autoscaling/v2" + path,
              parse(R"({"metadata":{"name":"a"},"spec":{"maxReplicas":4,"scaleTargetRef":{"kind":)"
                    R"("Deployment","name":"a","apiVersion":"apps/v1"},"metrics":[)" +
                    cpu + "," + cpu + "]}}"));
  const Answer older = server.get("/apis/autoscaling/v1" + path + "/a");
  EXPECT_EQ(older.value["spec"]["targetCPUUtilizationPercentage"].as_int(), 50);
  EXPECT_FALSE(older.value["metadata"].contains("annotations")) << older.text;
}

TEST(DifferentialAutoscalers, DropFieldsLeftOutOfApply) {
  TestServer server;
  const std::string path = "/apis/autoscaling/v1/namespaces/tst/horizontalpodautoscalers/a";
  const auto apply = [&](std::string_view spec) {
    return server.patch(path + "?fieldManager=m", "apply",
                        R"({"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler",)"
                        R"("metadata":{"name":"a"},"spec":{)" +
                            std::string(spec) + "}}");
  };
  const std::string target =
      R"("scaleTargetRef":{"kind":"Deployment","name":"a","apiVersion":"apps/v1"})";
  EXPECT_EQ(apply(R"("maxReplicas":3,)" + target).status, 201);
  EXPECT_THAT(apply(target).message(), HasSubstr("spec.maxReplicas: Invalid value: 0"));
}

}  // namespace
}  // namespace athanor::apiserver::differential_autoscalers_test
