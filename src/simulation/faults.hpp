// SPDX-License-Identifier: Apache-2.0
// The fault menu of the simulator: kinds with names, how often each happens, and lists of faults
// that replay a run exactly.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/time.hpp"

namespace athanor::sim {

// Kinds of faults. Writes are those of controllers.
enum class Fault : std::uint8_t {
  WriteConflict,     // 409, nothing done
  WriteError,        // 500, nothing done
  WriteOverload,     // 429 with Retry-After 1 s, nothing done
  WriteLost,         // no answer, nothing done
  WriteLostApplied,  // no answer, yet done
  EngineCrash,       // every controller and kubelet dies after a write, before they hear of it
  Handover,          // the leader steps down, dies, or is cut off from its Lease; another one leads
  ServerRestart,     // the API server and its loops die and start again over the kept store
  OldCache,          // after a crash or hand-over lists come from an older state
  WatchDelay,        // an event is held back, with it all behind it
  WatchReorder,      // events of one resource are held back, those of others pass
  WatchCoalesce,     // of several events of one object only the last is seen
  WatchGap,          // a watch breaks: its pending events are lost, the kind is listed anew
  ClockForward,      // the shared clock jumps up to a minute ahead
  ClockBack,         // or up to half a minute back
  PodDeath,          // the scene lets a running pod die
  NodeDeath,         // the scene lets a node and all on it die
  AgentCrash,        // an agent of the scene dies between two of its steps, with all controllers
};
// The number of kinds.
inline constexpr std::size_t kFaultKinds = 18;

// Returns "write-conflict", "engine-crash", ...
std::string_view name_of(Fault fault);
// Returns the kind of this name; nullopt: there is none.
std::optional<Fault> fault_named(std::string_view name);
// Returns every kind, in the order above.
const std::array<Fault, kFaultKinds>& all_faults();

// How often things go wrong, each from 0 to 1, until Scene::faults_end. The comments name the
// occasion: every write of a controller, every event of a watch, every restart.
struct Faults {
  double conflict = 0;      // a write
  double error = 0;         // a write
  double overload = 0;      // a write
  double lost = 0;          // a write
  double lost_applied = 0;  // a write
  double crash = 0;         // a write
  double lag = 0;           // an event
  double gap = 0;           // an event
  Duration max_lag = std::chrono::seconds(5);
  // The watches of all kinds show one common past, as in the embedded world. Otherwise each kind
  // lags by itself, as with an API server in another process: a controller may see an object's
  // status before it sees the child it speaks of.
  bool ordered = false;
  bool old_replica = false;   // after half of all restarts lists come from an older state
  double handover = 0;        // a write
  double server_restart = 0;  // a write
  double coalesce = 0;        // an event
  double clock = 0;           // a write; forward or back
  double pod_death = 0;       // a write
  double node_death = 0;      // a write
  double agent_crash = 0;     // a step of an agent (World::strike)
};

// Returns moderate rates of all faults; pods and nodes live.
Faults stormy();

// The `occasion`th chance (from 1) of a kind. `amount` decides the details: how long, which one,
// what still arrives.
struct PlacedFault {
  Fault kind = Fault::WriteConflict;
  std::uint64_t occasion = 0;
  std::uint64_t amount = 0;
  bool operator==(const PlacedFault&) const = default;
};
using FaultList = std::vector<PlacedFault>;

// Prints "engine-crash@17:3f,watch-gap@4:0" (amounts in hexadecimal); the empty list is "none".
std::string to_text(const FaultList& faults);
// Parses such a text; the error names the part that is wrong.
Result<FaultList> parse_faults(std::string_view text);

using FaultCounts = std::array<std::uint64_t, kFaultKinds>;

// Decides which chances are taken, by probability or by a list, and keeps what it decided: that
// list replays the run. Draws from a sequence of its own, so that leaving out a fault moves nothing
// else.
class FaultSource {
 public:
  FaultSource(Faults rates, std::optional<FaultList> placed, std::uint64_t seed);
  // Takes one chance; returns the fault's amount when it happens.
  std::optional<std::uint64_t> strike(Fault kind);
  // Stops all faults from now on; chances count on.
  void stop() { stopped_ = true; }
  // Returns true if something may still happen.
  [[nodiscard]] bool expects() const {
    return any_ && !stopped_ && !(by_list_ && injected_.size() == placed_.size());
  }
  // Returns true if this kind can happen at all.
  [[nodiscard]] bool includes(Fault kind) const;
  [[nodiscard]] double rate(Fault kind) const { return rates_.at(static_cast<std::size_t>(kind)); }
  [[nodiscard]] const FaultList& injected() const { return injected_; }
  [[nodiscard]] const FaultCounts& occasions() const { return occasions_; }

 private:
  std::array<double, kFaultKinds> rates_{};
  bool by_list_ = false;
  std::map<std::pair<Fault, std::uint64_t>, std::uint64_t> placed_{};
  std::unique_ptr<Entropy> entropy_;
  FaultCounts occasions_{};
  FaultList injected_{};
  bool stopped_ = false;
  bool any_ = false;
};

}  // namespace athanor::sim
