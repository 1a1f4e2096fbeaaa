// SPDX-License-Identifier: Apache-2.0
// The mock resolver that the emulated nodes stand in for (docs/spec/fournos.md R17.2).
#include "systems/fournos/schedules/mock_resolver.hpp"

#include <gtest/gtest.h>

#include <string>

#include "kube/text/yaml.hpp"
#include "support/fake_world.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::fournos::mock_resolver_test {
namespace {

Object pod(const std::string& image, const std::string& job = "j") {
  return Object(
      yaml::parse("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns, uid: u}, "
                  "spec: {containers: [{name: resolve, image: '" +
                  image + "', env: [{name: FJOB_NAME, value: " + job +
                  "}, {name: FOURNOS_WORKLOAD_NAMESPACE, value: ns}]}]}}")
          .value());
}

class MockResolver : public testing::Test {
 protected:
  NodeAdmission admit(const Object& one) {
    return mock_resolver().admit(View(world_, reads_), one, Object(), world_.now);
  }
  void put_job(const std::string& spec) {
    world_.put(yaml::parse("{apiVersion: fournos.dev/v1, kind: FournosJob, metadata: {name: j, "
                           "namespace: ns}, spec: " +
                           spec + "}")
                   .value());
  }
  Value spec_after(const std::string& spec) {
    put_job(spec);
    const NodeAdmission admission = admit(pod("fournos-mock-resolve:dev"));
    EXPECT_EQ(admission.answer, NodeAdmission::Answer::Ready);
    EXPECT_TRUE(world_.apply(admission.steps).ok());
    return world_.must(api::kFournosJob, {"ns", "j"}).spec();
  }

  test::FakeWorld world_{};
  Reads reads_{};
};

TEST_F(MockResolver, FillsInHardwareAndTheVaultEntry) {
  EXPECT_EQ(spec_after("{owner: o}"),
            yaml::parse("{owner: o, hardware: {gpuType: a100, gpuCount: 2}, secretRefs: "
                        "[placeholder]}")
                .value());
}

TEST_F(MockResolver, KeepsTheHardwareThatIsThere) {
  EXPECT_EQ(
      spec_after("{hardware: {gpuType: h200, gpuCount: 1}, secretRefs: [a]}"),
      yaml::parse("{hardware: {gpuType: h200, gpuCount: 1}, secretRefs: [placeholder]}").value());
}

TEST_F(MockResolver, LooksAtItsOwnImageAlone) {
  put_job("{}");
  for (const char* image : {"busybox", "fournos-mock-resolver:dev", "x/fournos-mock-resolve-2"}) {
    EXPECT_TRUE(admit(pod(image)).steps.empty()) << image;
  }
  EXPECT_FALSE(admit(pod("localhost:5000/team/fournos-mock-resolve:dev")).steps.empty());
}

TEST_F(MockResolver, RefusesAPodWithoutItsJob) {
  const NodeAdmission admission = admit(pod("fournos-mock-resolve:dev"));
  EXPECT_EQ(admission.answer, NodeAdmission::Answer::Refuse);
  EXPECT_EQ(admission.message, "the mock resolver found no FournosJob ns/j");
}

}  // namespace
}  // namespace athanor::fournos::mock_resolver_test
