// SPDX-License-Identifier: Apache-2.0
// CheckLoop: what probes and hooks ask of containers, on one thread: connections (TCP, HTTP, gRPC
// health), and commands whose output it reads. Each has a deadline and buffers of a limited size.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/time.hpp"
#include "embedded/nodes/pod_machine.hpp"
#include "embedded/nodes/process/checks/name_lookup.hpp"
#include "kube/value/value.hpp"

namespace athanor::nodes {

// Thread-safe. Answers come on its thread; none comes after it is destroyed.
class CheckLoop {
 public:
  using Done = std::function<void(ProbeAnswer answer)>;

  explicit CheckLoop(NameLookup::Resolve resolve = address_of);
  CheckLoop(const CheckLoop&) = delete;
  CheckLoop& operator=(const CheckLoop&) = delete;
  ~CheckLoop();

  // Does an action of sandbox_probes.cpp of type http, tcp, grpc or error.
  void ask(const Value& action, Duration timeout, Done done);
  // Waits for the command of an action: takes `output`, the reading end of what it writes.
  // `timeout` zero: for ever. `kill` is called when the time is over.
  void watch(std::int64_t id, int output, Duration timeout, const Value& action, Done done,
             std::function<void()> kill);
  // Records that the command has ended.
  void ended(std::int64_t id, int code);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace athanor::nodes
