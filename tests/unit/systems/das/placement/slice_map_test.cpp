// SPDX-License-Identifier: Apache-2.0
// The map of slots in the terminal.
#include "systems/das/placement/slice_map.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kube/text/yaml.hpp"
#include "systems/das/placement/inventory.hpp"
#include "systems/das/vendor/vendor.hpp"

namespace athanor::das {
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
  EXPECT_EQ(slice_map(nodes, claims),
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
  EXPECT_EQ(slice_map({}, {}), "");
}

}  // namespace
}  // namespace athanor::das
