// SPDX-License-Identifier: Apache-2.0
// Worlds of one process share what is immutable; a seed plays alike whatever was played before it
// or beside it.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "sim/scenes/scenes.hpp"
#include "simulation/world.hpp"

namespace athanor::sim {
namespace {

std::vector<std::string> journal(Scene scene, const Faults& faults, std::uint64_t seed) {
  scene.faults = faults;
  scene.record = true;
  World world(std::move(scene), seed);
  const Outcome outcome = world.run();
  EXPECT_EQ(outcome.failure, std::nullopt);
  return world.trace();
}

std::vector<std::string> main_job(std::uint64_t seed) {
  return journal(three_jobs(), laptop_storm(), seed);
}

TEST(SharedState, ASeedPlaysAlikeFirstAndLater) {
  const std::vector<std::string> first = main_job(5);
  ASSERT_FALSE(first.empty());
  for (const std::uint64_t other : {6U, 7U}) {
    EXPECT_NE(main_job(other), first);
  }
  static_cast<void>(journal(hearth_scene(), stormy(), 3));
  EXPECT_EQ(main_job(5), first);
}

TEST(SharedState, ASeedPlaysAlikeOnSeveralThreads) {
  constexpr std::uint64_t kSeeds = 3;
  std::array<std::vector<std::string>, 2 * kSeeds> journals{};
  std::vector<std::thread> threads;
  threads.reserve(journals.size());
  for (std::size_t i = 0; i < journals.size(); ++i) {
    threads.emplace_back([&journals, i] { journals.at(i) = main_job(20 + i % kSeeds); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (std::size_t i = 0; i < kSeeds; ++i) {
    EXPECT_EQ(journals.at(i), journals.at(i + kSeeds));
    EXPECT_EQ(journals.at(i), main_job(20 + i));
  }
}

Tally tally_of(const Play& play, std::uint64_t seed) {
  Tally tally;
  const auto finding = check_seed(play, seed, &tally);
  EXPECT_EQ(finding ? finding->text : "", "");
  return tally;
}

// The first of them also makes the run without faults; later seeds compare with that one.
TEST(SharedState, SharesFaultlessRunBetweenSeeds) {
  const Play& play = *play_named("tekton");
  const std::uint64_t kStormOnly = plays().size() * 4;  // the turn of a property it does not have
  const Tally first = tally_of(play, kStormOnly);
  EXPECT_EQ(first.runs, 2U);
  const Tally later = tally_of(play, kStormOnly + 1);
  EXPECT_EQ(later.runs, 1U);
  const Tally again = tally_of(play, kStormOnly);
  EXPECT_EQ(again.runs, 1U);
  EXPECT_EQ(again.faults, first.faults);
}

}  // namespace
}  // namespace athanor::sim
