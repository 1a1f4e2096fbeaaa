// SPDX-License-Identifier: Apache-2.0
// Endpoints and EndpointSlices of services, and mirrors of Endpoints made by hand.
#include "embedded/workloads/network/endpoints.hpp"

#include <set>

#include "embedded/workloads/network/endpoint_pods.hpp"
#include "embedded/workloads/network/endpoint_slices.hpp"
#include "kube/text/json.hpp"
#include "unit/embedded/workloads/workload_world.hpp"

namespace athanor::workloads::endpoints_test {
namespace {

class EndpointsTest : public WorkloadTest {
 protected:
  EndpointsTest()
      : WorkloadTest({&endpoints_operator(), &endpoint_slice_operator(),
                      &endpoint_slice_mirroring_operator()}) {
    put("{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {topology.kubernetes.io/zone: "
        "z1}}}");
  }
  void service(const std::string& more = "", const std::string& selector = "{app: a}") {
    put("{apiVersion: v1, kind: Service, metadata: {name: web, namespace: ns, labels: {team: x}}, "
        "spec: {clusterIP: 10.0.0.1, selector: " +
        selector + ", ports: [{name: http, port: 80, targetPort: main, protocol: TCP}]" + more +
        "}}");
    settle();
  }
  void pod(const std::string& name, const std::string& ip, bool ready = true,
           const std::string& more = "") {
    put("{apiVersion: v1, kind: Pod, metadata: {name: " + name +
        ", namespace: ns, labels: {app: a}}, spec: {nodeName: n1, containers: [{name: c, ports: "
        "[{name: main, containerPort: 8080, protocol: TCP}]}]" +
        more + "}, status: {phase: Running, podIP: " + ip +
        ", conditions: [{type: Ready, status: '" + (ready ? "True" : "False") + "'}]}}");
    settle();
  }
  Value subsets() { return world.must(api::kEndpoints, {"ns", "web"}).body()["subsets"]; }
  std::vector<Object> slices() { return world.list(api::kEndpointSlice); }
};

TEST_F(EndpointsTest, TellWhereReadyPodsAre) {
  service();
  pod("p1", "10.1.0.1");
  pod("p2", "10.1.0.2", false);
  ASSERT_EQ(subsets().size(), 1U);
  EXPECT_EQ(json::print(subsets()[0]["ports"]),
            R"([{"name":"http","protocol":"TCP","port":8080}])");
  EXPECT_EQ(subsets()[0]["addresses"][0]["ip"].str(), "10.1.0.1");
  EXPECT_EQ(subsets()[0]["addresses"][0]["targetRef"]["name"].str(), "p1");
  EXPECT_EQ(subsets()[0]["notReadyAddresses"][0]["ip"].str(), "10.1.0.2");
  const Object endpoints = world.must(api::kEndpoints, {"ns", "web"});
  EXPECT_EQ(endpoints.label("team"), "x");
  EXPECT_EQ(endpoints.label("endpoints.kubernetes.io/managed-by"), "endpoint-controller");

  ASSERT_EQ(slices().size(), 1U);
  const Object slice = slices()[0];
  EXPECT_TRUE(slice.name().starts_with("web-"));
  EXPECT_EQ(slice.label("kubernetes.io/service-name"), "web");
  EXPECT_EQ(slice.label("endpointslice.kubernetes.io/managed-by"),
            "endpointslice-controller.k8s.io");
  EXPECT_EQ(slice.controller()->kind, "Service");
  EXPECT_EQ(json::print(slice.body()["endpoints"][0]["conditions"]),
            R"({"ready":true,"serving":true,"terminating":false})");
  EXPECT_EQ(slice.body()["endpoints"][0]["zone"].str(), "z1");
  EXPECT_EQ(slice.body()["endpoints"][0]["nodeName"].str(), "n1");
  EXPECT_EQ(json::print(slice.body()["endpoints"][1]["conditions"]),
            R"({"ready":false,"serving":false,"terminating":false})");
}

TEST_F(EndpointsTest, FollowTheirPodsAndEndWithTheirService) {
  service();
  EXPECT_TRUE(subsets().empty());
  ASSERT_EQ(slices().size(), 1U) << "an empty slice says that there are none";
  pod("p1", "10.1.0.1");
  const std::string name(slices()[0].name());
  EXPECT_EQ(slices()[0].body()["endpoints"].size(), 1U);
  world.remove(api::kPod, {"ns", "p1"});
  settle();
  EXPECT_TRUE(subsets().empty());
  ASSERT_EQ(slices().size(), 1U);
  EXPECT_EQ(slices()[0].name(), name);
  EXPECT_TRUE(slices()[0].body()["endpoints"].empty());
  world.remove(api::kService, {"ns", "web"});
  settle();
  EXPECT_FALSE(world.has(api::kEndpoints, {"ns", "web"}));
  EXPECT_TRUE(slices().empty());
}

TEST_F(EndpointsTest, HeadlessServicesPublishHostNames) {
  service(", clusterIP: None, publishNotReadyAddresses: true");
  pod("p1", "10.1.0.1", false, ", hostname: h1, subdomain: web");
  EXPECT_EQ(subsets()[0]["addresses"][0]["hostname"].str(), "h1");
  EXPECT_EQ(slices()[0].body()["endpoints"][0]["hostname"].str(), "h1");
  EXPECT_EQ(json::print(slices()[0].body()["endpoints"][0]["conditions"]),
            R"({"ready":true,"serving":false,"terminating":false})");
  EXPECT_TRUE(slices()[0].metadata()["labels"].contains("service.kubernetes.io/headless"));
}

TEST_F(EndpointsTest, PodsThatDoNotCountAreLeftOut) {
  service();
  pod("p1", "10.1.0.1");
  world.update(api::kPod, {"ns", "p1"}, [](Value& body) {
    body.set_path({"status", "phase"}, "Succeeded");
  });
  settle();
  EXPECT_TRUE(subsets().empty());
  EXPECT_TRUE(slices()[0].body()["endpoints"].empty());
}

TEST_F(EndpointsTest, APodThatEndsIsServingAndTerminating) {
  world.graceful_pods = true;
  service();
  pod("p1", "10.1.0.1");
  world.remove(api::kPod, {"ns", "p1"});
  settle();
  EXPECT_TRUE(subsets().empty());
  EXPECT_EQ(json::print(slices()[0].body()["endpoints"][0]["conditions"]),
            R"({"ready":false,"serving":true,"terminating":true})");
}

TEST_F(EndpointsTest, CustomEndpointsAreMirrored) {
  put("{apiVersion: v1, kind: Service, metadata: {name: out, namespace: ns}, spec: {ports: "
      "[{port: 80}]}}");
  put("{apiVersion: v1, kind: Endpoints, metadata: {name: out, namespace: ns}, subsets: "
      "[{addresses: [{ip: 1.2.3.4}], notReadyAddresses: [{ip: 1.2.3.5}], ports: [{port: 80, "
      "protocol: TCP}]}]}");
  settle();
  ASSERT_EQ(slices().size(), 1U);
  const Object slice = slices()[0];
  EXPECT_EQ(slice.label("endpointslice.kubernetes.io/managed-by"),
            "endpointslicemirroring-controller.k8s.io");
  EXPECT_EQ(json::print(slice.body()["endpoints"]),
            R"([{"addresses":["1.2.3.4"],"conditions":{"ready":true}},)"
            R"({"addresses":["1.2.3.5"],"conditions":{"ready":false}}])");
  EXPECT_EQ(slice.controller()->kind, "Endpoints");
  world.update(api::kEndpoints, {"ns", "out"}, [](Value& body) {
    body.set_path({"metadata", "labels", "endpointslice.kubernetes.io/skip-mirror"}, "true");
  });
  settle();
  EXPECT_TRUE(slices().empty());
}

Value endpoint(int number) {
  return Value::object({{"addresses", Value::list({"10.0.0." + std::to_string(number)})},
                        {"targetRef", Value::object({{"uid", "u" + std::to_string(number)}})}});
}

TEST(EndpointSlices, OneChangeRewritesOneSlice) {
  SliceSettings settings{.ns = "ns",
                         .name_prefix = "s-",
                         .name_seed = "seed",
                         .owner = Value::object({{"uid", "o"}}),
                         .most = 3};
  SliceWish wish;
  for (int i = 0; i < 7; ++i) {
    wish.endpoints.push_back(endpoint(i));
  }
  const Plan first = plan_slices(settings, {}, {wish});
  ASSERT_EQ(first.steps().size(), 3U);
  std::vector<Object> present;
  for (const Step& step : first.steps()) {
    present.emplace_back(std::get<Create>(step).object);
  }
  EXPECT_TRUE(plan_slices(settings, present, {wish}).steps().empty());
  wish.endpoints.erase(wish.endpoints.begin() + 1);
  EXPECT_EQ(plan_slices(settings, present, {wish}).steps().size(), 1U);
  wish.endpoints.push_back(endpoint(9));
  EXPECT_EQ(plan_slices(settings, present, {wish}).steps().size(), 1U) << "it takes the free place";
}

}  // namespace
}  // namespace athanor::workloads::endpoints_test
