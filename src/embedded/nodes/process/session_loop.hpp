// SPDX-License-Identifier: Apache-2.0
// The program's ends of what exec, attach and port-forward talk to: pipes, terminals, sockets. One
// thread polls all of them; buffers are bounded, so that a client who does not read stops the
// command, and not the program.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "embedded/apiserver/streaming/pod_streams.hpp"

namespace athanor::nodes {

// Descriptors, owned by the holder of this; -1: none.
struct SessionFiles {
  int input = -1;  // written to
  int output = -1;
  int error = -1;
  bool terminal = false;    // the input is a terminal's master
  bool socket = false;      // input and output are a socket
  bool connecting = false;  // a socket whose connect() goes on
};

// Thread-safe.
class SessionLoop {
 public:
  SessionLoop();
  SessionLoop(const SessionLoop&) = delete;
  SessionLoop& operator=(const SessionLoop&) = delete;
  ~SessionLoop();

  // Adds a session that ends when finish() is called for `owner`, sockets by themselves. Takes the
  // descriptors. Calls `input_over` once, when the client will write nothing more.
  std::unique_ptr<apiserver::PodSession> add(std::int64_t owner, const SessionFiles& files,
                                             std::function<void()> input_over = {});
  // Finishes what `owner` names; its sessions end once their output is read.
  void finish(std::int64_t owner, int exit_code, const std::string& failure = {});

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace athanor::nodes
