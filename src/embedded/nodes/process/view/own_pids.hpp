// SPDX-License-Identifier: Apache-2.0
// A PID namespace for a container: its processes see and signal each other alone, and all of them
// end with the first one.
#pragma once

namespace athanor::nodes {

// Returns true if this kernel lets a child have its own PID and mount namespaces with a /proc of
// its own. Tried once, in a child.
bool can_have_own_pids();

// Forks as fork(), into new PID, mount, UTS and IPC namespaces, and a user
// namespace where the caller is not root. Requires that the process has one
// thread.
int fork_into_own_pids();

// Forks likewise, into the PID namespace of a child that fork_into_own_pids() has made. Requires
// that the caller is root.
int fork_into_pids_of(int child);

// Acts as the first process of a namespace: waits for `command`, reaps what falls to it, hands
// SIGTERM on to the command's group, and ends with the command's exit code (128 and the signal's
// number after a signal). Requires SIGCHLD and SIGTERM to have been blocked since the fork.
[[noreturn]] void reap_until_end(int command);

// Waits for `child` and returns its exit code, 128 and the signal's number after a signal.
int exit_code_of(int child);

}  // namespace athanor::nodes
