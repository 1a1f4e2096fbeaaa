// SPDX-License-Identifier: Apache-2.0
// Emulated target clusters on real HTTPS: every one listens on a port of its own of 127.0.0.1 with
// a certificate of its own authority; one thread serves them all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "embedded/targets/target.hpp"

namespace athanor::targets {

// The targets to serve.
struct TargetServerOptions {
  std::vector<Target> targets{};  // names are unique
  std::string state{};            // file for ports and keys; empty: nothing is kept
  Clock* clock = nullptr;         // outlives the server
};

// Owns the ports and the thread.
class TargetServer {
 public:
  // Ports are bound when this returns. Errors: ports or descriptors that the system does not give,
  // a state file that cannot be used.
  static Result<std::unique_ptr<TargetServer>> start(const TargetServerOptions& options);
  TargetServer(const TargetServer&) = delete;
  TargetServer& operator=(const TargetServer&) = delete;
  ~TargetServer();

  // Returns the text of a target's kubeconfig; empty: there is no such target. Thread-safe.
  [[nodiscard]] std::string kubeconfig(const std::string& name) const;
  // Gives a target other nodes and faults and ends its connections; name, port and way of signing
  // in stay. From any thread. Error NotFound: there is no such target.
  Result<void> configure(const Target& target);

  // What came so far, of all targets. From any thread.
  struct Counts {
    std::uint64_t connections = 0;
    std::uint64_t requests = 0;
    std::uint64_t writes = 0;  // that were asked for; none is carried out
  };
  [[nodiscard]] Counts counts() const;

 private:
  struct State;
  explicit TargetServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace athanor::targets
