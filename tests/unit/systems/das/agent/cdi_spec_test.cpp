// SPDX-License-Identifier: Apache-2.0
// CDI files (docs/spec/das.md 8.5, 8.7).
#include "systems/das/agent/cdi_spec.hpp"

#include <gtest/gtest.h>

#include "kube/text/json.hpp"

namespace athanor::das::cdi_spec_test {
namespace {

Value claim() {
  return Value::object(
      {{"kind", "AllocationClaim"}, {"metadata", Value::object({{"name", "a"}, {"uid", "u"}})}});
}

CdiSpec spec() {
  return {.profile = "1g.5gb+me",
          .id = "11111111-2222-5333-8444-555555555555",
          .claims = {claim()},
          .env = {"NVIDIA_VISIBLE_DEVICES=MIG-1", "CUDA_VISIBLE_DEVICES=0"},
          .poststop = true};
}

TEST(CdiSpec, PrintsAsTheContractSays) {
  EXPECT_EQ(
      print_cdi(spec(), "/var/run/cdi"),
      R"({"cdiVersion":"0.8.0","kind":"mig.das.com/c1g.5gb-plus-me","devices":[{"name":"11111111-2222-5333-8444-555555555555",)"
      R"("annotations":{"mig.das.com/allocation":"[{\"kind\":\"AllocationClaim\",\"metadata\":{\"name\":\"a\",\"uid\":\"u\"}}]"},)"
      R"("containerEdits":{"env":["NVIDIA_VISIBLE_DEVICES=MIG-1","CUDA_VISIBLE_DEVICES=0"],)"
      R"("hooks":[{"hookName":"poststop","path":"/bin/rm","args":["-f","/var/run/cdi/c1g.5gb-plus-me_11111111-2222-5333-8444-555555555555.cdi.json"]}]}}],)"
      R"("containerEdits":{}})");
}

TEST(CdiSpec, ReadsItsOwnOutput) {
  const auto read = parse_cdi(print_cdi(spec(), "/var/run/cdi"));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->profile, "1g.5gb+me");
  EXPECT_EQ(read->id, spec().id);
  EXPECT_EQ(read->env, spec().env);
  EXPECT_TRUE(read->poststop);
  ASSERT_EQ(read->claims.size(), 1U);
  EXPECT_EQ(read->claims[0], claim());
  EXPECT_EQ(read->device(), "mig.das.com/c1g.5gb-plus-me=" + spec().id);
}

// A restart of the agent must not forget which devices the kubelet got.
TEST(CdiSpec, KeepsTheKubeletsDevices) {
  CdiSpec held = spec();
  held.ids = {"1g.5gb+me-0", "1g.5gb+me-3"};
  const auto read = parse_cdi(print_cdi(held, "/var/run/cdi"));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->ids, held.ids);
  EXPECT_TRUE(parse_cdi(print_cdi(spec(), "/var/run/cdi"))->ids.empty());
}

TEST(CdiSpec, WithoutClaimsHasNoAnnotation) {
  CdiSpec bare = spec();
  bare.claims.clear();
  bare.poststop = false;
  const std::string text = print_cdi(bare, "/var/run/cdi");
  EXPECT_EQ(text.find("annotations"), std::string::npos);
  EXPECT_EQ(text.find("hooks"), std::string::npos);
}

TEST(CdiSpec, RefusesForeignFiles) {
  const std::string good = print_cdi(spec(), "/var/run/cdi");
  for (std::size_t cut = 0; cut < good.size(); cut += 7) {
    EXPECT_FALSE(parse_cdi(good.substr(0, cut)).has_value()) << cut;
  }
  EXPECT_FALSE(parse_cdi("[]").has_value());
  EXPECT_FALSE(parse_cdi(R"({"kind":"nvidia.com/gpu","devices":[{"name":"0"}]})").has_value());
  EXPECT_FALSE(parse_cdi(R"({"kind":"mig.das.com/cfoo","devices":[{"name":"0"}]})").has_value());
  EXPECT_FALSE(parse_cdi(R"({"kind":"mig.das.com/c1g.5gb","devices":[]})").has_value());
  EXPECT_FALSE(parse_cdi(R"({"kind":"mig.das.com/c1g.5gb","devices":[{"name":"../../etc/x"}]})")
                   .has_value());
}

TEST(CdiSpec, OfSharesHasTheirResourceAndMounts) {
  CdiSpec share{.profile = "mps.das.com/gpu-10gb",
                .id = "1",
                .claims = {claim()},
                .env = {"CUDA_MPS_PIPE_DIRECTORY=/p"},
                .mounts = {{.host = "/state/p", .container = "/p"}}};
  EXPECT_EQ(share.device(), "mps.das.com/gpu-10gb=1");
  EXPECT_EQ(share.file_name(), "mps.das.com-gpu-10gb_1.cdi.json");
  EXPECT_TRUE(is_cdi_file(share.file_name()));
  const std::string text = print_cdi(share, "/var/run/cdi");
  EXPECT_NE(text.find(R"("mounts":[{"hostPath":"/state/p","containerPath":"/p","options":)"
                      R"(["rw","nosuid","nodev","bind"]}])"),
            std::string::npos)
      << text;
  const auto read = parse_cdi(text);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->profile, share.profile);
  EXPECT_EQ(read->mounts, share.mounts);
  EXPECT_FALSE(is_cdi_file("other.com-gpu_1.cdi.json"));
  EXPECT_FALSE(parse_cdi(R"({"kind":"mps.das.com/../x","devices":[{"name":"0"}]})").has_value());
}

TEST(CdiSpec, KnowsItsFilesByName) {
  EXPECT_TRUE(is_cdi_file("c1g.5gb_1.cdi.json"));
  EXPECT_TRUE(is_cdi_file("c1g.5gb-plus-me_1.cdi.json"));
  EXPECT_FALSE(is_cdi_file("spec.c1g.5gb_1.cdi.json.tmp"));
  EXPECT_FALSE(is_cdi_file("nvidia.yaml"));
  EXPECT_FALSE(is_cdi_file("cfoo_1.cdi.json"));
}

TEST(SliceEnvironment, ListsNamesAndIndexes) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(slice_environment({"test", "test"}, "index"),
            (Words{"NVIDIA_VISIBLE_DEVICES=test,test", "CUDA_VISIBLE_DEVICES=0,1"}));
  EXPECT_EQ(slice_environment({"MIG-a"}, "same"),
            (Words{"NVIDIA_VISIBLE_DEVICES=MIG-a", "CUDA_VISIBLE_DEVICES=MIG-a"}));
  EXPECT_EQ(slice_environment({}, "index"),
            (Words{"NVIDIA_VISIBLE_DEVICES=test", "CUDA_VISIBLE_DEVICES=test"}));
}

}  // namespace
}  // namespace athanor::das::cdi_spec_test
