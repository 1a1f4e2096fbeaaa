// SPDX-License-Identifier: Apache-2.0
// GPUs shared by time-slicing and MPS: modes, capacity, placement, environment
// (docs/spec/das.md 15.2).
#include "systems/das/sharing/share.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "kube/text/yaml.hpp"
#include "systems/das/gpus/mode.hpp"
#include "systems/das/makers/vendor.hpp"

namespace athanor::das::share_test {
namespace {

Value from_yaml(const std::string& text) {
  return yaml::parse(text).value();
}

// "mig ts4Short mps10 3g.20gb/ts2", or the error.
std::string modes(const char* annotation, std::size_t gpus) {
  const auto sharing = wanted_sharing(annotation, gpus);
  if (!sharing.ok()) {
    return sharing.error().message;
  }
  std::string text;
  for (const GpuSharing& one : *sharing) {
    text += text.empty() ? "" : " ";
    text += one.profile.empty() ? "" : one.profile + "/";
    text += one.sliced()        ? "mig"
            : one.mode == "mps" ? "mps" + std::to_string(one.unit_gb)
                                : "ts" + std::to_string(one.replicas) + one.interval;
  }
  return text;
}

TEST(Sharing, ReadsTheAnnotation) {
  EXPECT_EQ(modes("", 2), "mig mig");
  EXPECT_EQ(modes("1=mps:10", 2), "mig mps10");
  EXPECT_EQ(modes("0=timeslice:4", 1), "ts4Default");
  EXPECT_EQ(modes("0=timeslice:4:Short,2=mps:5,1=mig", 3), "ts4Short mig mps5");
  EXPECT_EQ(modes("0=3g.20gb:timeslice:2,1=1g.5gb+me:mps:5", 2), "3g.20gb/ts2 1g.5gb+me/mps5");
  const std::string form =
      "must be a list of INDEX=mig, INDEX=timeslice:REPLICAS[:INTERVAL], INDEX=mps:GB, "
      "INDEX=PROFILE:timeslice:REPLICAS or INDEX=PROFILE:mps:GB; intervals are Default, Short, "
      "Medium and Long";
  for (const char* wrong :
       {"mps", "0=mps", "0=mps:0", "0=mps:x", "0=mps:5:6", "0=timeslice", "0=timeslice:0",
        "0=timeslice:4:Soon", "0=other:1", "0=mig:1", "x=mig", "0=mig,,1=mig", "0=timeslice:101",
        "0=1g.5gb", "0=1g.5gb:mig", "0=1g.5gb:timeslice:2:Short", "0=1g.5gb:timeslice:2:Default",
        "0=1g.5gb:mps:6", "0=1g.5gb:2g.10gb:mps:1"}) {
    EXPECT_EQ(modes(wrong, 2), "invalid das.inference.redhat.com/gpu-sharing \"" +
                                   std::string(wrong) + "\": " + form);
  }
  EXPECT_EQ(modes("2=mps:5", 2),
            "invalid das.inference.redhat.com/gpu-sharing \"2=mps:5\": there is no GPU 2");
}

// status.nodeResources of GPUs without profiles, in the modes of an annotation.
Value resources_of(const char* annotation, int count, int memory_gib = 40,
                   std::string_view type = kNvidiaMig) {
  Value gpus = Value::list();
  for (int i = 0; i < count; ++i) {
    gpus.push_back(Value::object({{"index", i},
                                  {"gpuUuid", "GPU-" + std::to_string(i)},
                                  {"gpuMemory", std::to_string(memory_gib) + "Gi"}}));
  }
  Value resources = Value::object({{"nodeGpus", std::move(gpus)}});
  const Value before;
  const std::set<std::string, std::less<>> used;
  EXPECT_TRUE(
      assign_sharing(
          resources,
          {.annotation = annotation, .vendor = find_vendor(type), .before = &before, .used = &used})
          .empty());
  return resources;
}

// The devices of such GPUs, by resource.
std::map<std::string, int> devices(const Value& resources, std::string_view type = kNvidiaMig) {
  std::map<std::string, int> sum;
  for (const auto& gpu : devices_of(resources, *find_vendor(type))) {
    for (const auto& [resource, count] : gpu) {
      sum[resource] += count;
    }
  }
  return sum;
}

TEST(Sharing, CapacityByMode) {
  EXPECT_EQ(devices(resources_of("0=timeslice:4,1=mps:12,2=timeslice:3:Long,3=mps:50", 5)),
            (std::map<std::string, int>{{"mps.das.com/gpu-12gb", 3}, {"ts.das.com/gpu", 7}}));
}

TEST(Sharing, IsKeptInTheNodeAccelerator) {
  const char* const annotation = "0=timeslice:4:Medium,2=mps:5";
  const Value resources = resources_of(annotation, 3);
  EXPECT_TRUE(resources["nodeGpus"][1]["sharing"].is_null());
  EXPECT_EQ(sharing_of(resources), *wanted_sharing(annotation, 3));
  const auto gpus = shared_gpus(resources);
  EXPECT_EQ(gpus[0].memory_gib, 40);
  EXPECT_EQ(gpus[2].uuid, "GPU-2");
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

// The GPUs of the requests, in their order.
std::vector<std::size_t> place_shares(const std::vector<SharedGpu>& gpus,
                                      const std::vector<ShareRequest>& requests,
                                      std::string_view type = kNvidiaMig) {
  std::vector<std::size_t> chosen;
  for (const SharePlace& place : find_vendor(type)->place(gpus, requests)) {
    chosen.push_back(place.gpu);
  }
  return chosen;
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

// status.nodeResources of A100-40 in the modes of an annotation, and what is wrong with them.
Value a100s(const char* annotation, int count, std::vector<std::string>* problems = nullptr) {
  Value resources = find_vendor(kNvidiaMig)->discover("n", *find_model(kDefaultModel), count);
  const Value before;
  const std::set<std::string, std::less<>> used;
  auto found = assign_sharing(resources, {.annotation = annotation,
                                          .vendor = find_vendor(kNvidiaMig),
                                          .before = &before,
                                          .used = &used});
  EXPECT_EQ(found.empty(), problems == nullptr);
  if (problems != nullptr) {
    *problems = std::move(found);
  }
  return resources;
}

TEST(SharedSlices, CapacityIsReplicasTimesSlices) {
  const Value resources = a100s("0=3g.20gb:timeslice:4,1=1g.10gb:mps:5,2=1g.5gb+me:timeslice:3", 3);
  EXPECT_EQ(devices(resources), (std::map<std::string, int>{{"ts.das.com/3g.20gb", 8},
                                                            {"mps.das.com/1g.10gb-5gb", 8},
                                                            {"ts.das.com/1g.5gb-plus-me", 3}}));
  EXPECT_EQ(resources["nodeGpus"][0]["sharing"],
            from_yaml("{mode: timeslice, replicas: 4, profile: 3g.20gb, starts: [0, 4], size: 4}"));
  EXPECT_EQ(shared_gpus(resources)[1].sharing.starts, (std::vector<int>{0, 2, 4, 6}));
  std::vector<std::string> problems;
  EXPECT_TRUE(a100s("0=9g.99gb:timeslice:2", 1, &problems)["nodeGpus"][0]["sharing"].is_null());
  EXPECT_EQ(problems, (std::vector<std::string>{"GPU 0 has no profile 9g.99gb"}));
}

TEST(SharedSlices, OneIsFilledBeforeTheNext) {
  using Places = std::vector<SharePlace>;
  const Vendor& vendor = *find_vendor(kNvidiaMig);
  auto gpus = shared_gpus(a100s("0=3g.20gb:timeslice:2,1=3g.20gb:mps:5", 2));
  EXPECT_EQ(vendor.place(gpus, asks("ts.das.com/3g.20gb: 3")), (Places{{0, 0}, {0, 1}, {0, 2}}));
  gpus[0].used = {0, 2, 3};
  EXPECT_EQ(vendor.place(gpus, asks("ts.das.com/3g.20gb: 1")), (Places{{0, 1}}));
  // A process has one control daemon: shares of one container are of one slice.
  gpus[1].used = {0, 1};
  EXPECT_EQ(vendor.place(gpus, asks("mps.das.com/3g.20gb-5gb: 2")), (Places{{1, 2}, {1, 3}}));
  EXPECT_EQ(vendor.place(gpus, asks("mps.das.com/3g.20gb-5gb: 3")),
            (Places{{1, 4}, {1, 5}, {1, 6}}));
  EXPECT_TRUE(vendor.place(gpus, asks("mps.das.com/3g.20gb-5gb: 5")).empty());
}

TEST(SharedSlices, SlotsOfForeignInstancesAreNotOffered) {
  Value resources = a100s("0=3g.20gb:timeslice:2", 1);
  resources.member("nodeGpus").item(0).set("foreign", from_yaml("[{start: 1, size: 1}]"));
  EXPECT_EQ(shared_gpus(resources)[0].used, (std::set<int>{0, 1}));
}

TEST(SharedSlices, ClaimsNameTheirSliceAndContainersSeeIt) {
  const Vendor& vendor = *find_vendor(kNvidiaMig);
  const Object pod(from_yaml("{metadata: {name: p, namespace: ns, uid: u}}"));
  const auto gpus = shared_gpus(a100s("0=3g.20gb:mps:5,1=1g.5gb:timeslice:2", 2));
  const Object mps(make_share(
      {pod, "das-operator", "n1", {.container = "c", .resource = "mps.das.com/3g.20gb-5gb"}},
      gpus[0], 5, vendor));
  EXPECT_EQ(mps.spec()["share"], from_yaml("{index: 5, memoryMiB: 5120, threadPercent: 25, "
                                           "slice: {profile: 3g.20gb, start: 4, size: 4}}"));
  const Object turn(
      make_share({pod, "das-operator", "n1", {.container = "c", .resource = "ts.das.com/1g.5gb"}},
                 gpus[1], 3, vendor));
  EXPECT_EQ(turn.spec()["share"],
            from_yaml("{index: 3, slice: {profile: 1g.5gb, start: 1, size: 1}}"));
  const ShareClaim share = *read_share(mps);
  const std::string part = gpus[0].uuid + "-4";
  EXPECT_EQ(share.part(), part);
  EXPECT_EQ(share_edits({share, share}, {{part, "MIG-x"}}, "/state")["c"].env,
            (Variables{{"NVIDIA_VISIBLE_DEVICES", "MIG-x"},
                       {"CUDA_VISIBLE_DEVICES", "0"},
                       {"CUDA_MPS_PIPE_DIRECTORY", "/state/mps/" + part + "/pipe"},
                       {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50"},
                       {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=10240M"}}));
  const auto slice = shared_slice(*read_slice_or_share(turn));
  ASSERT_TRUE(slice.has_value());
  EXPECT_EQ(slice->profile, "1g.5gb");
  EXPECT_EQ(slice->start, 1);
  EXPECT_EQ(slice->size, 1);
  Value damaged = turn.body();
  damaged.set_path({"spec", "share", "slice", "start"}, 8);
  EXPECT_FALSE(read_share(Object(damaged)).has_value());
}

TEST(SharedSlices, RunOwnDaemonsWithoutComputeMode) {
  const Vendor& vendor = *find_vendor(kNvidiaMig);
  const auto gpus = shared_gpus(a100s("0=3g.20gb:mps:5", 1));
  EXPECT_EQ(vendor.create(gpus[0], "/state"), ModeWork());
  EXPECT_EQ(vendor.destroy(gpus[0], "/state"), ModeWork());
  ShareClaim share{.type = "mps", .gpu = "G", .profile = "3g.20gb", .start = 4, .size = 4};
  const ModeWork work = vendor.share_slice(share, "MIG-x", "/state");
  EXPECT_TRUE(work.commands.empty());
  ASSERT_TRUE(work.daemon.has_value());
  EXPECT_EQ(work.daemon->env, (Variables{{"CUDA_VISIBLE_DEVICES", "MIG-x"},
                                         {"CUDA_MPS_PIPE_DIRECTORY", "/state/mps/G-4/pipe"},
                                         {"CUDA_MPS_LOG_DIRECTORY", "/state/mps/G-4/log"}}));
  share.type = "timeslice";
  EXPECT_EQ(vendor.share_slice(share, "MIG-x", "/state"), ModeWork());
}

TEST(Sharing, ClaimsCarrySharedResource) {
  const Object pod(from_yaml("{metadata: {name: p, namespace: ns, uid: u}}"));
  const auto gpus = gpus_of("0=timeslice:4:Short,1=mps:10", 2);
  const Value mps = make_share({pod,
                                "das-operator",
                                "n1",
                                {.container = "c", .resource = "mps.das.com/gpu-10gb", .index = 1}},
                               gpus[1], 2, *find_vendor(kNvidiaMig));
  EXPECT_EQ(mps["metadata"]["name"].str(), "u-n1-c-share-1");
  EXPECT_EQ(mps["spec"]["type"].str(), "mps");
  EXPECT_EQ(mps["spec"]["share"], from_yaml("{index: 2, memoryMiB: 10240, threadPercent: 25}"));
  EXPECT_TRUE(mps["spec"]["migPlacement"].is_null());
  const Value sliced =
      make_share({pod, "das-operator", "n1", {.container = "c", .resource = "ts.das.com/gpu"}},
                 gpus[0], 0, *find_vendor(kNvidiaMig));
  EXPECT_EQ(sliced["spec"]["type"].str(), "timeslice");
  EXPECT_EQ(sliced["spec"]["share"]["interval"].str(), "Short");
  EXPECT_TRUE(is_share(Object(mps)));
  EXPECT_FALSE(is_share(Object(from_yaml("{spec: {migPlacement: {start: 0, size: 1}}}"))));
}

TEST(Sharing, Environment) {
  const auto claim = [](const char* gpu, int memory, int percent) {
    return ShareClaim{.type = memory > 0 ? "mps" : "timeslice",
                      .resource = memory > 0 ? "mps.das.com/gpu-10gb" : "ts.das.com/gpu",
                      .gpu = gpu,
                      .container = "c",
                      .memory_mib = memory,
                      .thread_percent = percent};
  };
  const ContainerEdits sliced =
      share_edits({claim("G1", 0, 0), claim("G2", 0, 0), claim("G2", 0, 0)}, {})["c"];
  EXPECT_EQ(sliced.env,
            (Variables{{"NVIDIA_VISIBLE_DEVICES", "G1,G2"}, {"CUDA_VISIBLE_DEVICES", "0,1"}}));
  EXPECT_TRUE(sliced.mounts.empty());
  const ContainerEdits mps = share_edits({claim("G1", 10240, 25), claim("G1", 10240, 25)},
                                         {{"G1", "test"}}, "/state")["c"];
  EXPECT_EQ(mps.env, (Variables{{"NVIDIA_VISIBLE_DEVICES", "test"},
                                {"CUDA_VISIBLE_DEVICES", "0"},
                                {"CUDA_MPS_PIPE_DIRECTORY", "/state/mps/G1/pipe"},
                                {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50"},
                                {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=20480M"}}));
  EXPECT_EQ(mps.mounts, (std::vector<Mount>{{"/state/mps/G1/pipe", "/state/mps/G1/pipe"},
                                            {"/state/mps/shm", "/dev/shm"}}));
}

TEST(Sharing, ReturnsWorkOfNodeForMode) {
  const Vendor& vendor = *find_vendor(kNvidiaMig);
  const auto gpus = gpus_of("0=mps:10,1=timeslice:2,2=timeslice:2:Long,3=mig", 4);
  const ModeWork mps = vendor.create(gpus[0], "/state");
  ASSERT_TRUE(mps.daemon.has_value());
  EXPECT_EQ(mps.daemon->words, (std::vector<std::string>{"nvidia-cuda-mps-control", "-f"}));
  EXPECT_EQ(mps.daemon->env[1], (std::pair<std::string, std::string>("CUDA_MPS_PIPE_DIRECTORY",
                                                                     "/state/mps/GPU-0/pipe")));
  EXPECT_EQ(mps.commands.front().words,
            (std::vector<std::string>{"nvidia-smi", "-i", "GPU-0", "-c", "EXCLUSIVE_PROCESS"}));
  EXPECT_EQ(vendor.destroy(gpus[0], "/state").commands.front().words.back(), "DEFAULT");
  EXPECT_EQ(vendor.create(gpus[1], "/state"), ModeWork());
  EXPECT_EQ(vendor.create(gpus[2], "/state").commands.front().words,
            (std::vector<std::string>{"nvidia-smi", "compute-policy", "-i", "GPU-2",
                                      "--set-timeslice=3"}));
  EXPECT_EQ(vendor.destroy(gpus[2], "/state").commands.front().words.back(), "--set-timeslice=0");
  EXPECT_EQ(vendor.create(gpus[3], "/state"), ModeWork());
}

// The modes that stay, and what is said.
struct Assigned {
  std::vector<std::string> uuids{};
  std::vector<std::string> modes{};
  std::vector<std::string> problems{};
};
Assigned assign(const char* annotation, const Value& before,
                const std::set<std::string, std::less<>>& used,
                const std::vector<Divisible>& allows) {
  Value resources = from_yaml(
      "{nodeGpus: [{gpuUuid: a, index: 0}, {gpuUuid: b, index: 1}, {gpuUuid: c, index: 3}]}");
  Assigned result;
  result.problems = assign_sharing(resources, {.annotation = annotation,
                                               .vendor = find_vendor(kNvidiaMig),
                                               .before = &before,
                                               .used = &used,
                                               .allows = allows});
  for (const Value& gpu : resources["nodeGpus"].items()) {
    result.uuids.push_back(gpu["gpuUuid"].str());
    result.modes.push_back(gpu["sharing"]["mode"].str());
  }
  return result;
}
using Texts = std::vector<std::string>;

TEST(Sharing, SlicesOrSharesRealGpusByMigMode) {
  const std::vector<Divisible> real{Divisible::Slices, Divisible::Whole, Divisible::Whole};
  const Value none;
  const Assigned left = assign("", none, {}, real);
  EXPECT_EQ(left.uuids, (Texts{"a"})) << "whole GPUs that are not shared are left out";
  const Assigned shared = assign("0=mps:5,3=timeslice:2", none, {}, real);
  EXPECT_EQ(shared.uuids, (Texts{"a", "c"}));
  EXPECT_EQ(shared.modes, (Texts{"", "timeslice"}));
  EXPECT_EQ(shared.problems, (Texts{"GPU 0 cannot be shared as a whole: its MIG mode is enabled"}));
  EXPECT_EQ(assign("3=1g.5gb:timeslice:2", none, {}, real).problems,
            (Texts{"GPU 3 has no slices to share: its MIG mode is disabled"}));
  EXPECT_EQ(assign("7=mps:5", none, {}, real).problems,
            (Texts{"invalid das.inference.redhat.com/gpu-sharing \"7=mps:5\": there is no GPU 7"}));
}

TEST(Sharing, KeepsModeOfGpusWithClaims) {
  const Value before = from_yaml(
      "{nodeGpus: [{gpuUuid: b, sharing: {mode: timeslice, replicas: 2, interval: Short}}, "
      "{gpuUuid: c, sharing: {mode: mps, unitGb: 5}}]}");
  const std::vector<Divisible> any;
  EXPECT_EQ(assign("0=mps:5", before, {"b"}, any).modes, (Texts{"mps", "timeslice", ""}));
  EXPECT_EQ(assign("0=nonsense", before, {}, any).modes, (Texts{"", "timeslice", "mps"}))
      << "all stay what they were";
}

TEST(Sharing, SlicesAndSharesAreForDifferentContainers) {
  const auto refusal = [](const std::string& limits) {
    const auto conflict =
        conflict_in(from_yaml("{containers: [{name: c, resources: {limits: {" + limits + "}}}]}"));
    return conflict ? conflict->message : "";
  };
  const std::string both =
      "container \"c\" asks for slices and for shares of GPUs: put them into different containers";
  EXPECT_EQ(refusal("mig.das.com/1g.5gb: 1, ts.das.com/gpu: 1"), both);
  EXPECT_EQ(refusal("nvidia.com/mig-1g.5gb: 1, mps.das.com/gpu-5gb: 1"), both);
  EXPECT_EQ(refusal("mig.das.com/1g.5gb: 1, ts.das.com/gpu: 0"), "");
  EXPECT_EQ(refusal("ts.das.com/gpu: 1, ts.das.com/3g.20gb: 1"), "");
  EXPECT_EQ(refusal("mps.das.com/gpu-5gb: 2"), "");
  EXPECT_EQ(refusal("mps.das.com/gpu-5gb: 1, ts.das.com/gpu: 0"), "");
  const std::string daemon =
      ": a process has one MPS control daemon; put them into different containers";
  EXPECT_EQ(refusal("ts.das.com/gpu: 1, mps.das.com/gpu-5gb: 1"),
            "container \"c\" asks for mps.das.com/gpu-5gb and for ts.das.com/gpu" + daemon);
  EXPECT_EQ(refusal("mps.das.com/gpu-10gb: 1, mps.das.com/gpu-5gb: 1"),
            "container \"c\" asks for mps.das.com/gpu-10gb and for mps.das.com/gpu-5gb" + daemon);
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
    text += (one.mode == "partition" ? one.layout : "vf") + "/" + std::to_string(one.replicas);
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

TEST(Vendors, ReportCapacityAndStoredModes) {
  const Value partitions = resources_of("0=cpx:nps4,1=cpx:nps4", 3, 192, kAmdMi300);
  EXPECT_EQ(
      devices(partitions, kAmdMi300),
      (std::map<std::string, int>{{"amd.das.com/cpx-nps4", 16}, {"amd.das.com/spx-nps1", 1}}));
  EXPECT_EQ(sharing_of(partitions), *wanted_sharing("0=cpx:nps4,1=cpx:nps4", 3, kAmdMi300));
  const Value functions = resources_of("0=vf:7", 2, 16, kIntelXe);
  EXPECT_EQ(devices(functions, kIntelXe), (std::map<std::string, int>{{"intel.das.com/vf", 8}}));
  EXPECT_EQ(sharing_of(functions), *wanted_sharing("0=vf:7", 2, kIntelXe));
}

TEST(Vendors, ModelsHaveTheirType) {
  EXPECT_EQ(find_model("MI300X")->type, kAmdMi300);
  EXPECT_EQ(find_model("MI300X")->product(), "AMD Instinct MI300X");
  EXPECT_EQ(find_model("Max-1550")->type, kIntelXe);
  EXPECT_EQ(find_model("A100-PCIE-40GB")->type, kNvidiaMig);
  EXPECT_EQ(find_vendor("other-gpu"), nullptr);
  EXPECT_EQ(find_vendor("")->facts().type, kNvidiaMig);
}

TEST(Vendors, SharesHaveNumbersOfTheirGpu) {
  SharedGpu gpu{.uuid = "G",
                .sharing = wanted_sharing("0=qpx", 1, kAmdMi300)->front(),
                .memory_gib = 192,
                .used = {0, 2}};
  EXPECT_EQ(take_share(gpu), 1);
  EXPECT_EQ(take_share(gpu), 3);
  EXPECT_TRUE(place_shares({gpu}, asks("amd.das.com/qpx-nps1: 1"), kAmdMi300).empty());
  const Object pod(from_yaml("{metadata: {name: p, namespace: ns, uid: u}}"));
  const Value claim = make_share(
      {pod, "das-operator", "n1", {.container = "c", .resource = "amd.das.com/qpx-nps1"}}, gpu, 3,
      *find_vendor(kAmdMi300));
  EXPECT_EQ(claim["spec"]["type"].str(), "partition");
  EXPECT_EQ(claim["spec"]["share"], from_yaml("{index: 3, memoryMiB: 49152}"));
  EXPECT_EQ(read_share(Object(claim))->index, 3);
}

TEST(Vendors, Environment) {
  const auto claim = [](const char* resource, const char* container, int index) {
    return ShareClaim{.resource = resource, .gpu = "G1", .container = container, .index = index};
  };
  auto edits =
      share_edits({claim("amd.das.com/cpx-nps1", "amd", 1), claim("amd.das.com/cpx-nps1", "amd", 4),
                   claim("intel.das.com/vf", "intel", 0), claim("intel.das.com/vf", "intel", 1)},
                  {});
  EXPECT_EQ(edits.size(), 2U);
  EXPECT_EQ(edits["amd"].env,
            (Variables{{"AMD_VISIBLE_DEVICES", "G1:1,G1:4"}, {"ROCR_VISIBLE_DEVICES", "0,1"}}));
  EXPECT_EQ(edits["intel"].env, (Variables{{"ZE_AFFINITY_MASK", "0,1"}}));
}

}  // namespace
}  // namespace athanor::das::share_test
