// SPDX-License-Identifier: Apache-2.0
// Slice requests on a fleet, policy beside policy (docs/spec/das.md 16).
#include "simulation/whatif/slice_play.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "systems/das/makers/vendor.hpp"
#include "systems/das/slices/placement.hpp"

namespace athanor::whatif::slice_play_test {
namespace {

SliceFleet fleet(std::size_t nodes, std::size_t gpus) {
  return {.model = das::find_model("A100-PCIE-40GB"), .nodes = nodes, .gpus = gpus};
}

const SliceOutcome& of(const std::vector<SliceOutcome>& outcomes, std::string_view placement,
                       std::string_view order, std::string_view scoring) {
  return *std::ranges::find_if(outcomes, [&](const SliceOutcome& one) {
    return one.placement == placement && one.gpu_order == order && one.scoring == scoring;
  });
}

TEST(SliceTrace, ReadsPodsInOrderOfTime) {
  const auto trace = parse_slice_trace(
      "# pods\nprofile,submit,duration,count\n3g.20gb,10m,1h,\n1g.5gb.me,0,30,2\n", "t.csv");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  ASSERT_EQ(trace->size(), 2U);
  EXPECT_EQ(trace->at(0).profile, "1g.5gb+me");
  EXPECT_EQ(trace->at(0).count, 2);
  EXPECT_EQ(trace->at(0).duration, 30);
  EXPECT_EQ(trace->at(1).submit, 600);
  EXPECT_EQ(trace->at(1).count, 1);
}

TEST(SliceTrace, NamesEveryProblemWithItsLine) {
  const auto wrong = parse_slice_trace(
      "submit,profile,duration,count\nx,1g.5gb,1h,1\n0,big,1h,1\n0,1g.5gb,0,1\n0,1g.5gb,1h,0\n0,1g."
      "5gb\n",
      "t.csv");
  ASSERT_FALSE(wrong.ok());
  for (const char* part :
       {"t.csv:2: submit \"x\"", "t.csv:3: profile \"big\"", "t.csv:4: duration \"0\"",
        "t.csv:5: count \"0\"", "t.csv:6: 2 values, but 4 columns"}) {
    EXPECT_NE(wrong.error().message.find(part), std::string::npos) << wrong.error().message;
  }
  EXPECT_FALSE(parse_slice_trace("", "t.csv").ok());
  EXPECT_FALSE(parse_slice_trace("submit,profile\n0,1g.5gb\n", "t.csv").ok());
  EXPECT_FALSE(parse_slice_trace("submit,profile,duration,owner\n", "t.csv").ok());
}

TEST(SlicePlay, LosesWholeGpuWhereSmallSlicesSpread) {
  const SliceTrace trace{{.submit = 0, .profile = "1g.5gb", .duration = 100},
                         {.submit = 1, .profile = "1g.5gb", .duration = 100},
                         {.submit = 2, .profile = "7g.40gb", .duration = 98}};
  const std::vector<SliceOutcome> outcomes = play_slices(trace, fleet(1, 2));
  EXPECT_EQ(outcomes.size(), 8U);
  EXPECT_EQ(of(outcomes, "firstfit", "listed", "spread").accepted, 3U);
  const SliceOutcome& lost = of(outcomes, "firstfit", "emptiest", "spread");
  EXPECT_EQ(lost.accepted, 2U);
  EXPECT_EQ(lost.rejected.at("7g.40gb"), 1U);
  EXPECT_EQ(lost.gpus_in_use, 2U);
  // One slot of 16 for a second, then two.
  EXPECT_DOUBLE_EQ(lost.utilisation, (1.0 + 2.0) / 2 / 16);
  EXPECT_EQ(of(outcomes, "fragmin", "", "pack").accepted, 3U);
}

TEST(SlicePlay, ReportsProgressOfEachPolicy) {
  const SliceTrace trace(1500, {.submit = 0, .profile = "1g.5gb", .duration = 1});
  std::vector<std::size_t> played;
  std::size_t last = 0;
  play_slices(trace, fleet(1, 1), [&](const SliceProgress& reached) {
    EXPECT_EQ(reached.policies, 8U);
    last = reached.policy;
    played.push_back(reached.played);
  });
  EXPECT_EQ(last, 8U);
  ASSERT_EQ(played.size(), 16U);
  EXPECT_EQ(played[0], 1000U);
  EXPECT_EQ(played[1], 1500U);
}

TEST(SlicePlay, ScoringChoosesTheNode) {
  const SliceTrace trace{{.submit = 0, .profile = "1g.5gb", .duration = 100},
                         {.submit = 1, .profile = "1g.5gb", .duration = 100},
                         {.submit = 2, .profile = "7g.40gb", .duration = 100}};
  const std::vector<SliceOutcome> outcomes = play_slices(trace, fleet(2, 1));
  EXPECT_EQ(of(outcomes, "firstfit", "listed", "spread").accepted, 2U);
  EXPECT_EQ(of(outcomes, "firstfit", "listed", "pack").accepted, 3U);
}

TEST(SlicePlay, EndedSlicesAreFree) {
  const SliceTrace trace{{.submit = 0, .profile = "7g.40gb", .duration = 10},
                         {.submit = 10, .profile = "7g.40gb", .duration = 10},
                         {.submit = 15, .profile = "7g.40gb", .duration = 10}};
  const std::vector<SliceOutcome> outcomes = play_slices(trace, fleet(1, 1));
  EXPECT_EQ(outcomes.front().accepted, 2U);
  EXPECT_DOUBLE_EQ(outcomes.front().utilisation, 1);
}

// One policy, second by second: the account of its own beside the play's events.
SliceOutcome replay(const SliceTrace& trace, const SliceFleet& gpus, const SliceOutcome& policy) {
  struct Live {
    double end = 0;
    std::size_t node = 0;
    std::vector<das::PlacedSlice> slices{};
  };
  const das::MigTable& table = gpus.model->table;
  const das::PlacementOptions options{
      .policy = policy.placement == "fragmin" ? das::PlacementPolicy::FragMin
                                              : das::PlacementPolicy::FirstFit,
      .order = policy.gpu_order == "emptiest"  ? das::GpuOrder::Emptiest
               : policy.gpu_order == "fullest" ? das::GpuOrder::Fullest
                                               : das::GpuOrder::Listed};
  const das::NodeScoring scoring =
      policy.scoring == "pack" ? das::NodeScoring::Pack : das::NodeScoring::Spread;
  std::map<std::string, std::vector<Live>> running;  // by profile
  // The GPUs as they are now, from what runs.
  const auto nodes_now = [&] {
    std::vector<std::vector<das::GpuSlots>> nodes(
        gpus.nodes, std::vector<das::GpuSlots>(gpus.gpus, das::GpuSlots{.table = &table}));
    for (const auto& [profile, all] : running) {
      for (const Live& live : all) {
        for (const das::PlacedSlice& slice : live.slices) {
          nodes[live.node][slice.gpu].occupancy.take(table.find(profile), slice.start, table);
        }
      }
    }
    return nodes;
  };
  SliceOutcome outcome{.requests = trace.size()};
  double used = 0;  // slot seconds
  std::size_t next = 0;
  const double first = trace.front().submit;
  const double last = trace.back().submit;
  for (double now = first; now <= last; now += 1) {
    for (auto& [profile, all] : running) {
      std::erase_if(all, [&](const Live& live) { return live.end <= now; });
    }
    for (; next < trace.size() && trace[next].submit == now; ++next) {
      const SliceSubmission& one = trace[next];
      const std::vector<std::string> wanted(static_cast<std::size_t>(one.count), one.profile);
      const auto nodes = nodes_now();
      Live live{.end = now + one.duration};
      std::int64_t best = -1;
      for (std::size_t node = 0; node < nodes.size(); ++node) {
        const auto placed = das::place(nodes[node], wanted, options);
        const std::int64_t score =
            placed ? das::node_score(nodes[node], wanted, *placed, scoring) : -1;
        if (score > best) {
          best = score;
          live.node = node;
          live.slices = *placed;
        }
      }
      if (best < 0) {
        ++outcome.rejected[one.profile];
        continue;
      }
      ++outcome.accepted;
      running[one.profile].push_back(live);
      std::size_t in_use = 0;
      for (const auto& node : nodes_now()) {
        in_use += static_cast<std::size_t>(std::ranges::count_if(
            node, [](const das::GpuSlots& gpu) { return gpu.occupancy.taken != 0; }));
      }
      outcome.gpus_in_use = std::max(outcome.gpus_in_use, in_use);
    }
    for (const auto& [profile, all] : running) {
      for (const Live& live : all) {
        for (const das::PlacedSlice& slice : live.slices) {
          used += now < last ? slice.size : 0;
        }
      }
    }
  }
  outcome.utilisation =
      used / (last - first) / (table.slots * static_cast<double>(gpus.nodes * gpus.gpus));
  return outcome;
}

TEST(SlicePlay, EqualsReplaySecondBySecond) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](int limit) {
      return std::uniform_int_distribution<int>(0, limit - 1)(random);
    };
    const char* profiles[] = {"1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"};
    SliceTrace trace;
    int at = 0;
    for (int i = 0; i < 60; ++i) {
      at += below(6);
      trace.push_back({.submit = static_cast<double>(at),
                       .profile = profiles[below(6)],
                       .count = 1 + below(2),
                       .duration = static_cast<double>(1 + below(60))});
    }
    const SliceFleet gpus = fleet(2, 2);
    for (const SliceOutcome& shown : play_slices(trace, gpus)) {
      SCOPED_TRACE(std::to_string(seed) + " " + shown.placement + " " + shown.gpu_order + " " +
                   shown.scoring);
      const SliceOutcome own = replay(trace, gpus, shown);
      EXPECT_EQ(shown.requests, own.requests);
      EXPECT_EQ(shown.accepted, own.accepted);
      EXPECT_EQ(shown.rejected, own.rejected);
      EXPECT_EQ(shown.gpus_in_use, own.gpus_in_use);
      EXPECT_NEAR(shown.utilisation, own.utilisation, 1e-9);
    }
  }
}

