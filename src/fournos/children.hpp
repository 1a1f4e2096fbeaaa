// SPDX-License-Identifier: Apache-2.0
// A job's children as the view shows them, told apart by owner uid: children of an earlier job of
// the same name are never adopted (R7.2, R14.9).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fournos/job.hpp"
#include "kube/kind.hpp"
#include "kube/object.hpp"
#include "runtime/view/plan.hpp"

namespace athanor::fournos {

struct Child {
  enum class State : std::uint8_t {
    Absent,
    Ours,      // owned by this job, or by no FournosJob at all
    Leftover,  // owned by another FournosJob
  };
  Ref ref{};
  State state = State::Absent;
  Object object{};  // empty when absent

  [[nodiscard]] bool ours() const { return state == State::Ours; }
};
Child child_of(const Tick& tick, const Kind& kind, std::string_view name);
Child workload_of(const Tick& tick);
Child pipeline_run_of(const Tick& tick);

// Deletes exactly this object; nothing when it is absent or already going.
void remove(Plan& plan, const Child& child);

// What became of the wish that a child exists.
struct Ensured {
  enum class State : std::uint8_t {
    Ready,    // exists, or `steps` creates it
    Waiting,  // something of that name has to go first
    Refused,  // the API server said no, for good
  };
  State state = State::Ready;
  Plan steps{};
  std::string reason{};  // of a refusal: "Unprocessable Entity"
};
Ensured ensure(const Tick& tick, const Kind& kind, const Value& desired);

// The job's Workload. `missing_priority` is set when spec.priority names no class.
struct WorkloadEnsured {
  Ensured ensured{};
  bool missing_priority = false;
};
WorkloadEnsured ensure_workload(const Tick& tick);
// False when spec.priority names no WorkloadPriorityClass.
bool priority_known(const Tick& tick);

// A PipelineRun's Succeeded condition, and whether the run is over: True, or False with a
// completion time.
struct RunState {
  bool succeeded = false;
  bool failed = false;
  std::string message{};
  [[nodiscard]] bool done() const { return succeeded || failed; }
};
RunState run_state(const Object& pipeline_run);

}  // namespace athanor::fournos
