// SPDX-License-Identifier: Apache-2.0
// The placement engine (docs/spec/das.md 6.3, 6.6, S-B7, S-B8, S-B12, S-B14).
#include "systems/das/slices/placement.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/model/settings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace athanor::das::placement_test {
namespace {

const MigTable& a100() {
  return find_model(kDefaultModel)->table;
}

std::vector<GpuSlots> empty_gpus(std::size_t count, const MigTable& table = a100()) {
  return std::vector<GpuSlots>(count, GpuSlots{.table = &table});
}

// "0:0 0:2": GPU and start of each slice, or "none".
std::string text(const std::optional<std::vector<PlacedSlice>>& placed) {
  if (!placed) {
    return "none";
  }
  std::string result;
  for (const PlacedSlice& slice : *placed) {
    result +=
        (result.empty() ? "" : " ") + std::to_string(slice.gpu) + ":" + std::to_string(slice.start);
  }
  return result;
}

std::string place_text(std::vector<GpuSlots> gpus, const std::vector<std::string>& profiles,
                       const PlacementOptions& options = {}) {
  return text(place(gpus, profiles, options));
}

TEST(FirstFit, TakesFirstLegalStartOnFirstGpu) {
  EXPECT_EQ(place_text(empty_gpus(2), {"1g.5gb"}), "0:0");
  EXPECT_EQ(place_text(empty_gpus(2), {"1g.5gb", "2g.10gb"}), "0:0 0:2");
  EXPECT_EQ(place_text(empty_gpus(2), {"7g.40gb", "7g.40gb"}), "0:0 1:0");
  EXPECT_EQ(place_text(empty_gpus(2), {"7g.40gb", "7g.40gb", "1g.5gb"}), "none");
  EXPECT_EQ(place_text(empty_gpus(1), {"1g.5gb+me", "1g.5gb+me"}), "none");
  EXPECT_EQ(place_text(empty_gpus(2), {"1g.5gb+me", "1g.5gb+me"}), "0:0 1:0");
  EXPECT_EQ(place_text(empty_gpus(2), {"9g.90gb"}), "none");
  EXPECT_EQ(place_text({}, {"1g.5gb"}), "none");
  EXPECT_EQ(place_text(empty_gpus(1), {}), "");
}

TEST(FirstFit, GpuOrder) {
  auto gpus = empty_gpus(3);
  gpus[0].occupancy.take(a100().find("1g.5gb"), 0, a100());
  gpus[2].occupancy.take(a100().find("3g.20gb"), 0, a100());
  EXPECT_EQ(place_text(gpus, {"1g.5gb"}), "0:1");
  EXPECT_EQ(place_text(gpus, {"1g.5gb"}, {.order = GpuOrder::Emptiest}), "1:0");
  EXPECT_EQ(place_text(gpus, {"1g.5gb"}, {.order = GpuOrder::Fullest}), "2:4");
  EXPECT_EQ(place_text(empty_gpus(2), {"1g.5gb", "1g.5gb"}, {.order = GpuOrder::Emptiest}),
            "0:0 1:0");
}

TEST(Placement, ClosedGpusAreNotOffered) {
  auto gpus = empty_gpus(2);
  gpus[0].open = false;
  EXPECT_EQ(place_text(gpus, {"1g.5gb"}), "1:0");
  EXPECT_EQ(place_text(gpus, {"1g.5gb"}, {.policy = PlacementPolicy::FragMin}), "1:6");
  EXPECT_EQ(place_text(gpus, {"4g.20gb", "4g.20gb"}), "none");
}

TEST(Placement, MixedModelsUseTheirOwnTables) {
  std::vector<GpuSlots> gpus{{.table = &find_model("A30")->table}, {.table = &a100()}};
  EXPECT_EQ(place_text(gpus, {"2g.10gb", "2g.12gb"}), "1:0 0:0");
  EXPECT_EQ(place_text(gpus, {"4g.24gb", "1g.6gb"}), "none");
}

TEST(Placement, SameGpuKeepsSlicesTogether) {
  auto gpus = empty_gpus(2);
  gpus[0].occupancy.take(a100().find("4g.20gb"), 0, a100());
  const std::vector<std::string> wanted{"1g.5gb", "1g.5gb", "1g.5gb", "1g.5gb"};
  EXPECT_EQ(place_text(gpus, wanted), "0:4 0:5 0:6 1:0");
  EXPECT_EQ(place_text(gpus, wanted, {.same_gpu = true}), "1:0 1:1 1:2 1:3");
  EXPECT_EQ(place_text(gpus, {"7g.40gb", "1g.5gb"}, {.same_gpu = true}), "none");
}

TEST(FragMin, KeepsRoomForLargeSlices) {
  const PlacementOptions options{.policy = PlacementPolicy::FragMin};
  EXPECT_EQ(place_text(empty_gpus(1), {"1g.5gb"}, options), "0:6");
  EXPECT_EQ(place_text(empty_gpus(1), {"2g.10gb"}, options), "0:4");
  EXPECT_EQ(place_text(empty_gpus(1), {"3g.20gb"}, options), "0:4");
  // A GPU in use is filled before an idle one is broken up.
  auto gpus = empty_gpus(2);
  gpus[1].occupancy.take(a100().find("1g.5gb"), 6, a100());
  EXPECT_EQ(place_text(gpus, {"1g.5gb"}, options), "1:4");
}

TEST(Placement, FindsAnotherArrangementWhenRequestOrderFails) {
  // docs/spec/das.md S-B14: first fit takes slots 0-1 and then finds five starts only.
  EXPECT_EQ(place_text(empty_gpus(1),
                       {"1g.10gb", "1g.5gb", "1g.5gb", "1g.5gb", "1g.5gb", "1g.5gb", "1g.5gb"}),
            "0:6 0:0 0:1 0:2 0:3 0:4 0:5");
}

// Calls `check` with every multiset of up to seven slices and whether it is legal.
template <class Check>
void each_multiset(const Check& check) {
  std::set<std::vector<int>> legal;
  Occupancy occupancy;
  std::vector<int> counts(a100().profiles.size());
  const auto ordered = [&](auto& self, int profile, std::size_t from) -> void {
    if (profile == static_cast<int>(a100().profiles.size())) {
      legal.insert(counts);
      return;
    }
    const auto& starts = a100().profiles[static_cast<std::size_t>(profile)].starts;
    for (std::size_t at = from; at < starts.size(); ++at) {
      if (fits_at(a100(), occupancy, profile, starts[at])) {
        occupancy.take(profile, starts[at], a100());
        ++counts[static_cast<std::size_t>(profile)];
        self(self, profile, at + 1);
        --counts[static_cast<std::size_t>(profile)];
        occupancy.release(profile, starts[at], a100());
      }
    }
    self(self, profile + 1, 0);
  };
  ordered(ordered, 0, 0);
  ASSERT_EQ(legal.size(), 128U);
  for (const std::vector<int>& one : legal) {
    check(one, true);
    for (std::size_t p = 0; p < one.size(); ++p) {
      std::vector<int> more = one;
      ++more[p];
      if (!legal.contains(more)) {
        check(more, false);
      }
    }
  }
}

std::vector<std::string> requests_of(const std::vector<int>& counts) {
  std::vector<std::string> requests;
  for (std::size_t p = 0; p < counts.size(); ++p) {
    requests.insert(requests.end(), static_cast<std::size_t>(counts[p]), a100().profiles[p].name);
  }
  return requests;
}

TEST(Placement, AcceptsEveryLegalMultisetAndNoOther) {
  for (const PlacementPolicy policy : {PlacementPolicy::FirstFit, PlacementPolicy::FragMin}) {
    each_multiset([&](const std::vector<int>& counts, bool legal) {
      std::vector<std::string> requests = requests_of(counts);
      do {
        const auto placed = place(empty_gpus(1), requests, {.policy = policy});
        EXPECT_EQ(placed.has_value(), legal) << testing::PrintToString(requests);
        if (placed) {
          std::vector<Slice> slices;
          for (std::size_t i = 0; i < requests.size(); ++i) {
            slices.push_back({a100().find(requests[i]), (*placed)[i].start});
          }
          EXPECT_TRUE(is_legal(a100(), slices)) << testing::PrintToString(requests);
        }
        // The reverse order, too.
        std::ranges::reverse(requests);
      } while (requests.size() > 1 && requests != requests_of(counts));
    });
  }
}

TEST(Placement, SearchSpreadsOverGpus) {
  auto gpus = empty_gpus(2);
  // Slots 0-3 of both are taken; the request order would leave no 3g.
  gpus[0].occupancy.take(a100().find("4g.20gb"), 0, a100());
  gpus[1].occupancy.take(a100().find("4g.20gb"), 0, a100());
  EXPECT_EQ(place_text(gpus, {"1g.5gb", "3g.20gb"}), "0:4 1:4");
  EXPECT_EQ(place_text(gpus, {"1g.5gb", "3g.20gb", "3g.20gb"}), "none");
  // More slices than any arrangement could hold end quickly.
  EXPECT_EQ(place_text(empty_gpus(64), std::vector<std::string>(500, "1g.5gb")), "none");
}

TEST(Score, SpreadIsTheFreeShare) {
  auto gpus = empty_gpus(2);
  EXPECT_EQ(spread_score(gpus), 100);
  gpus[0].occupancy.take(a100().find("1g.5gb"), 0, a100());
  EXPECT_EQ(spread_score(gpus), 93);
  EXPECT_EQ(spread_score({}), 0);
}

TEST(Placement, TakesWeightsFromTheSettings) {
  const auto settings =
      parse_settings({{"DAS_PROFILE_WEIGHTS", "1g.5gb=0.5,1g.5gb.me=2,7g.40gb=0"}});
  ASSERT_TRUE(settings.ok()) << settings.error().message;
  const PlacementOptions options = settings->placement();
  EXPECT_EQ(options.weights, (std::map<std::string, double, std::less<>>{
                                 {"1g.5gb", 0.5}, {"1g.5gb+me", 2}, {"7g.40gb", 0}}));
  EXPECT_EQ(settings->weights_text(), R"({"1g.5gb":0.5,"1g.5gb+me":2,"7g.40gb":0})");
  EXPECT_EQ(Settings().weights_text(), "{}");
  for (const char* wrong : {"1g.5gb", "1g.5gb=", "1g.5gb=-1", "1g.5gb=nan", "1g.5gb=inf", "gpu=1",
                            "1g.5gb=1,1g.5gb=2", "1g.5gb=1;2g.10gb=1", ",1g.5gb=1"}) {
    EXPECT_FALSE(parse_settings({{"DAS_PROFILE_WEIGHTS", wrong}}).ok()) << wrong;
  }
}

}  // namespace
}  // namespace athanor::das::placement_test
