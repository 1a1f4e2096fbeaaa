// SPDX-License-Identifier: Apache-2.0
// The child's side of supervised calls: a seccomp filter that hands bind() and connect() of
// internet sockets to the program, which does them with the addresses of the pod
// (socket_supervisor.hpp).
#pragma once

#include <cstdint>

namespace athanor::nodes {

// What a child says of itself with the descriptor of its filter.
struct SupervisedPod {
  std::uint32_t ip = 0;            // of the pod
  std::uint32_t host_network = 0;  // 1: what it binds is this machine's
};

// Installs the filter in the calling process (one thread, without new privileges) and sends its
// descriptor over `channel`, a socket of sequenced packets. Returns false where the kernel cannot;
// then the calls go on as they are.
bool supervise_calls(int channel, const SupervisedPod& pod);

// Returns true if this kernel can supervise: tried once, in a child.
bool can_supervise_calls();

}  // namespace athanor::nodes
