// SPDX-License-Identifier: Apache-2.0
// Pairs of owners: worlds in which two objects want one thing of a third (docs/testing.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor::sim {

// Two objects whose controllers write one object, as a file of tests/sim/owners describes them.
struct Pair {
  std::string file{};
  std::string name{};
  std::vector<std::string> operators{};            // those that the pair is about
  std::map<std::string, std::string> variables{};  // settings of the systems
  std::vector<Value> given{};                      // there before the two
  std::vector<Value> just_before{};                // made a second before the first of the two
  std::vector<Value> rivals{};                     // made in this order, two seconds apart
  std::uint64_t most = 0;                          // writes of controllers until all rests
  std::vector<Value> holds{};                      // what is there then
  std::vector<Value> afterwards{};                 // and once the first rival is deleted
  std::string silent{};                            // why no condition or Event names the other one
};

// Returns every pair of every file, in order of the files' names.
const std::vector<Pair>& pairs();
// Returns the controllers that no two owners can bring to write one object: names and reasons.
const std::map<std::string, std::string>& alone();
// Returns the names of all controllers of a lab.
std::vector<std::string> lab_controllers();

// Plays a pair in a whole lab and returns what is wrong, or nothing: the world rests (P2), within
// the pair's number of writes, and says what the pair expects.
std::optional<std::string> check_pair(const Pair& pair, std::uint64_t seed);

}  // namespace athanor::sim
