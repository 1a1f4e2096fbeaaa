// SPDX-License-Identifier: Apache-2.0
// A node that a test plays: it writes the status of pods in a FakeWorld as a kubelet does.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "support/fake_world.hpp"

namespace athanor::test {

// How a container ends.
struct ContainerEnd {
  int exit_code = 0;
  std::string reason{};   // empty: Completed or Error, by the exit code
  std::string message{};  // its termination message
};
using ContainerEnds = std::function<ContainerEnd(const Value& pod, std::string_view container)>;

// Returns the pods that are neither Succeeded nor Failed, in the order of their keys.
std::vector<Key> open_pods(const FakeWorld& world);
// Puts every container of a pod into running, and the pod into Running.
void start_pod(FakeWorld& world, const Key& pod);
// Ends every container of a pod, one after another; after a failure the others are skipped and the
// pod is Failed, else it is Succeeded.
void end_pod(FakeWorld& world, const Key& pod, const ContainerEnds& ends);
// Settles, then starts and ends every pod that is open, until none is.
void play_pods(FakeWorld& world, const FakeWorld::Operators& operators, const ContainerEnds& ends);

}  // namespace athanor::test
