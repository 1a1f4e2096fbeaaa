// SPDX-License-Identifier: Apache-2.0
// Allocator: answers the kubelet's questions for devices one after another, and takes back what
// pods leave (docs/spec/das.md 8.5, 8.7).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/kubelet/kubelet_calls.hpp"
#include "agent/node/cdi_folder.hpp"
#include "agent/node/slices.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "runtime/view/view.hpp"
#include "systems/das/agent/allocate.hpp"

namespace athanor {
class Metrics;
}

namespace athanor::agent {

class ApiWrites;

struct AllocatorOptions {
  std::string node{};
  std::string pod_resources{};  // socket of the kubelet
  das::AllocateOptions allocate{};
  // All outlive the allocator.
  Slices* slices = nullptr;
  const CdiFolder* folder = nullptr;
  ApiWrites* writes = nullptr;
  Metrics* metrics = nullptr;
  const Clock* clock = nullptr;
  // Runs a function with what the controllers see, on their thread.
  std::function<void(std::function<void(const View& view, Instant now)>)> inspect{};
};

// Owns two threads: one answers questions, one releases. Thread-safe.
class Allocator {
 public:
  using Done = std::function<void(Result<std::vector<std::string>> devices)>;
  // Callbacks of a release: `trouble` for each failed attempt, then `done`, once.
  struct Released {
    std::function<void(const Error& error)> trouble{};
    std::function<void()> done{};
  };

  explicit Allocator(AllocatorOptions options);
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;
  ~Allocator();  // stops; questions that wait are refused

  // Queues an Allocate call; `done` gets its answer.
  void ask(std::vector<das::DeviceAsk> asks, const Done& done);
  // Removes the files of the claim's pod that name it, and destroys its slice; again every minute
  // where that fails.
  void release(das::Claim claim, Released released);
  // Returns the node as the caches show it, with what was written since.
  das::NodeSight look();

  // Takes over the grants that the files record. Called at the start.
  void adopt(das::Ledger ledger);
  // Records that another kubelet than before may ask from now on.
  void doubt();
  // Asks the kubelet whose devices are whose: fills in device ids after a restart, and exchanges
  // the claims of pods that were taken for one another.
  void compare();
  // Writes files again that are missing and that containers may yet need.
  void restore_files();
  [[nodiscard]] das::Ledger ledger() const;
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace athanor::agent
