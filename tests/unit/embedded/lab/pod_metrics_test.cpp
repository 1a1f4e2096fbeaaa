// SPDX-License-Identifier: Apache-2.0
// metrics.k8s.io and the kubelet's summary of pods that only take time.
#include "embedded/lab/pod_metrics.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "embedded/store/store.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::lab::pod_metrics_test {
namespace {

constexpr Instant kNow{std::chrono::seconds(1'800'000'000)};

class PodMetricsTest : public testing::Test {
 protected:
  PodMetricsTest() : store_(store::Store::open(store::memory_journal(), {}).value()) {
    put("nodes", "{metadata: {name: n1}}");
    put("pods",
        "{metadata: {name: p, namespace: ns, uid: u}, spec: {nodeName: n1, initContainers: "
        "[{name: init, resources: {requests: {cpu: '9'}}}, {name: native, restartPolicy: Always, "
        "resources: {requests: {cpu: 100m, memory: 1Mi}}}], containers: [{name: c, resources: "
        "{requests: {cpu: 200m, memory: 2Mi}}}]}, status: {phase: Running}}");
    put("pods",
        "{metadata: {name: q, namespace: ns, uid: v}, spec: {nodeName: n1, containers: [{name: c, "
        "resources: {requests: {cpu: '5'}}}]}, status: {phase: Succeeded}}");
  }
  void put(const std::string& resource, const std::string& text) {
    const Value body = yaml::parse(text).value();
    const store::Write write{
        .resource = resource,
        .key = {body["metadata"]["namespace"].str(), body["metadata"]["name"].str()},
        .body = body,
        .expected = std::nullopt};
    ASSERT_TRUE(store_->commit({&write, 1}, kNow).ok());
  }
  Value get(const std::string& url) {
    const auto answer = metrics_.answer({.url = url});
    return answer == nullptr ? Value() : json::parse(answer->body).value();
  }

  std::unique_ptr<store::Store> store_;
  PodMetrics metrics_{
      {.store = [this]() -> const store::Store& { return *store_; }, .clock = [] { return kNow; }}};
};

const std::string kMetrics =
    "https://metrics-server.kube-system.svc:443/apis/metrics.k8s.io/v1beta1/";

TEST_F(PodMetricsTest, CountsRequestsOfTimedPodsAndSidecars) {
  const Value pod = get(kMetrics + "namespaces/ns/pods/p");
  EXPECT_EQ(json::print(pod["containers"]),
            R"([{"name":"native","usage":{"cpu":"100000000n","memory":"1024Ki"}},)"
            R"({"name":"c","usage":{"cpu":"200000000n","memory":"2048Ki"}}])");
  EXPECT_EQ(get(kMetrics + "namespaces/ns/pods")["items"].size(), 1U);
  EXPECT_EQ(json::print(get(kMetrics + "nodes/n1")["usage"]),
            R"({"cpu":"300000000n","memory":"3072Ki"})");
}

TEST_F(PodMetricsTest, SummaryNamesSidecars) {
  const Value summary = get("https://n1.kubelet.athanor.internal:10250/stats/summary");
  ASSERT_EQ(summary["pods"].size(), 1U);
  const Value& pod = summary["pods"][0];
  ASSERT_EQ(pod["containers"].size(), 2U);
  EXPECT_EQ(pod["containers"][0]["name"], Value("native"));
  EXPECT_EQ(pod["cpu"]["usageNanoCores"], Value(300'000'000));
  EXPECT_EQ(summary["node"]["memory"]["workingSetBytes"], Value(3 << 20));
}

TEST_F(PodMetricsTest, LeavesOtherHostsAlone) {
  EXPECT_EQ(metrics_.answer({.url = "https://other.svc/apis"}), nullptr);
}

}  // namespace
}  // namespace athanor::lab::pod_metrics_test
