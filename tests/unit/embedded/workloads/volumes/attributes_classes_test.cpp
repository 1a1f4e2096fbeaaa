// SPDX-License-Identifier: Apache-2.0
// Classes that are used stay, the others go.
#include "embedded/workloads/volumes/attributes_classes.hpp"

#include "unit/embedded/workloads/workload_world.hpp"

namespace athanor::workloads::attributes_classes_test {
namespace {

class AttributesClasses : public WorkloadTest {
 protected:
  AttributesClasses() : WorkloadTest({&attributes_class_protection_operator()}) {
    put("{apiVersion: storage.k8s.io/v1, kind: VolumeAttributesClass, metadata: {name: v, "
        "finalizers: [kubernetes.io/vac-protection]}, driverName: d}");
  }
  [[nodiscard]] bool there() const { return world.has(kVolumeAttributesClass, {"", "v"}); }
};

TEST_F(AttributesClasses, AreDeletedOnceUnused) {
  settle();
  EXPECT_TRUE(there());
  world.remove(kVolumeAttributesClass, {"", "v"});
  settle();
  EXPECT_FALSE(there());
}

TEST_F(AttributesClasses, WaitForTheirLastClaim) {
  put("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, namespace: ns}, "
      "spec: {volumeAttributesClassName: v}}");
  world.remove(kVolumeAttributesClass, {"", "v"});
  settle();
  EXPECT_TRUE(there());
  world.remove(api::kPersistentVolumeClaim, {"ns", "c"});
  settle();
  EXPECT_FALSE(there());
}

}  // namespace
}  // namespace athanor::workloads::attributes_classes_test
