// SPDX-License-Identifier: Apache-2.0
// Claims of pods in the scheduler: allocation, reservation, extended resources, and what is said
// when nothing fits (docs/spec/das.md 15.1).
#include "embedded/devices/claim_hooks.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "api/builtin.hpp"
#include "embedded/devices/node.hpp"
#include "embedded/devices/pod_claims.hpp"
#include "embedded/scheduler/scheduler.hpp"
#include "embedded/workloads/volumes/resource_claims.hpp"
#include "kube/text/yaml.hpp"
#include "support/fake_world.hpp"

namespace athanor::devices::scheduling_test {
namespace {

Value from_yaml(const std::string& text) {
  return yaml::parse(text).value();
}

const SchedulingHooks* const kHooks[] = {&device_scheduling()};

Plan schedule(const View& view, const Key& /*key*/, Instant now) {
  return scheduler::schedule(view, now, kHooks);
}

const Operator& with_devices() {
  static const scheduler::HookedScheduler kScheduler(kHooks, schedule);
  return kScheduler.get();
}

class DevicesTest : public testing::Test {
 protected:
  DevicesTest() {
    world.put(
        from_yaml("{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: any}, "
                  "spec: {extendedResourceName: x.com/gpu}}"));
  }
  void node(const std::string& name, int devices, const std::string& allocatable = "") {
    world.put(from_yaml("{apiVersion: v1, kind: Node, metadata: {name: " + name +
                        "}, status: {allocatable: {pods: '10', cpu: '8'" + allocatable + "}}}"));
    std::string list;
    for (int i = 0; i < devices; ++i) {
      list += (i == 0 ? "{name: d" : ", {name: d") + std::to_string(i) + "}";
    }
    world.put(
        from_yaml("{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: " + name +
                  "-x}, spec: {driver: x.com, nodeName: " + name + ", pool: {name: " + name +
                  ", generation: 1, resourceSliceCount: 1}, devices: [" + list + "]}}"));
  }
  void claim(const std::string& name, int count = 1, const std::string& device_class = "any") {
    world.put(
        from_yaml("{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: " + name +
                  ", namespace: ns}, spec: {devices: {requests: [{name: r, exactly: "
                  "{deviceClassName: " +
                  device_class + ", count: " + std::to_string(count) + "}}]}}}"));
  }
  void pod(const std::string& name, const std::string& claims, const std::string& limits = "",
           const std::string& more = "") {
    world.put(from_yaml("{apiVersion: v1, kind: Pod, metadata: {name: " + name +
                        ", namespace: ns}, spec: {resourceClaims: [" + claims +
                        "], containers: [{name: c, resources: {limits: {" + limits +
                        "}, requests: {" + limits + "}}}]" + more + "}}"));
  }
  void settle() {
    world.settle({&with_devices(), &workloads::resource_claim_operator(),
                  &workloads::pod_resource_claim_operator()});
  }
  std::string node_of(const std::string& name) {
    return world.must(api::kPod, {"ns", name}).spec()["nodeName"].str();
  }
  std::string why(const std::string& name) {
    const std::string message =
        world.condition(api::kPod, {"ns", name}, "PodScheduled")["message"].str();
    return message.substr(0, message.find(". preemption"));
  }
  // "d0 d1" of an allocated claim.
  std::string devices(const std::string& name) {
    std::string text;
    const Object object = world.must(api::kResourceClaim, {"ns", name});
    for (const Value& result : object.status()["allocation"]["devices"]["results"].items()) {
      text += (text.empty() ? "" : " ") + result["device"].str();
    }
    return text;
  }
  void finish(const std::string& name) {
    world.update(api::kPod, {"ns", name}, [](Value& object) {
      object.set_path({"status", "phase"}, "Succeeded");
    });
  }
  NodeAdmission admit(const std::string& name) {
    Reads reads;
    const Object bound = world.must(api::kPod, {"ns", name});
    return device_node_hooks().admit(View(world, reads), bound,
                                     world.must(api::kNode, {"", bound.spec()["nodeName"].str()}),
                                     world.now);
  }

