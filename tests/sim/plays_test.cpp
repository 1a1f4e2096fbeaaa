// SPDX-License-Identifier: Apache-2.0
// A few seeds of every scene (scripts/sim plays thousands), and of each way to judge them.
#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "sim/scenes/scenes.hpp"
#include "sim/seeds.hpp"

namespace athanor::sim {
namespace {

class Plays : public testing::TestWithParam<std::size_t> {};

TEST_P(Plays, FaultsChangeNothing) {
  const Play& play = plays()[GetParam()];
  const std::uint64_t seeds = play.name == "small" ? 60 : play.storm.agent_crash > 0 ? 1 : 3;
  for_each_seed(seeds, [&](std::uint64_t seed) {
    const auto finding = check_seed(play, seed, nullptr);
    return finding ? std::optional(finding->text + "\nfaults: " + to_text(finding->faults))
                   : std::nullopt;
  });
}

INSTANTIATE_TEST_SUITE_P(Scenes, Plays, testing::Range<std::size_t>(0, plays().size()),
                         [](const auto& play) {
                           std::string name = plays()[play.param].name;
                           std::erase(name, '-');
                           return name;
                         });

// A share of the chances: first, then every kShares-th, so that the shares run side by side and
// together leave none out.
class Singles : public testing::TestWithParam<std::uint64_t> {};
constexpr std::uint64_t kShares = 16;

TEST_P(Singles, SurviveEveryFaultAtEveryChance) {
  Tally tally;
  const Play& play = *play_named("small");
  Faults storm = play.storm;
  storm.handover = 0;  // one process; a placed hand-over comes with a second one
  Comparison comparison(
      {.make = play.make, .seed = 1, .projection = play.projection, .tally = &tally}, storm);
  const auto finding =
      check_singles(comparison, {.first = GetParam(), .stride = kShares}, &tally, true);
  EXPECT_EQ(finding ? finding->text : "", "");
  // Each write kind was placed at each of this share's chances.
  const auto lost = static_cast<std::size_t>(Fault::WriteLost);
  const std::uint64_t chances = comparison.calm().occasions.at(lost);
  ASSERT_GE(chances, GetParam());
  EXPECT_EQ(tally.faults.at(lost), (chances - GetParam()) / kShares + 1);
  EXPECT_GT(tally.faults.at(static_cast<std::size_t>(Fault::OldCache)), 0U);
}

INSTANTIATE_TEST_SUITE_P(Shares, Singles, testing::Range<std::uint64_t>(1, kShares + 1));

// The death of a pod is what goes wrong here; the other faults of the storm are chaff.
TEST(Minimise, KeepsTheFaultsThatMatterAlone) {
  const Play& play = *play_named("small");
  const auto make = [&] {
    Scene scene = play.make();
    const auto died = std::make_shared<bool>(false);
    scene.kill_pod = [died](World&, std::uint64_t) { *died = true; };
    scene.invariants.push_back(
        {.name = "no pod dies", .check = [died](const World&, std::span<const store::EventPtr>) {
           return *died ? std::optional<std::string>("a pod died") : std::nullopt;
         }});
    return scene;
  };
  Faults storm = play.storm;
  storm.pod_death = 0.2;
  Comparison comparison({.make = make, .seed = 3, .projection = play.projection}, storm);
  const auto finding = comparison.storm();
  ASSERT_TRUE(finding);
  EXPECT_GT(finding->faults.size(), 1U);
  const FaultList fewest = minimised(finding->faults, [&](const FaultList& placed) {
    return comparison.with(placed).has_value();
  });
  ASSERT_EQ(fewest.size(), 1U) << to_text(fewest);
  EXPECT_EQ(fewest[0].kind, Fault::PodDeath);
  // And the list replays it, through its text as well.
  const auto parsed = parse_faults(to_text(fewest));
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(*parsed, fewest);
  EXPECT_TRUE(comparison.with(*parsed));
  EXPECT_FALSE(comparison.with({}));
}

}  // namespace
}  // namespace athanor::sim
