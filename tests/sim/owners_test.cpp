// SPDX-License-Identifier: Apache-2.0
// Two owners of one object: the world comes to rest, one of them wins, the other says so.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "sim/scenes/owners.hpp"
#include "sim/seeds.hpp"

namespace athanor::sim {
namespace {

class Owners : public testing::TestWithParam<std::size_t> {};

TEST_P(Owners, ComeToRest) {
  const Pair& pair = pairs()[GetParam()];
  for_each_seed(1, [&](std::uint64_t seed) { return check_pair(pair, seed); });
}

INSTANTIATE_TEST_SUITE_P(Pairs, Owners, testing::Range<std::size_t>(0, pairs().size()),
                         [](const auto& pair) {
                           std::string name =
                               pairs()[pair.param].file + "_" + pairs()[pair.param].name;
                           std::ranges::replace_if(
                               name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

// Whether this part of a pair's end is a condition, or an Event about one of the two.
bool is_said(const Value& part) {
  return part["event"].is_object() || !part["status"]["conditions"].items().empty() ||
         !part["status"]["message"].as_string().empty();
}

// The one that does not win says so, or the pair says why nothing is to be said.
TEST(Owners, ReportTheOtherOne) {
  for (const Pair& pair : pairs()) {
    EXPECT_NE(std::ranges::any_of(pair.holds, is_said), !pair.silent.empty())
        << pair.file << ": " << pair.name
        << ": `holds` wants a condition, a message or an Event, or `silent` a reason";
  }
}

// A new controller has a pair of owners, or a reason why it cannot have one.
TEST(Owners, CoverEveryController) {
  std::set<std::string> covered;
  for (const Pair& pair : pairs()) {
    EXPECT_EQ(pair.rivals.size(), 2U) << pair.file << ": " << pair.name;
    covered.insert(pair.operators.begin(), pair.operators.end());
  }
  const std::vector<std::string> all = lab_controllers();
  for (const std::string& name : all) {
    const bool excused = alone().contains(name);
    EXPECT_NE(covered.contains(name), excused)
        << name << ": wants a pair of owners in tests/sim/owners, or a reason in its alone.yaml";
  }
  for (const auto& [name, reason] : alone()) {
    EXPECT_FALSE(reason.empty()) << name;
    EXPECT_TRUE(std::ranges::binary_search(all, name)) << "no controller is named " << name;
  }
  for (const std::string& name : covered) {
    EXPECT_TRUE(std::ranges::binary_search(all, name)) << "no controller is named " << name;
  }
}

}  // namespace
}  // namespace athanor::sim
