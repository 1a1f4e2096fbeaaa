// SPDX-License-Identifier: Apache-2.0
// The agent's controllers: what it publishes, and how claims end (docs/spec/das.md 2.3, 3, 8.2).
#include "systems/das/agent/node_agent.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "api/builtin.hpp"
#include "kube/text/yaml.hpp"
#include "support/fake_world.hpp"
#include "systems/das/agent/device_list.hpp"
#include "systems/das/agent/discovery.hpp"
#include "systems/das/agent/emulated_agent.hpp"
#include "systems/das/gpus/inventory.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/settings.hpp"

namespace athanor::das::node_agent_test {
namespace {

const Key kAccelerator{"das-operator", "node-1"};
const Key kClaim{"das-operator", "c"};

class NodeAgentTest : public testing::Test {
 protected:
  NodeAgentTest() {
    world.configure(kSettingsSection, api::encode(Settings{}));
    world.configure(kAgentSection, Value::object({{"node", "node-1"}}));
    put("{apiVersion: v1, kind: Node, metadata: {name: node-1, uid: node-uid}}");
    found.gpus.push_back({.uuid = "GPU-0",
                          .name = "NVIDIA A100-PCIE-40GB",
                          .memory_bytes = std::int64_t{40} << 30,
                          .pci_bus_id = "0:1",
                          .table = find_model("A100-PCIE-40GB")->table});
  }
  Object put(const std::string& text) { return world.put(yaml::parse(text).value()); }
  void publish(const std::vector<SliceRecord>& records = {}) {
    world.observe_as(kGpusQuery,
                     Value::object({{"nodeResources", node_resources(found, records, "boot-1")},
                                    {"ready", readiness(node_resources(found, records, "boot-1"))},
                                    {"slices", claims_with_slices(found, records)}}));
    world.settle({&publication_operator()});
  }
  void add_claim(const std::string& state, const std::string& node = "node-1") {
    put("{apiVersion: inference.redhat.com/v1alpha1, kind: AllocationClaim, metadata: {name: c, "
        "namespace: das-operator}, spec: {profile: 1g.5gb, gpuUUID: GPU-0, nodename: " +
        node +
        ", podRef: {kind: Pod, name: p, namespace: ns, uid: pod-uid}, migPlacement: {start: 0, "
        "size: 1}}, status: {state: " +
        state + "}}");
  }
  void add_pod(const std::string& phase) {
    put("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns, uid: pod-uid}, spec: "
        "{nodeName: node-1}, status: {phase: " +
        phase + "}}");
  }
  [[nodiscard]] std::string state() const {
    return world.must(kAllocationClaim, kClaim).status()["state"].str();
  }

