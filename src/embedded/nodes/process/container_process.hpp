// SPDX-License-Identifier: Apache-2.0
// What a freshly forked child does to become a container's process.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "embedded/nodes/process/view/layered_root.hpp"
#include "embedded/nodes/process/view/private_root.hpp"
#include "kube/value/value.hpp"

namespace athanor::nodes {

// In the environment of every process of a container, with its id: how strays are found.
inline constexpr const char* kContainerMark = "ATHANOR_CONTAINER";
// Exit code of a container whose command cannot be run; its log says why.
inline constexpr int kCannotStart = 127;

// Session, output, private view, environment, command: `order` as in spawner.hpp, `output` the
// writing end of its log. Ends the child when anything fails; never returns. `parent` is the
// spawner: the child does not outlive it. A forked child that is the first of its own PID namespace
// (own_pids.hpp) goes on as such and runs the command in a child.
// `input`: what it reads, -1 for nothing. `terminal`: the slave that takes the place of both, -1
// for none.
struct ContainerFiles {
  int input = -1;
  int output = -1;
  int terminal = -1;
  int channel = -1;  // to who supervises its calls (call_listener.hpp)
};
// The process that forked a child, as the child knows it.
struct Parent {
  int pid = -1;
  int handle = -1;                       // a pidfd, as pids mean nothing in another PID namespace
  std::optional<Ids> made_by{};          // set: the child is the first of its own PID namespace
  LayerPlace layers = LayerPlace::None;  // where an isolated child writes
  int channel = -1;                      // as in ContainerFiles
  bool views = true;  // it may make them: else containers see the files of the host
  int mapped = -1;    // set: one byte comes, 'y' when the parent has mapped the child's ids
};
// Returns the ids of a container that is made by this user: of an ordinary one, its own stands for
// the one that the order asks for.
Ids container_ids(const Value& order);
[[noreturn]] void become_container(const Value& order, const ContainerFiles& files,
                                   const Parent& parent);

// Becomes one, as above, in the view of a running container whose first process is `container`;
// `files` are those of the order in spawner.hpp.
[[noreturn]] void become_exec(const Value& order, std::span<const int> files, int container,
                              const Parent& parent);

}  // namespace athanor::nodes
