// SPDX-License-Identifier: Apache-2.0
// GPUs shared by time-slicing and MPS: modes, capacity, placement, environment
// (docs/spec/das.md 15.2).
#include "systems/das/sharing/share.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kube/text/yaml.hpp"

namespace athanor::das {
namespace {

Value from_yaml(const std::string& text) {
  return yaml::parse(text).value();
}

// "mig ts4Short mps10", or the error.
std::string modes(const char* annotation, std::size_t gpus) {
  const auto sharing = wanted_sharing(annotation, gpus);
  if (!sharing.ok()) {
    return sharing.error().message;
  }
  std::string text;
  for (const GpuSharing& one : *sharing) {
    text += text.empty() ? "" : " ";
    text += one.mode == GpuMode::Mig   ? "mig"
            : one.mode == GpuMode::Mps ? "mps" + std::to_string(one.unit_gb)
                                       : "ts" + std::to_string(one.replicas) + one.interval;
  }
  return text;
}

TEST(Sharing, ReadsTheAnnotation) {
  EXPECT_EQ(modes("", 2), "mig mig");
  EXPECT_EQ(modes("1=mps:10", 2), "mig mps10");
  EXPECT_EQ(modes("0=timeslice:4", 1), "ts4Default");
  EXPECT_EQ(modes("0=timeslice:4:Short,2=mps:5,1=mig", 3), "ts4Short mig mps5");
  const std::string form =
      "must be a list of INDEX=mig, INDEX=timeslice:REPLICAS[:INTERVAL] or INDEX=mps:GB; "
      "intervals are Default, Short, Medium and Long";
  for (const char* wrong :
       {"mps", "0=mps", "0=mps:0", "0=mps:x", "0=mps:5:6", "0=timeslice", "0=timeslice:0",
        "0=timeslice:4:Soon", "0=other:1", "0=mig:1", "x=mig", "0=mig,,1=mig", "0=timeslice:101"}) {
    EXPECT_EQ(modes(wrong, 2), "invalid das.inference.redhat.com/gpu-sharing \"" +
                                   std::string(wrong) + "\": " + form);
  }
  EXPECT_EQ(modes("2=mps:5", 2),
            "invalid das.inference.redhat.com/gpu-sharing \"2=mps:5\": there is no GPU 2");
}

TEST(Sharing, CapacityByMode) {
  const auto sharing = *wanted_sharing("0=timeslice:4,1=mps:12,2=timeslice:3:Long,3=mps:50", 5);
  const auto capacity = share_capacity(sharing, 40);
  EXPECT_EQ(capacity,
            (std::map<std::string, int>{{"mps.das.com/gpu-12gb", 3}, {"ts.das.com/gpu", 7}}));
}

TEST(Sharing, IsKeptInTheNodeAccelerator) {
  Value resources =
      from_yaml("{nodeGpus: [{gpuUuid: a, gpuMemory: 40Gi}, {gpuUuid: b}, {gpuUuid: c}]}");
  const auto sharing = *wanted_sharing("0=timeslice:4:Medium,2=mps:5", 3);
  set_sharing(resources, sharing);
  EXPECT_TRUE(resources["nodeGpus"][1]["sharing"].is_null());
  EXPECT_EQ(sharing_of(resources), sharing);
  const auto gpus = shared_gpus(resources);
  EXPECT_EQ(gpus[0].memory_gib, 40);
  EXPECT_EQ(gpus[2].uuid, "c");
}

std::vector<SharedGpu> gpus_of(const char* annotation, std::size_t count) {
  std::vector<SharedGpu> gpus;
  const std::vector<GpuSharing> sharing = *wanted_sharing(annotation, count);
  for (const GpuSharing& one : sharing) {
    gpus.push_back(
        {.uuid = "GPU-" + std::to_string(gpus.size()), .sharing = one, .memory_gib = 40});
  }
  return gpus;
}

std::vector<ShareRequest> asks(const std::string& limits) {
  return shares_in(from_yaml("{containers: [{name: c, resources: {limits: {" + limits + "}}}]}"));
}

TEST(Sharing, FillsOneGpuAfterTheOther) {
  auto gpus = gpus_of("0=timeslice:2,1=timeslice:2,2=mps:10,3=mps:10", 4);
  EXPECT_EQ(place_shares(gpus, asks("ts.das.com/gpu: 3")), (std::vector<std::size_t>{0, 0, 1}));
  EXPECT_TRUE(place_shares(gpus, asks("ts.das.com/gpu: 5")).empty());
  EXPECT_TRUE(place_shares(gpus, asks("mps.das.com/gpu-5gb: 1")).empty());
  gpus[3].used = {0, 1};
  EXPECT_EQ(place_shares(gpus, asks("mps.das.com/gpu-10gb: 1")), (std::vector<std::size_t>{3}));
  // Those of one container stay together: its process has one control daemon.
  EXPECT_EQ(place_shares(gpus, asks("mps.das.com/gpu-10gb: 3")),
            (std::vector<std::size_t>{2, 2, 2}));
  EXPECT_TRUE(place_shares(gpus, asks("mps.das.com/gpu-10gb: 5")).empty());
  gpus[2].healthy = false;
  EXPECT_TRUE(place_shares(gpus, asks("mps.das.com/gpu-10gb: 3")).empty());
}

TEST(Sharing, ClaimsSayWhatIsShared) {
  const Object pod(from_yaml("{metadata: {name: p, namespace: ns, uid: u}}"));
  const auto gpus = gpus_of("0=timeslice:4:Short,1=mps:10", 2);
  const Value mps =
      make_share(pod, "das-operator", "n1",
                 {.container = "c", .resource = "mps.das.com/gpu-10gb", .index = 1}, gpus[1], 2);
  EXPECT_EQ(mps["metadata"]["name"].str(), "u-n1-c-share-1");
  EXPECT_EQ(mps["spec"]["type"].str(), "mps");
  EXPECT_EQ(mps["spec"]["share"], from_yaml("{index: 2, memoryMiB: 10240, threadPercent: 25}"));
  EXPECT_TRUE(mps["spec"]["migPlacement"].is_null());
  const Value sliced = make_share(pod, "das-operator", "n1",
                                  {.container = "c", .resource = "ts.das.com/gpu"}, gpus[0], 0);
  EXPECT_EQ(sliced["spec"]["type"].str(), "timeslice");
  EXPECT_EQ(sliced["spec"]["share"]["interval"].str(), "Short");
  EXPECT_TRUE(is_share(Object(mps)));
  EXPECT_FALSE(is_share(Object(from_yaml("{spec: {migPlacement: {start: 0, size: 1}}}"))));
}

TEST(Sharing, Environment) {
  const auto claim = [](const char* gpu, int memory, int percent) {
    return ShareClaim{.type = memory > 0 ? "mps" : "timeslice",
                      .gpu = gpu,
                      .container = "c",
                      .memory_mib = memory,
                      .thread_percent = percent};
  };
  EXPECT_EQ(share_environment({claim("G1", 0, 0), claim("G2", 0, 0), claim("G2", 0, 0)}, {}),
            (std::map<std::string, Variables>{
                {"c", {{"NVIDIA_VISIBLE_DEVICES", "G1,G2"}, {"CUDA_VISIBLE_DEVICES", "0,1"}}}}));
  EXPECT_EQ(
      share_environment({claim("G1", 10240, 25), claim("G1", 10240, 25)}, {{"G1", "test"}}),
      (std::map<std::string, Variables>{{"c",
                                         {{"NVIDIA_VISIBLE_DEVICES", "test"},
                                          {"CUDA_VISIBLE_DEVICES", "0"},
                                          {"CUDA_MPS_PIPE_DIRECTORY", "/var/run/das/mps/G1/pipe"},
                                          {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50"},
                                          {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=20480M"}}}}));
}

// "cpx-nps4/8 spx-nps1/1", "vf/3 vf/1", or the error.
std::string divided(const char* annotation, std::size_t gpus, std::string_view type) {
  const auto sharing = wanted_sharing(annotation, gpus, type);
  if (!sharing.ok()) {
    return sharing.error().message;
  }
  std::string text;
  for (const GpuSharing& one : *sharing) {
    text += text.empty() ? "" : " ";
    text +=
        (one.mode == GpuMode::Partition ? one.layout : "vf") + "/" + std::to_string(one.replicas);
  }
  return text;
}

TEST(Vendors, ModesOfEachType) {
  EXPECT_EQ(divided("", 2, "amd-mi300"), "spx-nps1/1 spx-nps1/1");
  EXPECT_EQ(divided("0=dpx,1=qpx:nps4,2=cpx:nps1,3=cpx:nps4", 4, "amd-mi300"),
            "dpx-nps1/2 qpx-nps4/4 cpx-nps1/8 cpx-nps4/8");
  EXPECT_EQ(divided("", 1, "intel-xe"), "vf/1");
  EXPECT_EQ(divided("1=vf:7", 2, "intel-xe"), "vf/1 vf/7");
  for (const char* wrong : {"0=mig", "0=spx:nps4", "0=dpx:nps4", "0=cpx:nps2", "0=vf:2"}) {
    EXPECT_EQ(divided(wrong, 1, "amd-mi300"),
              "invalid das.inference.redhat.com/gpu-sharing \"" + std::string(wrong) +
                  "\": must be a list of INDEX=spx, dpx, qpx or cpx, with :nps1, or :nps4 for qpx "
                  "and cpx");
  }
  for (const char* wrong : {"0=mig", "0=vf", "0=vf:0", "0=vf:64", "0=cpx"}) {
    EXPECT_EQ(divided(wrong, 1, "intel-xe"), "invalid das.inference.redhat.com/gpu-sharing \"" +
                                                 std::string(wrong) +
                                                 "\": must be a list of INDEX=vf:COUNT");
  }
  EXPECT_EQ(divided("", 1, "other-gpu"), "unsupported acceleratorType other-gpu");
}

TEST(Vendors, CapacityAndWhatIsStored) {
  const auto partitions = *wanted_sharing("0=cpx:nps4,1=cpx:nps4", 3, "amd-mi300");
  EXPECT_EQ(
      share_capacity(partitions, 192),
      (std::map<std::string, int>{{"amd.das.com/cpx-nps4", 16}, {"amd.das.com/spx-nps1", 1}}));
  const auto functions = *wanted_sharing("0=vf:7", 2, "intel-xe");
  EXPECT_EQ(share_capacity(functions, 16), (std::map<std::string, int>{{"intel.das.com/vf", 8}}));
  Value resources = from_yaml("{nodeGpus: [{gpuUuid: a}, {gpuUuid: b}, {gpuUuid: c}]}");
  set_sharing(resources, partitions);
  EXPECT_EQ(sharing_of(resources), partitions);
  Value two = from_yaml("{nodeGpus: [{gpuUuid: a}, {gpuUuid: b}]}");
  set_sharing(two, functions);
  EXPECT_EQ(sharing_of(two), functions);
}

TEST(Vendors, ModelsHaveTheirType) {
  EXPECT_EQ(find_model("MI300X")->type, kAmdMi300);
  EXPECT_EQ(find_model("MI300X")->product(), "AMD Instinct MI300X");
  EXPECT_EQ(find_model("Max-1550")->type, kIntelXe);
  EXPECT_EQ(find_model("A100-PCIE-40GB")->type, kNvidiaMig);
  EXPECT_FALSE(is_known_type("other-gpu"));
}

TEST(Vendors, SharesHaveNumbersOfTheirGpu) {
  SharedGpu gpu{.uuid = "G",
                .sharing = wanted_sharing("0=qpx", 1, kAmdMi300)->front(),
                .memory_gib = 192,
                .used = {0, 2}};
  EXPECT_EQ(take_share(gpu), 1);
  EXPECT_EQ(take_share(gpu), 3);
  EXPECT_TRUE(place_shares({gpu}, asks("amd.das.com/qpx-nps1: 1")).empty());
  const Object pod(from_yaml("{metadata: {name: p, namespace: ns, uid: u}}"));
  const Value claim = make_share(pod, "das-operator", "n1",
                                 {.container = "c", .resource = "amd.das.com/qpx-nps1"}, gpu, 3);
  EXPECT_EQ(claim["spec"]["type"].str(), "partition");
  EXPECT_EQ(claim["spec"]["share"], from_yaml("{index: 3, memoryMiB: 49152}"));
  EXPECT_EQ(read_share(Object(claim))->index, 3);
}

TEST(Vendors, Environment) {
  const auto claim = [](const char* type, const char* container, int index) {
    return ShareClaim{.type = type, .gpu = "G1", .container = container, .index = index};
  };
  const auto environment =
      share_environment({claim("partition", "amd", 1), claim("partition", "amd", 4),
                         claim("vf", "intel", 0), claim("vf", "intel", 1)},
                        {});
  EXPECT_EQ(environment,
            (std::map<std::string, Variables>{
                {"amd", {{"AMD_VISIBLE_DEVICES", "G1:1,G1:4"}, {"ROCR_VISIBLE_DEVICES", "0,1"}}},
                {"intel", {{"ZE_AFFINITY_MASK", "0,1"}}}}));
}

}  // namespace
}  // namespace athanor::das
