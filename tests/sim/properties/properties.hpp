// SPDX-License-Identifier: Apache-2.0
// The properties that every controller has, checked without knowing it (docs/engine.md 3).
// Each function returns what is wrong, or nothing. P2 (rest) is part of every run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/value/value.hpp"
#include "sim/properties/tally.hpp"
#include "simulation/world.hpp"

namespace athanor::sim {

// Makes the scene of one run: what outside worlds keep (pods, answers) must be each run's own.
using SceneMaker = std::function<Scene()>;
// What must be equal at the end of runs that differ in faults and order; by default
// World::final_state().
using Projection = std::function<Value(const World&)>;

// One scene and one seed to check; `tally` may be null.
struct Trial {
  SceneMaker make{};
  std::uint64_t seed = 1;
  Projection projection{};
  Tally* tally = nullptr;
  std::optional<FaultList> placed{};  // in runs under faults: exactly these, instead of chance
  bool record = false;                // a finding comes with the journal of all writes
};

// A run that went wrong, the faults that it met, and its writes (Trial::record).
struct Finding {
  std::string text{};
  FaultList faults{};
  std::vector<std::string> trace{};
};

// Returns the fewest of these faults with which `fails` is still true (delta debugging), in at most
// `runs` calls.
FaultList minimised(FaultList faults, const std::function<bool(const FaultList&)>& fails,
                    int runs = 200);

// A run without faults. Its end is that of any other seed (P7), so comparisons may share it.
struct Undisturbed {
  Outcome outcome{};
  Value end{};
};
using UndisturbedPtr = std::shared_ptr<const Undisturbed>;
// Runs the trial's scene without faults; lag and order of watches as `faults` says.
UndisturbedPtr undisturbed(const Trial& trial, const Faults& faults);

// Runs with faults beside the run without them, which is made once.
class Comparison {
 public:
  // Requires as `faults` chances, and lag and order of watches for lists of faults.
  Comparison(Trial trial, Faults faults);
  // Compares with `calm`, of the same scene and such faults, instead of a run of its own.
  Comparison(Trial trial, Faults faults, UndisturbedPtr calm);
  // Returns what the run without faults came to.
  [[nodiscard]] const Outcome& calm() const { return calm_->outcome; }
  // Returns true if storms of these chances contain this kind.
  [[nodiscard]] bool allows(Fault kind) const;
  // Runs with faults by chance, or as the trial says.
  std::optional<Finding> storm();
  // Runs with exactly these faults.
  std::optional<Finding> with(const FaultList& placed);
  // Returns the journal of the latest run under faults (Trial::record).
  [[nodiscard]] const std::vector<std::string>& trace() const { return trace_; }

 private:
  std::optional<Finding> play(std::optional<FaultList> placed);

  Trial trial_;
  Faults faults_;
  UndisturbedPtr calm_;
  std::vector<std::string> trace_{};
};

// Checks P1: the same seed gives the same requests in the same order. (Each reconcile is also run
// twice, always.)
std::optional<std::string> check_determinism(const SceneMaker& make, std::uint64_t seed,
                                             Tally* tally = nullptr);
// Checks the same against the journal of a run of this scene and seed.
std::optional<std::string> check_repeats(Scene scene, std::uint64_t seed,
                                         const std::vector<std::string>& journal,
                                         Tally* tally = nullptr);
// Checks P3: for each write of a run without faults (every `stride`th of them): a run whose engine
// dies right after it ends the same.
std::optional<std::string> check_crashes(const SceneMaker& make, std::uint64_t seed,
                                         std::uint64_t stride, const Projection& projection,
                                         Tally* tally = nullptr);
// Checks P4 to P7: with `faults` the world ends as it does without.
std::optional<std::string> check_faults(const SceneMaker& make, std::uint64_t seed,
                                        const Faults& faults, const Projection& projection,
                                        Tally* tally = nullptr);

// Which single faults to place: every `stride`th chance from `first` on of each kind.
struct Placement {
  std::uint64_t first = 1;
  std::uint64_t stride = 1;
  std::vector<Fault> kinds{};  // empty: all that a run can meet
};
// Checks P3 to P6, exhaustively: every chance of every kind, one at a time. With `old_caches` a
// crash comes twice, with the newest and with an older state of the caches.
std::optional<Finding> check_singles(Comparison& comparison, const Placement& placement,
                                     Tally* tally = nullptr, bool old_caches = false);
// Pairs of faults at random.
std::optional<Finding> check_pairs(Comparison& comparison, std::uint64_t seed, int pairs,
                                   Tally* tally = nullptr);

// Checks P7: in any order the end is the same: this seed's order against the next one's.
std::optional<std::string> check_order(const Trial& trial);

// A change of a spec and its way back, as merge patches.
struct Edit {
  const Kind* kind = nullptr;
  Key key{};
  Value there{};
  Value back{};
};
// Checks P8: A to B to A ends as A.
std::optional<std::string> check_reversal(const Trial& trial, const std::vector<Edit>& edits);

// Checks P9: labels and annotations of others survive, and change nothing, under `faults`. `calm`:
// of this scene, without faults.
std::optional<Finding> check_foreign_fields(const Trial& trial, const Faults& faults,
                                            const Undisturbed& calm);

// P10. Bounds of one plan, and of the whole: beside `bystanders` times as many uninvolved objects
// the controllers do at most `growth` times the work.
struct Bounds {
  std::size_t steps = 500;
  std::size_t reads = 200;
  std::size_t status_bytes = 32768;
  double growth = 1.5;
};
// Checks P10. `make(n)` makes the scene with n uninvolved objects at rest before the actors begin.
std::optional<std::string> check_bounds(const std::function<Scene(int bystanders)>& make,
                                        std::uint64_t seed, const Bounds& bounds,
                                        Tally* tally = nullptr);

// Checks P11: once the objects of these kinds without owner are deleted, they go, and all they
// owned. `faults` start again with the deletion.
std::optional<Finding> check_deletion(const Trial& trial, const std::vector<const Kind*>& roots,
                                      const Faults& faults);

// Checks P12: a half-way state of another implementation is taken over: the objects of a run
// stopped after `at`, every field owned by Updates of another manager, converge to the same end.
std::optional<std::string> check_upgrade(const Trial& trial, Duration at);

}  // namespace athanor::sim