  test::FakeWorld world{};
};

constexpr const char* kNamed = "{name: a, resourceClaimName: one}";

TEST_F(DevicesTest, AllocatesAndReservesClaimBeforeBindingPod) {
  node("n1", 2);
  claim("one", 2);
  pod("p", kNamed);
  settle();
  EXPECT_EQ(node_of("p"), "n1");
  EXPECT_EQ(devices("one"), "d0 d1");
  const Object held = world.must(api::kResourceClaim, {"ns", "one"});
  EXPECT_TRUE(held.has_finalizer(kClaimFinalizer));
  EXPECT_EQ(held.status()["reservedFor"][0]["name"].str(), "p");
  EXPECT_EQ(held.status()["allocation"]["nodeSelector"]["nodeSelectorTerms"][0]["matchFields"][0]
                         ["values"][0]
                             .str(),
            "n1");
  EXPECT_EQ(admit("p").answer, NodeAdmission::Answer::Ready);
}

TEST_F(DevicesTest, ReportsUnsolvableClaimsOnPod) {
  node("n1", 1);
  pod("missing", kNamed);
  pod("waiting", "{name: a, resourceClaimTemplateName: t}");
  claim("odd", 1, "none");
  pod("classless", "{name: a, resourceClaimName: odd}");
  settle();
  EXPECT_EQ(why("missing"), "0/1 nodes are available: resourceclaim \"one\" not found");
  EXPECT_EQ(why("waiting"),
            "0/1 nodes are available: waiting for dynamic resource controller to create the "
            "resourceclaim \"a\"");
  EXPECT_EQ(why("classless"),
            "0/1 nodes are available: request r: device class none does not exist");
}

TEST_F(DevicesTest, DevicesAreHeldUntilTheirPodHasEnded) {
  node("n1", 1);
  claim("one");
  claim("two");
  pod("p", kNamed);
  settle();
  pod("q", "{name: a, resourceClaimName: two}");
  settle();
  EXPECT_EQ(why("q"), "0/1 nodes are available: 1 cannot allocate all claims");
  finish("p");
  settle();
  EXPECT_EQ(devices("one"), "");
  EXPECT_FALSE(world.must(api::kResourceClaim, {"ns", "one"}).has_finalizer(kClaimFinalizer));
  EXPECT_EQ(node_of("q"), "n1");
  EXPECT_EQ(devices("two"), "d0");
}

TEST_F(DevicesTest, PlacesPodsOfSharedClaimOnOneNode) {
  node("n1", 1);
  node("n2", 1);
  claim("one");
  pod("p", kNamed);
  pod("q", kNamed);
  settle();
  EXPECT_NE(node_of("p"), "");
  EXPECT_EQ(node_of("p"), node_of("q"));
  EXPECT_EQ(world.must(api::kResourceClaim, {"ns", "one"}).status()["reservedFor"].size(), 2U);
  EXPECT_EQ(world.event_count("FailedScheduling"), 0);
  finish("p");
  settle();
  EXPECT_EQ(devices("one"), "d0");
  finish("q");
  settle();
  EXPECT_EQ(devices("one"), "");
}

TEST_F(DevicesTest, ADeletedClaimStaysWhileItIsUsed) {
  node("n1", 1);
  claim("one");
  pod("p", kNamed);
  settle();
  world.remove(api::kResourceClaim, {"ns", "one"});
  settle();
  EXPECT_TRUE(world.has(api::kResourceClaim, {"ns", "one"}));
  pod("q", kNamed);
  settle();
  EXPECT_EQ(why("q"), "0/1 nodes are available: resourceclaim \"one\" is being deleted");
  finish("p");
  settle();
  EXPECT_FALSE(world.has(api::kResourceClaim, {"ns", "one"}));
}

TEST_F(DevicesTest, TemplatesMakeAClaimForEachPod) {
  node("n1", 2);
  world.put(
      from_yaml("{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: "
                "{name: t, namespace: ns}, spec: {spec: {devices: {requests: [{name: r, "
                "exactly: {deviceClassName: any, count: 1}}]}}}}"));
  pod("p", "{name: a, resourceClaimTemplateName: t}");
  pod("q", "{name: a, resourceClaimTemplateName: t}");
  settle();
  EXPECT_EQ(node_of("p"), "n1");
  EXPECT_EQ(node_of("q"), "n1");
  EXPECT_EQ(world.count(api::kResourceClaim), 2U);
  finish("p");
  settle();
  EXPECT_EQ(world.count(api::kResourceClaim), 1U);
}

TEST_F(DevicesTest, ExtendedResourcesThatAClassStandsFor) {
  node("n1", 2);
  pod("p", "", "x.com/gpu: '2'");
  settle();
  EXPECT_EQ(node_of("p"), "n1");
  const Object bound = world.must(api::kPod, {"ns", "p"});
  const Value& status = bound.status()["extendedResourceClaimStatus"];
  const std::string name = status["resourceClaimName"].str();
  EXPECT_TRUE(name.starts_with("p-extended-resources-"));
  EXPECT_EQ(status["requestMappings"][0]["containerName"].str(), "c");
  EXPECT_EQ(status["requestMappings"][0]["resourceName"].str(), "x.com/gpu");
  EXPECT_EQ(status["requestMappings"][0]["requestName"].str(), "container-0-request-0");
  EXPECT_EQ(devices(name), "d0 d1");
  EXPECT_EQ(admit("p").answer, NodeAdmission::Answer::Ready);
  pod("q", "", "x.com/gpu: '1'");
  settle();
  EXPECT_EQ(why("q"), "0/1 nodes are available: 1 cannot allocate all claims");
  finish("p");
  settle();
  EXPECT_EQ(node_of("q"), "n1");
  EXPECT_FALSE(world.has(api::kResourceClaim, {"ns", name}));
}

TEST_F(DevicesTest, PrefersResourceReportedByNode) {
  node("n1", 1, ", x.com/gpu: '1'");
  pod("p", "", "x.com/gpu: '1'");
  settle();
  EXPECT_EQ(node_of("p"), "n1");
  EXPECT_EQ(world.count(api::kResourceClaim), 0U);
  pod("q", "", "x.com/gpu: '1'");
  settle();
  EXPECT_EQ(why("q"), "0/1 nodes are available: 1 Insufficient x.com/gpu");
}

TEST_F(DevicesTest, ACrashBetweenAllocationAndBindingLosesNothing) {
  node("n1", 1);
  claim("one");
  pod("p", kNamed);
  pod("e", "", "cpu: '1'");
  int steps = 0;
  for (int after = 1; after < 6; ++after) {
    steps = 0;
    world.fault = [&](const Step&) -> std::optional<Error> {
      return ++steps == after ? std::optional(Error::unavailable("crash")) : std::nullopt;
    };
    world.settle({&with_devices()}, 100);
    world.restart();
  }
  world.fault = nullptr;
  settle();
  EXPECT_EQ(node_of("p"), "n1");
  EXPECT_EQ(devices("one"), "d0");
}

TEST_F(DevicesTest, AMoreImportantPodTakesDevices) {
  node("n1", 1);
  claim("one");
  claim("two");
  pod("p", kNamed);
  settle();
  pod("q", "{name: a, resourceClaimName: two}", "", ", priority: 7");
  settle();
  EXPECT_EQ(world.event_count("Preempted", "p"), 1);
  EXPECT_EQ(node_of("q"), "n1");
  EXPECT_EQ(devices("two"), "d0");
}

TEST_F(DevicesTest, AContainerWaitsForItsClaims) {
  node("n1", 1);
  pod("p", kNamed, "", ", nodeName: n1");
  EXPECT_EQ(admit("p").answer, NodeAdmission::Answer::Wait);
  claim("one");
  EXPECT_EQ(admit("p").answer, NodeAdmission::Answer::Wait);
}

}  // namespace
}  // namespace athanor::devices::scheduling_test
