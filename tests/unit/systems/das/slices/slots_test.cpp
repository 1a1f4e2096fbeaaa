// SPDX-License-Identifier: Apache-2.0
// MIG tables and slots (docs/spec/das.md 4): the counts that the specification enumerates.
#include "systems/das/slices/slots.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "systems/das/makers/vendor.hpp"
#include "systems/das/slices/profile.hpp"

namespace athanor::das::slots_test {
namespace {

using Counts = std::vector<int>;

// Every legal layout of one GPU, as sorted (profile, start) pairs; and its multiset.
struct Enumeration {
  std::set<std::vector<std::pair<int, int>>> layouts{};
  std::set<std::vector<std::pair<int, int>>> maximal{};
  std::map<Counts, bool> multisets{};  // value: maximal
};

void walk(const MigTable& table, Occupancy& occupancy, std::vector<std::pair<int, int>>& layout,
          Enumeration& found) {
  std::vector<std::pair<int, int>> sorted = layout;
  std::ranges::sort(sorted);
  if (!found.layouts.insert(sorted).second) {
    return;
  }
  bool extends = false;
  for (int p = 0; p < static_cast<int>(table.profiles.size()); ++p) {
    for (const int start : table.profiles[static_cast<std::size_t>(p)].starts) {
      if (fits_at(table, occupancy, p, start)) {
        extends = true;
        occupancy.take(p, start, table);
        layout.emplace_back(p, start);
        walk(table, occupancy, layout, found);
        layout.pop_back();
        occupancy.release(p, start, table);
      }
    }
  }
  if (!extends) {
    found.maximal.insert(sorted);
  }
}

Enumeration enumerate(const MigTable& table) {
  Enumeration found;
  Occupancy occupancy;
  std::vector<std::pair<int, int>> layout;
  walk(table, occupancy, layout, found);
  for (const auto& one : found.layouts) {
    Counts counts(table.profiles.size());
    for (const auto& [profile, start] : one) {
      ++counts[static_cast<std::size_t>(profile)];
    }
    found.multisets.emplace(counts, true);
  }
  for (auto& [counts, maximal] : found.multisets) {
    for (std::size_t p = 0; p < counts.size(); ++p) {
      Counts more = counts;
      ++more[p];
      maximal = maximal && !found.multisets.contains(more);
    }
  }
  return found;
}

MigTable without(const MigTable& table, const std::vector<std::string>& names) {
  MigTable result = table;
  std::erase_if(result.profiles, [&](const MigProfile& profile) {
    return std::ranges::find(names, profile.name) != names.end();
  });
  return result;
}

std::size_t maximal_multisets(const Enumeration& found) {
  return static_cast<std::size_t>(
      std::ranges::count_if(found.multisets, [](const auto& one) { return one.second; }));
}

struct Row {
  MigTable table{};
  std::size_t layouts = 0, maximal = 0, multisets = 0, maximal_multisets = 0;
};

TEST(MigTables, HaveTheCountsOfTheSpecification) {
  const MigTable& a100 = find_model(kDefaultModel)->table;
  const MigTable& a30 = find_model("A30")->table;
  const Row rows[] = {
      {a100, 2319, 239, 128, 44},
      {without(a100, {"1g.5gb+me"}), 723, 78, 78, 28},
      {without(a100, {"1g.5gb+me", "1g.10gb"}), 298, 19, 38, 12},
      {a30, 84, 21, 22, 9},
      {without(a30, {"1g.6gb+me", "2g.12gb+me"}), 26, 5, 10, 4},
  };
  for (const Row& row : rows) {
    const Enumeration found = enumerate(row.table);
    EXPECT_EQ(found.layouts.size(), row.layouts);
    EXPECT_EQ(found.maximal.size(), row.maximal);
    EXPECT_EQ(found.multisets.size(), row.multisets);
    EXPECT_EQ(maximal_multisets(found), row.maximal_multisets);
  }
}

TEST(MigTables, NameTheProfilesOfEveryProduct) {
  const std::map<std::string, std::string> expected{
      {"A100-PCIE-40GB", "1g.5gb 2g.10gb 3g.20gb 4g.20gb 7g.40gb 1g.5gb+me 1g.10gb"},
      {"A100-SXM4-80GB", "1g.10gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb 1g.10gb+me 1g.20gb"},
      {"H100-80GB-HBM3", "1g.10gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb 1g.10gb+me 1g.20gb"},
      {"H100-NVL", "1g.12gb 2g.24gb 3g.47gb 4g.47gb 7g.94gb 1g.12gb+me 1g.24gb"},
      {"H100-96GB", "1g.12gb 2g.24gb 3g.48gb 4g.48gb 7g.96gb 1g.12gb+me 1g.24gb"},
      {"GH200-144GB", "1g.18gb 2g.36gb 3g.72gb 4g.72gb 7g.144gb 1g.18gb+me 1g.36gb"},
      {"H200", "1g.18gb 2g.35gb 3g.71gb 4g.71gb 7g.141gb 1g.18gb+me 1g.35gb"},
      {"B200", "1g.23gb 2g.45gb 3g.90gb 4g.90gb 7g.180gb 1g.23gb+me 1g.45gb"},
      {"GB200", "1g.23gb 2g.47gb 3g.93gb 4g.93gb 7g.186gb 1g.23gb+me 1g.47gb"},
      {"B300", "1g.34gb 2g.67gb 3g.135gb 4g.135gb 7g.269gb 1g.34gb+me 1g.67gb"},
      {"GB300", "1g.35gb 2g.70gb 3g.139gb 4g.139gb 7g.278gb 1g.35gb+me 1g.70gb"},
      {"A30", "1g.6gb 2g.12gb 4g.24gb 1g.6gb+me 2g.12gb+me"},
      {"RTX-PRO-6000",
       "1g.24gb 2g.48gb 4g.96gb 1g.24gb+me 1g.24gb+gfx 2g.48gb+gfx 4g.96gb+gfx 1g.24gb-me "
       "2g.48gb-me 1g.24gb+me.all 2g.48gb+me.all"},
  };
  ASSERT_EQ(gpu_models().size(), expected.size());
  for (const GpuModel& model : gpu_models()) {
    std::string names;
    for (const MigProfile& profile : model.table.profiles) {
      names += (names.empty() ? "" : " ") + profile.name;
      EXPECT_TRUE(parse_profile(profile.name)) << profile.name;
    }
    EXPECT_EQ(names, expected.at(std::string(model.key))) << model.key;
  }
  EXPECT_EQ(find_model("A100"), nullptr);
}

TEST(Slots, MaskRefusesOutsidePlacements) {
  EXPECT_EQ(mask_of(0, 8), 0xFF);
  EXPECT_EQ(mask_of(6, 2), 0xC0);
  EXPECT_EQ(mask_of(7, 4), 0);
  EXPECT_EQ(mask_of(-1, 1), 0);
  EXPECT_EQ(mask_of(0, 0), 0);
  EXPECT_EQ(mask_of(2'147'483'647, 2'147'483'647), 0);
}

TEST(Slots, RemainingAndFragmentation) {
  const MigTable& table = find_model(kDefaultModel)->table;
  Occupancy occupancy;
  const int small = table.find("1g.5gb");
  const int me = table.find("1g.5gb+me");
  EXPECT_EQ(remaining(table, occupancy, small), 7);
  EXPECT_EQ(remaining(table, occupancy, me), 1);
  EXPECT_EQ(fragmentation(table, occupancy), 0);
  occupancy.take(small, 1, table);
  EXPECT_EQ(remaining(table, occupancy, small), 6);
  EXPECT_EQ(remaining(table, occupancy, table.find("3g.20gb")), 1);
  EXPECT_EQ(remaining(table, occupancy, table.find("4g.20gb")), 0);
  EXPECT_EQ(free_slots(table, occupancy), 7);
  EXPECT_DOUBLE_EQ(fragmentation(table, occupancy), 1.0 - 4.0 / 7);
  occupancy.take(me, 0, table);
  EXPECT_EQ(first_start(table, occupancy, me), -1) << "one +me on each GPU";
}

TEST(Slots, LegalityOfLayouts) {
  const MigTable& table = find_model(kDefaultModel)->table;
  const auto legal = [&](std::vector<std::pair<std::string, int>> slices) {
    std::vector<Slice> list;
    for (const auto& [name, start] : slices) {
      list.push_back({table.find(name), start});
    }
    return is_legal(table, list);
  };
  EXPECT_TRUE(legal({{"3g.20gb", 0}, {"3g.20gb", 4}}));
  EXPECT_TRUE(legal({{"1g.10gb", 6}, {"1g.5gb", 0}}));
  EXPECT_FALSE(legal({{"1g.5gb", 7}}));
  EXPECT_FALSE(legal({{"4g.20gb", 4}}));
  EXPECT_FALSE(legal({{"2g.10gb", 0}, {"1g.5gb", 1}}));
  EXPECT_FALSE(legal({{"1g.5gb+me", 0}, {"1g.5gb+me", 1}}));
  EXPECT_FALSE(legal({{"9g.1gb", 0}}));
}

// docs/spec/das.md 4.3: "+me.all" leaves room only for "-me".
TEST(Slots, AllowsInstancesWithoutMediaBesideAllMediaEngines) {
  const MigTable& table = find_model("RTX-PRO-6000")->table;
  const auto legal = [&](std::vector<std::pair<std::string, int>> slices) {
    std::vector<Slice> list;
    for (const auto& [name, start] : slices) {
      list.push_back({table.find(name), start});
    }
    return is_legal(table, list);
  };
  EXPECT_TRUE(legal({{"1g.24gb+me.all", 0}, {"1g.24gb-me", 1}, {"2g.48gb-me", 2}}));
  EXPECT_TRUE(legal({{"1g.24gb-me", 1}, {"2g.48gb+me.all", 2}}));
  EXPECT_TRUE(legal({{"1g.24gb+me", 0}, {"1g.24gb+gfx", 1}, {"2g.48gb", 2}}));
  for (const char* other : {"1g.24gb", "1g.24gb+me", "1g.24gb+gfx", "1g.24gb+me.all"}) {
    EXPECT_FALSE(legal({{other, 0}, {"2g.48gb+me.all", 2}})) << other;
    EXPECT_FALSE(legal({{"2g.48gb+me.all", 2}, {other, 0}})) << other;
  }
  Occupancy occupancy;
  occupancy.take(table.find("1g.24gb+me.all"), 0, table);
  EXPECT_EQ(remaining(table, occupancy, table.find("1g.24gb")), 0);
  EXPECT_EQ(remaining(table, occupancy, table.find("2g.48gb+me.all")), 0);
  EXPECT_EQ(remaining(table, occupancy, table.find("1g.24gb-me")), 3);
}

// Upstream publishes the GPU instance's number for both, which no compute instance has.
TEST(MigTables, ComputeInstancesHaveNumbersOfTheirOwn) {
  const std::map<int, int> by_slices{{1, 0}, {2, 1}, {3, 2}, {4, 3}, {7, 4}};
  for (const GpuModel& model : gpu_models()) {
    for (const MigProfile& profile : model.table.profiles) {
      EXPECT_EQ(profile.ci_profile, by_slices.at(profile.compute))
          << model.key << " " << profile.name;
    }
  }
}

}  // namespace
}  // namespace athanor::das::slots_test
