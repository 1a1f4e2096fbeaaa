// SPDX-License-Identifier: Apache-2.0
// What a freshly forked child does to become a container's process.
#pragma once

#include <string>

#include "kube/value.hpp"

namespace athanor::nodes {

// In the environment of every process of a container, with its id: how strays are found.
inline constexpr const char* kContainerMark = "ATHANOR_CONTAINER";
// Exit code of a container whose command cannot be run; its log says why.
inline constexpr int kCannotStart = 127;

// Session, output, private view, environment, command: `order` as in spawner.hpp, `output` the
// writing end of its log. Ends the child when anything fails; never returns. `parent` is the
// spawner: the child does not outlive it.
[[noreturn]] void become_container(const Value& order, int output, int parent);

}  // namespace athanor::nodes