  test::FakeWorld world;
  Discovery found;
};

TEST_F(NodeAgentTest, PublishesDiscoveredGpus) {
  publish();
  const Object object = world.must(kNodeAccelerator, kAccelerator);
  EXPECT_EQ(object.spec()["acceleratorType"].as_string(), "nvidia-mig");
  EXPECT_EQ(object.owners().front().uid, "node-uid");
  const Value& resources = object.status()["nodeResources"];
  EXPECT_EQ(resources["bootId"].as_string(), "boot-1");
  EXPECT_EQ(resources["nodeGpus"][0]["gpuMemory"].as_string(), "40Gi");
  EXPECT_EQ(resources["nodeGpus"][0]["slots"].as_int(), 8);
  EXPECT_EQ(resources["migPlacement"]["1g.10gb"]["ciProfileId"].as_int(), 0);
  EXPECT_EQ(resources["migPlacement"]["1g.10gb"]["giProfileId"].as_int(), 9);
  EXPECT_EQ(world.condition(kNodeAccelerator, kAccelerator, "Ready")["reason"].as_string(),
            "GPUsAccessible");
  EXPECT_EQ(world.event_count("GPUDiscovered"), 1);
  const std::size_t writes = world.writes.size();
  publish();
  EXPECT_EQ(world.writes.size(), writes) << "at rest nothing is written";
}

TEST_F(NodeAgentTest, OffersTheMemoryOfItsGpusToQuotas) {
  Settings settings;
  settings.memory_quota_resource = "example.com/gpu-memory";
  world.configure(kSettingsSection, api::encode(settings));
  publish();
  const Object node = world.must(api::kNode, {"", "node-1"});
  EXPECT_EQ(node.status()["capacity"]["example.com/gpu-memory"].as_string(), "40Gi");
  EXPECT_EQ(node.status()["allocatable"]["example.com/gpu-memory"].as_string(), "40Gi");
  const std::size_t writes = world.writes.size();
  publish();
  EXPECT_EQ(world.writes.size(), writes);
}

TEST_F(NodeAgentTest, ReportsUnhealthyGpu) {
  publish();
  found.gpus[0].healthy = false;
  publish();
  EXPECT_EQ(world.condition(kNodeAccelerator, kAccelerator, "Ready")["reason"].as_string(),
            "GPUUnhealthy");
  EXPECT_EQ(world.event_count("GPUUnhealthy"), 1);
}

TEST_F(NodeAgentTest, PublishesUnknownModelAsDriverDescribesIt) {
  found.gpus[0].name = "NVIDIA Future-1";
  found.gpus[0].memory_bytes = std::int64_t{500} << 30;
  found.gpus[0].table = {.slots = 8,
                         .profiles = {{.name = "1g.62gb",
                                       .compute = 1,
                                       .size = 1,
                                       .starts = {0, 1, 2, 3, 4, 5, 6},
                                       .most = 7}}};
  publish();
  const Value resources = world.must(kNodeAccelerator, kAccelerator).status()["nodeResources"];
  EXPECT_EQ(resources["nodeGpus"][0]["gpuName"].as_string(), "NVIDIA Future-1");
  EXPECT_EQ(world.condition(kNodeAccelerator, kAccelerator, "Ready")["message"].as_string(),
            "All discovered GPUs are accessible and the driver is healthy.");
  const auto lists = device_lists(resources, *find_vendor(kNvidiaMig));
  ASSERT_EQ(lists.size(), 1U);
  EXPECT_EQ(lists[0].profile, "1g.62gb");
  EXPECT_EQ(lists[0].devices.size(), 7U);
}

TEST_F(NodeAgentTest, SaysThatNoGpuHasMig) {
  found.gpus.clear();
  publish();
  EXPECT_EQ(world.condition(kNodeAccelerator, kAccelerator, "Ready")["reason"].as_string(),
            "NoMIGEnabledGPU");
}

TEST_F(NodeAgentTest, PublishesMixedModelsAndForeignSlices) {
  found.gpus.push_back({.uuid = "GPU-1",
                        .name = "NVIDIA A30",
                        .memory_bytes = std::int64_t{24} << 30,
                        .index = 1,
                        .table = find_model("A30")->table});
  found.slices = {{.gpu = "GPU-0", .device = "MIG-x", .start = 4, .size = 4},
                  {.gpu = "GPU-0", .device = "MIG-y", .start = 0, .size = 1}};
  const std::vector<SliceRecord> records{{.claim_uid = "u", .gpu = "GPU-0", .start = 0, .size = 1}};
  const NodeGpus read = read_resources(node_resources(found, records, ""));
  ASSERT_EQ(read.gpus.size(), 2U);
  EXPECT_EQ(read.gpus[0].foreign, mask_of(4, 4));
  EXPECT_EQ(read.tables[read.gpus[1].table].slots, 4);
  EXPECT_GE(read.tables[read.gpus[1].table].find("1g.6gb"), 0);
}

TEST_F(NodeAgentTest, KeepsClaimInUseWhilePodRuns) {
  add_claim("inUse");
  add_pod("Running");
  world.settle({&release_operator()});
  EXPECT_TRUE(world.acts.empty());
  EXPECT_TRUE(world.has(kAllocationClaim, kClaim));
}

// docs/spec/das.md 3.1
TEST_F(NodeAgentTest, OrphansClaimOnVanishedGpu) {
  publish();
  add_claim("inUse");
  add_pod("Running");
  found.gpus[0].healthy = false;
  publish();
  world.settle({&release_operator()});
  EXPECT_EQ(state(), kInUse) << "it may come back to health";
  found.gpus[0].lost = true;
  publish();
  world.settle({&release_operator()});
  EXPECT_EQ(state(), kOrphaned);
  EXPECT_TRUE(world.has(kAllocationClaim, kClaim));
  world.update(api::kPod, {"ns", "p"}, [](Value& pod) {
    pod.set_path({"status", "phase"}, "Failed");
  });
  world.settle({&release_operator()});
  EXPECT_EQ(world.acts.size(), 1U) << "its slice is destroyed before it goes";
}

TEST_F(NodeAgentTest, RestoresClaimWithItsGpuAndSlice) {
  add_claim("inUse");
  add_pod("Running");
  const std::vector<SliceRecord> records{
      {.claim_uid = std::string(world.must(kAllocationClaim, kClaim).uid()),
       .gpu = "GPU-0",
       .start = 0,
       .size = 1,
       .device = "MIG-0"}};
  found.gpus[0].lost = true;
  publish(records);
  world.settle({&release_operator()});
  ASSERT_EQ(state(), kOrphaned);
  EXPECT_EQ(world.condition(kAllocationClaim, kClaim, "GPULost")["reason"].as_string(), kInUse);
  ASSERT_EQ(world.event_count("GPULost"), 1);
  const auto lost = std::ranges::find(world.events, "GPULost", &test::RecordedEvent::reason);
  EXPECT_EQ(lost->kind, "Pod");
  EXPECT_EQ(lost->about.text(), "ns/p");
  EXPECT_EQ(lost->about_uid, "pod-uid") << "of a later pod of this name it would be untrue";
  EXPECT_EQ(lost->type, "Warning");
  EXPECT_NE(lost->note.find("GPU-0"), std::string::npos) << lost->note;
  found.gpus[0].lost = false;
  publish(records);
  world.settle({&release_operator()});
  EXPECT_EQ(state(), kOrphaned) << "its slice is not there";
  found.slices = {{.gpu = "GPU-0", .device = "MIG-0", .start = 0, .size = 1}};
  publish(records);
  world.settle({&release_operator()});
  EXPECT_EQ(state(), kInUse);
  EXPECT_EQ(world.condition(kAllocationClaim, kClaim, "GPULost")["status"].as_string(), "False");
  EXPECT_EQ(world.event_count("GPUReturned"), 1);
}

// The agent started after the GPU had vanished.
TEST_F(NodeAgentTest, OrphansClaimOnUnreportedGpu) {
  add_claim("inUse");
  add_pod("Running");
  auto gpus = std::exchange(found.gpus, {});
  publish();
  world.settle({&release_operator()});
  ASSERT_EQ(state(), kOrphaned);
  found.gpus = std::move(gpus);
  found.slices = {{.gpu = "GPU-0", .device = "MIG-0", .start = 0, .size = 1}};
  publish({{.claim_uid = std::string(world.must(kAllocationClaim, kClaim).uid()),
            .gpu = "GPU-0",
            .start = 0,
            .size = 1,
            .device = "MIG-0"}});
  world.settle({&release_operator()});
  EXPECT_EQ(state(), kInUse);
}

TEST_F(NodeAgentTest, RestoresClaimWithoutSliceWithItsGpu) {
  add_claim("created");
  add_pod("Pending");
  found.gpus[0].lost = true;
  publish();
  world.settle({&release_operator()});
  ASSERT_EQ(state(), kOrphaned);
  EXPECT_EQ(world.event_count("GPULost"), 0) << "no container has its slice";
  found.gpus[0].lost = false;
  publish();
  world.settle({&release_operator()});
  EXPECT_EQ(state(), kCreated);
}

// Orphaned by a failure: no GPU vanished, and none returns.
TEST_F(NodeAgentTest, AClaimThatAnotherProgramBlocksStaysOrphaned) {
  add_claim("orphaned");
  add_pod("Running");
  publish();
  world.settle({&release_operator()});
  EXPECT_EQ(state(), kOrphaned);
}

TEST_F(NodeAgentTest, TheSliceGoesBeforeItsClaim) {
  add_claim("inUse");
  add_pod("Succeeded");
  world.settle({&release_operator()});
  ASSERT_EQ(world.acts.size(), 1U);
  EXPECT_EQ(world.acts[0].verb, kReleaseVerb);
  EXPECT_TRUE(world.has(kAllocationClaim, kClaim)) << "its slice is still there";
  world.observe_as(std::string(kReleaseVerb) + ":" + world.acts[0].id, Value::object());
  world.settle({&release_operator()});
  EXPECT_FALSE(world.has(kAllocationClaim, kClaim));
  EXPECT_EQ(world.event_count("SliceReleased"), 1);
}

// An exchange made it another pod's after the view was taken.
TEST_F(NodeAgentTest, KeepsClaimThatMovesToAnotherPodMeanwhile) {
  add_claim("inUse");
  add_pod("Succeeded");
  world.settle({&release_operator()});
  ASSERT_EQ(world.acts.size(), 1U);
  world.observe_as(std::string(kReleaseVerb) + ":" + world.acts[0].id, Value::object());
  const Plan plan = world.reconcile(release_operator(), kClaim);
  world.update(kAllocationClaim, kClaim, [](Value& claim) {
    claim.set_path({"spec", "podRef", "uid"}, "other");
  });
  EXPECT_FALSE(world.apply(plan).ok());
  EXPECT_TRUE(world.has(kAllocationClaim, kClaim));
}

// Its agent took it into use for another pod.
TEST_F(NodeAgentTest, DeletesOnlyClaimsAsSeen) {
  add_claim("created");
  add_pod("Failed");
  const Plan plan = world.reconcile(claim_operator(), kClaim);
  ASSERT_FALSE(plan.steps().empty());
  world.update(kAllocationClaim, kClaim, [](Value& claim) {
    claim.set_path({"status", "state"}, "inUse");
  });
  EXPECT_FALSE(world.apply(plan).ok());
  EXPECT_TRUE(world.has(kAllocationClaim, kClaim));
}

// The slice was made for it while it had no node, in answer to another pod's question.
TEST_F(NodeAgentTest, AClaimWhosePodRunsElsewhereIsReleased) {
  add_claim("inUse");
  add_pod("Running");
  world.update(api::kPod, {"ns", "p"}, [](Value& pod) {
    pod.set_path({"spec", "nodeName"}, "elsewhere");
  });
  world.settle({&release_operator()});
  EXPECT_EQ(world.acts.size(), 1U);
}

TEST_F(NodeAgentTest, AClaimWhosePodIsGoneIsReleased) {
  add_claim("processing");
  world.settle({&release_operator()});
  EXPECT_EQ(world.acts.size(), 1U);
}

TEST_F(NodeAgentTest, ASliceThatCannotBeDestroyedIsOrphaned) {
  add_claim("inUse");
  const std::string id(std::string(world.must(kAllocationClaim, kClaim).uid()) + "/pod-uid");
  world.observe_as(std::string(kTroubleQuery) + ":" + id, Value("In use by another client"));
  world.settle({&release_operator()});
  EXPECT_EQ(state(), kOrphaned);
  world.observe_as(std::string(kReleaseVerb) + ":" + id, Value::object());
  world.settle({&release_operator()});
  EXPECT_FALSE(world.has(kAllocationClaim, kClaim));
}

TEST_F(NodeAgentTest, LeavesOtherNodesAndClaimsWithoutSliceAlone) {
  add_claim("inUse", "other");
  world.settle({&release_operator()});
  EXPECT_TRUE(world.acts.empty());
  add_claim("staged");
  world.settle({&release_operator()});
  EXPECT_TRUE(world.has(kAllocationClaim, kClaim));
}

TEST_F(NodeAgentTest, ReleasesSlicesOfRealNodesByAgentOnly) {
  add_claim("inUse");
  world.settle({&claim_operator()});
  EXPECT_TRUE(world.has(kAllocationClaim, kClaim));
  world.remove(api::kNode, {"", "node-1"});
  world.settle({&claim_operator()});
  EXPECT_FALSE(world.has(kAllocationClaim, kClaim)) << "with the node its agent is gone";
}

}  // namespace
}  // namespace athanor::das::node_agent_test
