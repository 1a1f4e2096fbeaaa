// SPDX-License-Identifier: Apache-2.0
// What a container's process gives up before its command runs: new privileges, and system calls
// that reach other processes or the kernel itself.
#pragma once

namespace athanor::nodes {

// Confines the calling process (a fresh child, one thread) and all that it will start, as far as
// the kernel allows. Refused system calls answer EPERM: ptrace and process_vm_*, mounts and
// namespaces, kernel modules and kexec, bpf, keys, clocks.
void confine();

}  // namespace athanor::nodes
