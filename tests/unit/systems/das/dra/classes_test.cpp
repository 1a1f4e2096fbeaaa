// SPDX-License-Identifier: Apache-2.0
// DeviceClasses of nodes whose GPUs are of several models (docs/spec/das.md 2.3, 15.1).
#include <gtest/gtest.h>

#include <string>

#include "api/device_kinds.hpp"
#include "kube/text/yaml.hpp"
#include "support/fake_world.hpp"
#include "systems/das/dra/operators.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/settings.hpp"

namespace athanor::das::classes_test {
namespace {

TEST(Classes, EveryModelOfANodeHasItsProfiles) {
  test::FakeWorld world;
  Settings settings;
  settings.allocation_api = "dra";
  world.configure(kSettingsSection, api::encode(settings));
  for (const char* text :
       {"{apiVersion: inference.redhat.com/v1alpha1, kind: NodeAccelerator, metadata: {name: n1, "
        "namespace: das-operator}, status: {nodeResources: {migPlacement: {1g.5gb: {}}, nodeGpus: "
        "[{gpuUuid: a, allocationApi: dra}, {gpuUuid: b, allocationApi: dra, migPlacement: "
        "{1g.24gb+gfx: {}}}]}}}",
        "{apiVersion: inference.redhat.com/v1alpha1, kind: DASOperator, metadata: {name: cluster, "
        "namespace: das-operator}, spec: {}}"}) {
    world.put(yaml::parse(text).value());
  }
  world.settle({&classes_operator()});
  EXPECT_TRUE(world.get(api::kDeviceClass, {"", "1g.5gb.mig.nvidia.com"}));
  EXPECT_TRUE(world.get(api::kDeviceClass, {"", "1g.24gb-plus-gfx.mig.nvidia.com"}));
}

}  // namespace
}  // namespace athanor::das::classes_test
