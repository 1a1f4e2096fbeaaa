// SPDX-License-Identifier: Apache-2.0
// The map of slots in the terminal.
#include "systems/das/verb/slice_map.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "kube/text/yaml.hpp"
#include "systems/das/gpus/inventory.hpp"
#include "systems/das/gpus/mode.hpp"
#include "systems/das/makers/vendor.hpp"

namespace athanor::das::slice_map_test {
namespace {

Object node(const std::string& name, const char* model) {
  Value object = yaml::parse("{kind: NodeAccelerator, metadata: {name: " + name + "}}").value();
  object.set_path({"status", "nodeResources"},
                  emulated_resources(name, {.model = find_model(model), .count = 1}));
  return Object(std::move(object));
}

Object claim(const std::string& pod, const std::string& gpu, const std::string& profile,
             const std::string& placement) {
  return Object(yaml::parse("{metadata: {name: " + pod + "}, spec: {profile: " + profile +
                            ", gpuUUID: " + gpu + ", nodename: a, migPlacement: {" + placement +
                            "}, podRef: {namespace: ns, name: " + pod +
                            ", uid: u}}, status: {state: inUse}}")
                    .value());
}

TEST(SliceMap, ShowsSlotsClaimsAndRoom) {
  const std::string gpu = emulated_uuid("a", 0);
  const std::vector<Object> nodes{node("a", "A100-PCIE-40GB"), node("b", "A30")};
  const std::vector<Object> claims{claim("two", gpu, "2g.10gb", "start: 2, size: 2"),
                                   claim("one", gpu, "1g.5gb", "start: 0, size: 1"),
                                   claim("bad", gpu, "1g.5gb", "start: 7, size: 4"),
                                   claim("lost", "GPU-x", "1g.5gb", "start: 0, size: 1")};
  EXPECT_EQ(slice_map(gpu_states(nodes, claims)),
            "a  GPU 0  NVIDIA A100-PCIE-40GB  " + gpu + "\n" +
                "  | A | . | B   B | . | . | . | . |\n"
                "  A  1g.5gb  ns/one  inUse\n"
                "  B  2g.10gb  ns/two  inUse\n"
                "  fits  1g.5gb 4, 2g.10gb 1, 3g.20gb 1, 1g.5gb+me 1, 1g.10gb 2\n"
                "\n"
                "b  GPU 0  NVIDIA A30  " +
                emulated_uuid("b", 0) + "\n" +
                "  | . | . | . | . |\n"
                "  fits  1g.6gb 4, 2g.12gb 2, 4g.24gb 1, 1g.6gb+me 1, 2g.12gb+me 1\n"
                "\n"
                "claims of unknown GPUs\n"
                "  ?  1g.5gb  ns/lost  inUse\n");
  EXPECT_EQ(slice_map({}), "");
}

TEST(SliceMap, FitsLongNamesIntoEightyColumns) {
  const std::string name = "gpu-node-of-the-second-rack-17";
  const std::vector<Object> nodes{node(name, "A100-PCIE-40GB")};
  EXPECT_EQ(slice_map(gpu_states(nodes, {})),
            name + "  GPU 0  NVIDIA A100-PCIE-40GB\n  " + emulated_uuid(name, 0) +
                "\n"
                "  | . | . | . | . | . | . | . | . |\n"
                "  fits  1g.5gb 7, 2g.10gb 3, 3g.20gb 2, 4g.20gb 1, 7g.40gb 1, 1g.5gb+me 1,\n"
                "        1g.10gb 4\n");
}

// A node whose GPUs are divided as `annotation` says.
Object shared_node(const std::string& name, const char* model, int count,
                   const std::string& annotation, std::string_view type) {
  const Vendor* vendor = find_vendor(type);
  Value resources = vendor->discover(name, *find_model(model), count);
  const std::set<std::string, std::less<>> used;
  const Value nothing;
  const auto problems = assign_sharing(
      resources,
      {.annotation = annotation,
       .vendor = vendor,
       .before = &nothing,
       .used = &used,
       .allows = std::vector<Divisible>(static_cast<std::size_t>(count), Divisible::Any)});
  EXPECT_TRUE(problems.empty());
  Value object = yaml::parse("{kind: NodeAccelerator, metadata: {name: " + name +
                             "}, spec: {acceleratorType: " + std::string(type) + "}}")
                     .value();
  object.set_path({"status", "nodeResources"}, std::move(resources));
  return Object(std::move(object));
}

Object share(const std::string& node, const std::string& pod, const Object& accelerator, int gpu,
             const std::string& type, const std::string& resource, int index) {
  const std::string uuid =
      accelerator.status()["nodeResources"]["nodeGpus"][static_cast<std::size_t>(gpu)]["gpuUuid"]
          .str();
  return Object(
      yaml::parse("{metadata: {name: " + pod + "}, spec: {type: " + type +
                  ", resource: " + resource + ", share: {index: " + std::to_string(index) +
                  "}, gpuUUID: " + uuid + ", container: c, nodename: " + node +
                  ", podRef: {namespace: ns, name: " + pod + ", uid: u}}, status: {state: inUse}}")
          .value());
}

TEST(SliceMap, ShowsSharesOfEveryVendor) {
  const Object nvidia =
      shared_node("nv", "A100-PCIE-40GB", 3, "0=timeslice:4,1=mps:10", kNvidiaMig);
  const Object amd = shared_node("m", "MI300X", 1, "0=qpx", kAmdMi300);
  const Object intel = shared_node("i", "Max-1550", 1, "0=vf:2", kIntelXe);
  const std::vector<Object> nodes{nvidia, amd, intel};
  const std::vector<Object> claims{
      share("nv", "late", nvidia, 0, "timeslice", "ts.das.com/gpu", 2),
      share("nv", "early", nvidia, 0, "timeslice", "ts.das.com/gpu", 0),
      share("m", "rocm", amd, 0, "partition", "amd.das.com/qpx-nps1", 3)};
  const GpuStates states = gpu_states(nodes, claims);
  ASSERT_EQ(states.gpus.size(), 5U);
  EXPECT_EQ(states.gpus[0].mode, "timeslice");
  EXPECT_EQ(states.gpus[0].total, 4);
  EXPECT_EQ(states.gpus[0].free, 2);
  EXPECT_EQ(states.gpus[1].resource, "mps.das.com/gpu-10gb");
  EXPECT_EQ(states.gpus[1].free, 4);
  EXPECT_TRUE(states.gpus[2].sliced());
  EXPECT_EQ(states.gpus[2].free, 8);
  EXPECT_EQ(states.gpus[3].mode, "partition");
  EXPECT_EQ(states.gpus[3].holders.at(0).pod.name, "rocm");
  EXPECT_EQ(states.gpus[4].total, 2);
  EXPECT_TRUE(states.lost.empty());
  const std::string text = slice_map(states);
  EXPECT_NE(text.find("timeslice: 2 of 4 shares held\n"
                      "  0  ts.das.com/gpu  ns/early  inUse\n"
                      "  2  ts.das.com/gpu  ns/late  inUse\n"
                      "  fits  ts.das.com/gpu 2\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(gpu_row(states.gpus[0]),
            (std::vector<std::string>{"nv", "0", "ts.das.com/gpu", "2", "4", "Healthy",
                                      states.gpus[0].uuid, "ns/early,ns/late"}));
  EXPECT_EQ(gpu_row(states.gpus[2]).size(), gpu_header().size());
  const Value value = to_value(states.gpus[3]);
  EXPECT_EQ(value["holders"][0]["share"].as_int(), 3);
  EXPECT_EQ(value["room"]["amd.das.com/qpx-nps1"].as_int(), 3);
}

TEST(SliceMap, MarksForeignInstancesAndUnhealthyGpus) {
  Value body = node("a", "A100-PCIE-40GB").body();
  Value gpus = body["status"]["nodeResources"]["nodeGpus"];
  Value gpu = gpus[0];
  gpu.set("index", 5);
  gpu.set("foreign", Value::list({Value::object({{"start", 4}, {"size", 4}})}));
  body.set_path({"status", "nodeResources", "nodeGpus"}, Value::list({gpu}));
  const GpuStates states = gpu_states(std::vector<Object>{Object(body)}, {});
  EXPECT_EQ(states.gpus.at(0).index, 5);
  EXPECT_EQ(states.gpus.at(0).free, 4);
  const std::string text = slice_map(states);
  EXPECT_NE(text.find("  | . | . | . | . | #   #   #   # |\n"
                      "  #  4 slots from 4 on: an instance that DAS did not make\n"),
            std::string::npos)
      << text;
  gpu.set("health", "Unhealthy");
  body.set_path({"status", "nodeResources", "nodeGpus"}, Value::list({gpu}));
  const GpuStates sick = gpu_states(std::vector<Object>{Object(body)}, {});
  EXPECT_EQ(sick.gpus.at(0).free, 0);
  EXPECT_NE(slice_map(sick).find("fits  nothing"), std::string::npos);
}

}  // namespace
}  // namespace athanor::das::slice_map_test
