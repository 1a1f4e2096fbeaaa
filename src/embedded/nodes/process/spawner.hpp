// SPDX-License-Identifier: Apache-2.0
// Spawner: a small process, forked before the program starts its first thread, that starts and
// reaps the containers' processes. Forking from it is cheap and safe; when the program dies, even
// by kill -9, the spawner sees its socket close and ends every container.
//
// Messages to it:    {op: "run", id, argv, env: [[name, value]..], cwd, scratch, mounts: [{from,
// to, readOnly}], log, isolate, hide, layer, ownFolders, readOnlyRoot, hostname,
// network: {ip, host}, where its calls are supervised}: with `isolate` in
// namespaces of its own, confined (confinement.hpp), without the host's folder `hide`, and with
// what it writes in `layer` (layered_root.hpp), as far as the kernel allows
//                    {op: "memory", path, sizeBytes, group}: mounts a tmpfs there, for containers
//                    {op: "prepare", folder}: tries what the kernel allows, below that folder
//                    {op: "exec", id, container, argv, env, cwd, stdin, tty}: in the view of a
//                    running container; with its input (where stdin), output and errors, or its
//                    terminal
//                    {op: "tap", id}: copies of a container's output from now on, into what goes
//                    along
//                    {op: "signal", id, signal}
//                    A container with `stdin` gets its input along, one with `tty` its terminal and
//                    the terminal's master. Each message says how many `files` go along.
// Messages from it:  {event: "isolation", missing}: what the kernel or the disk lack, or ""
//                    {event: "started", id, pid}  {event: "log", id}  {event: "exited", id, code,
// signal}
//
// A container is over when its first process has ended; everything else it started is killed then,
// wherever it went. The program must read its messages, but the spawner does not wait for that.
#pragma once

#include "base/result.hpp"

namespace athanor::nodes {

// Owns the process and the socket to it. Movable.
class Spawner {
 public:
  // Forks it. To be called while the program has one thread.
  static Result<Spawner> start();
  Spawner(Spawner&& other) noexcept;
  Spawner& operator=(Spawner&& other) noexcept;
  // Closes the socket and waits until it has ended every container.
  ~Spawner();

  // Returns the socket to talk to it (framing.hpp); owned here.
  [[nodiscard]] int socket() const { return socket_; }
  // Returns the end of the channel on which children send the descriptors of their filters
  // (network/call_listener.hpp), the caller's from now on; -1 where the kernel cannot supervise
  // calls.
  int take_channel();

 private:
  Spawner(int socket, int channel, int pid) : socket_(socket), channel_(channel), pid_(pid) {}
  int socket_ = -1;
  int channel_ = -1;
  int pid_ = -1;
};

}  // namespace athanor::nodes
