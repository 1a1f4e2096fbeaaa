// SPDX-License-Identifier: Apache-2.0
// What would fit on a fleet, and which pods would have to move.
#include "systems/das/gpus/fleet.hpp"
#include "systems/das/makers/vendor.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace athanor::das::fleet_test {
namespace {

Object accelerator(const std::string& node, int gpus) {
  return Object(Value::object(
      {{"metadata", Value::object({{"name", node}})},
       {"status",
        Value::object(
            {{"nodeResources", emulated_resources(node, {find_model(kDefaultModel), gpus})}})}}));
}

Object claim(const std::string& pod, const std::string& node, int gpu, const std::string& profile,
             int start, int size) {
  return Object(Value::object(
      {{"metadata", Value::object({{"name", pod + "-claim"}})},
       {"spec", Value::object({{"profile", profile},
                               {"gpuUUID", emulated_uuid(node, gpu)},
                               {"nodename", node},
                               {"migPlacement", Value::object({{"start", start}, {"size", size}})},
                               {"podRef", Value::object({{"namespace", "a"},
                                                         {"name", pod},
                                                         {"uid", pod + "-uid"}})}})}}));
}

std::vector<std::string> times(int count, const std::string& profile) {
  return std::vector<std::string>(static_cast<std::size_t>(count), profile);
}

TEST(Fleet, PlacesOnePodAfterTheOther) {
  const Object nodes[] = {accelerator("n1", 2)};
  std::vector<FleetNode> fleet = read_fleet(nodes, {});
  EXPECT_EQ(place_each(fleet, times(5, "3g.20gb"), {}).size(), 4U);
  EXPECT_TRUE(place_each(fleet, times(1, "3g.20gb"), {}).empty()) << "the fleet is full now";
}

// As the scheduler scores nodes (docs/spec/das.md 6.4, 6.6).
TEST(Fleet, SpreadsPodsOverNodesOrPacksThem) {
  const Object nodes[] = {accelerator("n1", 1), accelerator("n2", 1)};
  const auto nodes_of = [&](NodeScoring scoring) {
    std::vector<FleetNode> fleet = read_fleet(nodes, {});
    std::string names;
    for (const Spot& spot : place_each(fleet, times(3, "2g.10gb"), {}, scoring)) {
      names += spot.node + " ";
    }
    return names;
  };
  EXPECT_EQ(nodes_of(NodeScoring::Spread), "n1 n2 n1 ");
  EXPECT_EQ(nodes_of(NodeScoring::Pack), "n1 n1 n1 ");
}

TEST(Fleet, PutsNoSliceOnASharedGpu) {
  Value body = accelerator("n1", 2).body();
  body.member("status")
      .member("nodeResources")
      .member("nodeGpus")
      .item(0)
      .set("sharing", Value::object({{"mode", "mps"}, {"unitGb", 10}}));
  const Object nodes[] = {Object(std::move(body))};
  std::vector<FleetNode> fleet = read_fleet(nodes, {});
  EXPECT_EQ(place_each(fleet, times(5, "3g.20gb"), {}).size(), 2U);
}

TEST(Fleet, CountsGpusAsTheirNodeDoes) {
  Value body = accelerator("n1", 2).body();
  Value& gpus = body.member("status").member("nodeResources").member("nodeGpus");
  gpus.item(0).set("index", 3);
  gpus.item(0).set("foreign", Value::list({Value::object({{"start", 0}, {"size", 4}})}));
  gpus.item(1).set("index", 5);
  const Object nodes[] = {Object(std::move(body))};
  std::vector<FleetNode> fleet = read_fleet(nodes, {});
  std::string numbers;
  for (const Spot& spot : place_each(fleet, times(5, "3g.20gb"), {})) {
    numbers += std::to_string(spot.number) + "/" + std::to_string(spot.place.start) + " ";
  }
  EXPECT_EQ(numbers, "3/4 5/0 5/4 ");
}

TEST(Fleet, MovesAPodToEmptyItsGpu) {
  const Object nodes[] = {accelerator("n1", 2)};
  const Object claims[] = {claim("one", "n1", 0, "1g.5gb", 0, 1),
                           claim("two", "n1", 1, "2g.10gb", 0, 2)};
  const std::vector<FleetNode> fleet = read_fleet(nodes, claims);
  const Key one[] = {{"a", "one"}};
  const std::vector<Move> moves = propose_moves(fleet, one, {}, 5, {});
  ASSERT_EQ(moves.size(), 1U);
  EXPECT_EQ(moves[0].pod, one[0]);
  EXPECT_EQ(moves[0].to.at(0).gpu, 1U);
  EXPECT_EQ(moves[0].to.at(0).place.start, 2);
  EXPECT_TRUE(propose_moves(fleet, {}, {}, 5, {}).empty()) << "nobody may be moved";
}

TEST(Fleet, MakesRoomForAWaitingPod) {
  const Object nodes[] = {accelerator("n1", 1), accelerator("n2", 1)};
  const Object claims[] = {claim("one", "n1", 0, "1g.5gb", 0, 1),
                           claim("two", "n2", 0, "1g.5gb", 0, 1)};
  const std::vector<FleetNode> fleet = read_fleet(nodes, claims);
  const Key two[] = {{"a", "two"}};
  const std::vector<std::string> wanted = {"7g.40gb"};
  const std::vector<Move> moves = propose_moves(fleet, two, wanted, 5, {});
  ASSERT_EQ(moves.size(), 1U);
  EXPECT_EQ(moves[0].from.at(0).node, "n2");
  EXPECT_EQ(moves[0].to.at(0).node, "n1");
  EXPECT_TRUE(propose_moves(fleet, two, wanted, 0, {}).empty());
}

TEST(Fleet, LeavesOutClaimsOnUnknownGpus) {
  const Object nodes[] = {accelerator("n1", 1)};
  const Object claims[] = {claim("lost", "gone", 0, "1g.5gb", 0, 1),
                           claim("wild", "n1", 7, "1g.5gb", 0, 1)};
  EXPECT_TRUE(read_fleet(nodes, claims).at(0).claims.empty());
}

}  // namespace
}  // namespace athanor::das::fleet_test
