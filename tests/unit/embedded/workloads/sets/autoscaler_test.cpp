// SPDX-License-Identifier: Apache-2.0
// Autoscalers, which read no metrics.
#include "embedded/workloads/sets/autoscaler.hpp"

#include <algorithm>

#include "kube/text/json.hpp"
#include "unit/embedded/workloads/workload_world.hpp"

namespace athanor::workloads::autoscaler_test {
namespace {

class AutoscalerTest : public WorkloadTest {
 protected:
  AutoscalerTest() : WorkloadTest({&autoscaler_operator()}) {}
  void target(int replicas) {
    put("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: ns}, spec: "
        "{selector: {matchLabels: {app: web}}, replicas: " +
        std::to_string(replicas) + "}, status: {replicas: " + std::to_string(replicas) + "}}");
  }
  void scaler(const std::string& more = "") {
    put("{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, "
        "namespace: ns}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: "
        "web}, minReplicas: 2, maxReplicas: 5, metrics: [{type: Resource, resource: {name: cpu, "
        "target: {type: Utilization, averageUtilization: 80}}}" +
        more + "]}}");
    settle();
  }
  std::string condition(const char* type) {
    const Value found = world.condition(api::kHorizontalPodAutoscaler, {"ns", "h"}, type);
    return found["status"].str() + " " + found["reason"].str() + ": " + found["message"].str();
  }
  Value status() { return world.must(api::kHorizontalPodAutoscaler, {"ns", "h"}).status(); }
};

TEST_F(AutoscalerTest, SaysThatMetricsCannotBeFetched) {
  target(3);
  scaler();
  EXPECT_EQ(
      condition("AbleToScale"),
      "True SucceededGetScale: the HPA controller was able to get the target's current scale");
  const std::string why =
      "failed to get cpu utilization: unable to get metrics for resource cpu: the autoscaler of a "
      "lab does not read metrics.k8s.io";
  EXPECT_EQ(
      condition("ScalingActive"),
      "False FailedGetResourceMetric: the HPA was unable to compute the replica count: " + why);
  EXPECT_EQ(note_of("FailedGetResourceMetric"), "Warning " + why);
  EXPECT_EQ(note_of("FailedComputeMetricsReplicas"),
            "Warning invalid metrics (1 invalid out of 1), first error is: failed to get cpu "
            "resource metric value: " +
                why);
  EXPECT_EQ(status()["currentReplicas"].as_int(), 3);
  EXPECT_EQ(status()["desiredReplicas"], Value(0));
  EXPECT_EQ(json::print(status()["currentMetrics"]), R"([{"type":""}])");
}

TEST_F(AutoscalerTest, KeepsTheTargetWithinItsBounds) {
  for (const auto& [from, to, why] :
       {std::tuple{1, 2, "Current number of replicas below Spec.MinReplicas"},
        {9, 5, "Current number of replicas above Spec.MaxReplicas"}}) {
    target(from);
    scaler();
    EXPECT_EQ(world.must(api::kDeployment, {"ns", "web"}).spec()["replicas"].as_int(), to);
    EXPECT_EQ(status()["desiredReplicas"].as_int(), to);
    const bool told = std::ranges::any_of(world.events, [&](const test::RecordedEvent& event) {
      return event.reason == "SuccessfulRescale" &&
             event.note == "New size: " + std::to_string(to) + "; reason: " + why;
    });
    EXPECT_TRUE(told) << why;
    EXPECT_FALSE(status()["lastScaleTime"].is_null());
  }
}

TEST_F(AutoscalerTest, ATargetOfSizeZeroIsNotScaled) {
  target(0);
  scaler();
  EXPECT_EQ(condition("ScalingActive"),
            "False ScalingDisabled: scaling is disabled since the replica count of the target is "
            "zero");
}

TEST_F(AutoscalerTest, ReportsTwoAutoscalersOfOneTarget) {
  target(3);
  put("{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: rival, "
      "namespace: ns}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, "
      "maxReplicas: 9}}");
  scaler();
  EXPECT_EQ(condition("ScalingActive"),
            "False AmbiguousSelector: pods by selector app=web are controlled by multiple HPAs: "
            "[ns/h ns/rival]");
}

TEST_F(AutoscalerTest, ReportsMissingTarget) {
  scaler();
  EXPECT_EQ(condition("AbleToScale"),
            "False FailedGetScale: the HPA controller was unable to get the target's current "
            "scale: deployments.apps \"web\" not found");
  target(3);
  settle();
  EXPECT_EQ(condition("AbleToScale").substr(0, 22), "True SucceededGetScale");
}

}  // namespace
}  // namespace athanor::workloads::autoscaler_test
