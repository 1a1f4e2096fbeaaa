// SPDX-License-Identifier: Apache-2.0
// Preparer: carries out a kubelet's questions about ResourceClaims: slices are made for the
// AllocationClaims that mirror their devices, one CDI file for each claim (docs/spec/das.md 15.1).
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/kubelet/dra_server.hpp"
#include "agent/node/cdi_folder.hpp"
#include "agent/node/slices.hpp"
#include "base/clock.hpp"
#include "systems/das/agent/ledger.hpp"

namespace athanor::agent {

class ApiWrites;

struct PreparerOptions {
  std::string node{};
  std::string ns{};            // of AllocationClaims
  std::string cuda_visible{};  // "index" or "same"
  // All outlive the preparer.
  Slices* slices = nullptr;
  const CdiFolder* folder = nullptr;
  ApiWrites* writes = nullptr;
  const Clock* clock = nullptr;
  std::function<das::NodeSight()> look{};
  // status.nodeResources as they were found last: a whole GPU is its largest profile.
  std::function<Value()> resources{};
};

// Owns a thread, which answers one question after another. Thread-safe.
class Preparer {
 public:
  explicit Preparer(PreparerOptions options);
  Preparer(const Preparer&) = delete;
  Preparer& operator=(const Preparer&) = delete;
  ~Preparer();  // stops

  void prepare(std::vector<ClaimName> claims, const PrepareDone& done);
  void unprepare(std::vector<ClaimName> claims, const UnprepareDone& done);
  // Writes vanished CDI files again, and unprepares claims that are gone.
  void tidy();
  // Refuses the questions that wait.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace athanor::agent
