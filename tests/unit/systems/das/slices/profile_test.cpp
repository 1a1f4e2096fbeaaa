// SPDX-License-Identifier: Apache-2.0
// Names of profiles and resources (docs/spec/das.md 4.4, 4.5, W-B2).
#include "systems/das/slices/profile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "systems/das/slices/tables.hpp"

namespace athanor::das::profile_test {
namespace {

TEST(Profile, DerivedFromNvml) {
  const auto derive = [](std::int64_t total, std::int64_t memory, int compute, int gi) {
    return derive_profile(
        {.compute = compute, .memory_mib = memory, .gpu_total_mib = total, .gi_profile = gi});
  };
  EXPECT_EQ(derive(40960, 4864, 1, 0), "1g.5gb");
  EXPECT_EQ(derive(40960, 9856, 2, 1), "2g.10gb");
  EXPECT_EQ(derive(40960, 19968, 3, 2), "3g.20gb");
  EXPECT_EQ(derive(40960, 40192, 7, 4), "7g.40gb");
  EXPECT_EQ(derive(24576, 5836, 1, 0), "1g.6gb");
  EXPECT_EQ(derive(81559, 9984, 1, 0), "1g.10gb");
  EXPECT_EQ(derive(143771, 16384, 1, 0), "1g.18gb");
  EXPECT_EQ(derive(143771, 33280, 2, 1), "2g.35gb");
  EXPECT_EQ(derive(143771, 69888, 3, 2), "3g.71gb");
  EXPECT_EQ(derive(97871, 22400, 2, 1), "2g.24gb");
  EXPECT_EQ(derive(95830, 47488, 3, 2), "3g.47gb");
  EXPECT_EQ(derive(40960, 4864, 1, 7), "1g.5gb+me");
  EXPECT_EQ(derive(24576, 11672, 2, 8), "2g.12gb+me");
  EXPECT_EQ(derive_profile({.compute = 2,
                            .compute_instance = 1,
                            .memory_mib = 9856,
                            .gpu_total_mib = 40960,
                            .gi_profile = 1}),
            "1c.2g.10gb");
}

// As an H200 with driver 580.159.04 reports its profiles.
TEST(Profile, OfAnH200AreThoseOfItsTable) {
  struct Reported {
    int gi = 0;
    int compute = 0;
    int most = 0;
    std::int64_t memory = 0;
    int size = 0;
    std::vector<int> starts{};
  };
  const Reported all[] = {{0, 1, 7, 16384, 1, {0, 1, 2, 3, 4, 5, 6}},
                          {1, 2, 3, 33280, 2, {0, 2, 4}},
                          {2, 3, 2, 71424, 4, {0, 4}},
                          {3, 4, 1, 71424, 4, {0}},
                          {4, 7, 1, 143360, 8, {0}},
                          {7, 1, 1, 16384, 1, {0, 1, 2, 3, 4, 5, 6}},
                          {9, 1, 4, 33280, 2, {0, 2, 4, 6}}};
  const auto models = gpu_models();
  const auto model = std::ranges::find(models, "H200", &GpuModel::key);
  ASSERT_NE(model, models.end());
  ASSERT_EQ(model->table.profiles.size(), std::size(all));
  for (const Reported& one : all) {
    const std::string name = derive_profile({.compute = one.compute,
                                             .memory_mib = one.memory,
                                             .gpu_total_mib = 143771,
                                             .gi_profile = one.gi});
    const int index = model->table.find(name);
    ASSERT_GE(index, 0) << name;
    const MigProfile& known = model->table.profiles[static_cast<std::size_t>(index)];
    EXPECT_EQ(known.most, one.most) << name;
    EXPECT_EQ(known.size, one.size) << name;
    EXPECT_EQ(known.starts, one.starts) << name;
    EXPECT_EQ(known.compute, one.compute) << name;
  }
}

TEST(Profile, ResourceNames) {
  EXPECT_EQ(resource_of("1g.5gb"), "mig.das.com/1g.5gb");
  EXPECT_EQ(resource_of("1g.5gb+me"), "mig.das.com/1g.5gb-plus-me");
  EXPECT_EQ(resource_of("1g.24gb-me"), "mig.das.com/1g.24gb-me");
  EXPECT_EQ(socket_of("1g.5gb+me"), "mig.das.com_1g.5gb-plus-me.sock");
  EXPECT_EQ(cdi_kind_of("1g.5gb+me"), "mig.das.com/c1g.5gb-plus-me");
  EXPECT_EQ(cdi_kind_of("ts.das.com/3g.20gb"), "ts.das.com/c3g.20gb");
  EXPECT_EQ(cdi_class_of("ts.das.com/3g.20gb"), "ts.das.com-c3g.20gb");
  for (const char* resource : {"ts.das.com/3g.20gb", "mps.das.com/gpu-10gb", "amd.das.com/cpx"}) {
    EXPECT_EQ(resource_of_kind(cdi_kind_of(resource)), resource);
  }
  EXPECT_EQ(encode_profile("1g+2g+3g"), "1g-plus-2g-plus-3g");
  EXPECT_EQ(decode_profile("1g-plus-2g-plus-3g"), "1g+2g+3g");
}

TEST(Profile, ReadFromEverySpelling) {
  EXPECT_EQ(profile_of_resource("nvidia.com/mig-1g.5gb"), "1g.5gb");
  EXPECT_EQ(profile_of_resource("mig.das.com/3g.20gb"), "3g.20gb");
  EXPECT_EQ(profile_of_resource("nvidia.com/mig-1g.5gb.me"), "1g.5gb+me");
  EXPECT_EQ(profile_of_resource("mig.das.com/1g.5gb-plus-me"), "1g.5gb+me");
  EXPECT_EQ(profile_of_resource("mig.das.com/1g.5gb.me"), "1g.5gb+me");
  EXPECT_EQ(profile_of_resource("nvidia.com/mig-1g.24gb.me.all"), "1g.24gb+me.all");
  EXPECT_EQ(profile_of_resource("nvidia.com/mig-1g.24gb.gfx"), "1g.24gb+gfx");
  EXPECT_EQ(profile_of_resource("mig.das.com/1g.24gb-me"), "1g.24gb-me");
  for (const char* other :
       {"nvidia.com/gpu", "mig.das.com/gpu", "nvidia.com/mig-foo", "nvidia.com/mig-1g.5gb.you",
        "nvidia.com/mig-01g.5gb", "nvidia.com/mig-99999g.5gb", "nvidia.com/mig-", "cpu"}) {
    EXPECT_FALSE(profile_of_resource(other)) << other;
  }
}

}  // namespace
}  // namespace athanor::das::profile_test