// The model values of docs/spec/das.md 16.3.
TEST(SlicePlay, MixesReachTheModelValues) {
  const SliceFleet eight = fleet(8, 8);
  const auto trace = trace_of_mix(
      "uniform", {.model = eight.model, .gpus = 64, .requests = 8000, .load = 0.95, .seed = 1});
  ASSERT_TRUE(trace.ok());
  const std::vector<SliceOutcome> outcomes = play_slices(*trace, eight);
  const SliceOutcome& seed = of(outcomes, "firstfit", "listed", "spread");
  EXPECT_NEAR(seed.acceptance(), 0.920, 0.02);
  EXPECT_NEAR(seed.utilisation, 0.774, 0.02);
  EXPECT_GT(of(outcomes, "fragmin", "", "pack").acceptance(), seed.acceptance());
}

TEST(SlicePlay, RefusesSlicesThatNeverFit) {
  const SliceTrace trace{{.profile = "1g.5gb", .count = 8, .duration = 1, .line = 2},
                         {.profile = "1g.6gb", .duration = 1, .line = 3}};
  const auto checked = check_slices(trace, fleet(1, 1), "t.csv");
  ASSERT_FALSE(checked.ok());
  EXPECT_NE(checked.error().message.find("t.csv:2: 8 slices of 1g.5gb fit on no node of 1 GPUs"),
            std::string::npos)
      << checked.error().message;
  EXPECT_NE(checked.error().message.find("t.csv:3: A100-PCIE-40GB has no profile 1g.6gb"),
            std::string::npos);
  EXPECT_TRUE(check_slices(trace, {.model = das::find_model("A30"), .nodes = 1, .gpus = 1}, "t.csv")
                  .error()
                  .message.find("t.csv:3") == std::string::npos);
  EXPECT_FALSE(trace_of_mix("small", {.model = das::find_model("A30"), .gpus = 1}).ok());
  EXPECT_TRUE(
      trace_of_mix("small", {.model = das::find_model("H200"), .gpus = 1, .requests = 1, .load = 1})
          .ok());
}

}  // namespace
}  // namespace athanor::whatif::slice_play_test
