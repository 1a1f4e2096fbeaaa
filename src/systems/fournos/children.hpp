// SPDX-License-Identifier: Apache-2.0
// A job's children as the view shows them, distinguished by owner uid: children of an earlier job
// of the same name are never adopted (R7.2, R14.9).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/plan.hpp"
#include "systems/fournos/job.hpp"

namespace athanor::fournos {

// Returns true if the kind exists and may not be listed: its view is always empty.
bool is_hidden(const Context& context, const Kind& kind);

// One child of a job as the view shows it, and whether it belongs to the job.
struct Child {
  enum class State : std::uint8_t {
    Absent,
    Ours,      // owned by this job, or by nothing
    Leftover,  // owned by another FournosJob
    Foreign,   // owned by an object of another kind
  };
  Ref ref{};
  State state = State::Absent;
  Object object{};     // empty when absent
  bool known = true;   // false: asked; the answer runs the job again
  bool asked = false;  // read by name: its changes bring no event

  [[nodiscard]] bool ours() const { return state == State::Ours; }
};
// Reads Jobs and Secrets that may not be listed by name: with upstream's role they may be got and
// created alone.
Child child_of(const Context& context, const Kind& kind, std::string_view name);
// Returns the job's Workload (the next one: its PipelineRun); both have the job's name.
Child workload_of(const Context& context);
Child pipeline_run_of(const Context& context);

// Deletes exactly this object; nothing when it is absent, foreign or already going.
void remove(Plan& plan, const Child& child);
// Deletes an object that its owner takes along in the end: leaves a refused deletion out.
void remove_if_allowed(const Context& context, Plan& plan, const Child& child);

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
// Returns the steps that create the child; Waiting while an object of another owner, or a deleted
// one, has its name. A leftover is deleted; a foreign one refuses the child: 409.
Ensured ensure(const Context& context, const Kind& kind, const Value& desired);

// An object from the view or, where the view has none, past the caches: what may be absent for good
// has to be asked for.
struct Confirmed {
  bool known = false;  // false: asked; the answer runs the job again
  std::optional<Object> object{};
  std::optional<Error> error{};  // the API server's answer instead
  [[nodiscard]] bool absent() const { return known && !object; }
};
// Reads the object from the view, else past the caches.
Confirmed read_confirmed(const Context& context, const Kind& kind, const Key& key);
// Reads the object from the view alone, unless the kind may not be listed. An object that may not
// be got either counts as absent. `seen` as of LiveQuery.
Confirmed cached_or_confirmed(const Context& context, const Kind& kind, const Key& key,
                              std::string_view seen = {});
// What the API server holds of a child, whatever the view shows.
struct LiveChild {
  bool known = false;              // false: asked
  std::optional<Object> object{};  // this job's own; a leftover counts as absent
};
// Reads the child past the caches, always. `seen` as of LiveQuery.
LiveChild live_child(const Context& context, const Ref& ref, std::string_view seen = {});
// Returns true once it is certain that the job has no such child.
bool gone_for_good(const Context& context, const Ref& ref);
// Returns the plan of a context that asked and waits for the answer.
Plan await_answer(const Context& context);

// The value of the class that spec.priority names; neither when it names none.
struct Priority {
  bool known = false;
  bool missing = false;  // no such class
  std::optional<std::int64_t> value{};
};
// Returns the value of the job's WorkloadPriorityClass.
Priority priority_of(const Context& context);

// The job's Workload. `missing_priority` is set when spec.priority names no class.
struct WorkloadEnsured {
  Ensured ensured{};
  bool missing_priority = false;
};
// Returns the steps that create the job's Workload; Waiting until the class's value is known.
WorkloadEnsured ensure_workload(const Context& context);

// A PipelineRun's Succeeded condition, and whether the run is over: True, or False with a
// completion time.
struct RunState {
  bool succeeded = false;
  bool failed = false;
  std::string message{};
  [[nodiscard]] bool done() const { return succeeded || failed; }
};
// Returns the state of the run; while it runs, neither `succeeded` nor `failed` is set.
RunState run_state(const Object& pipeline_run);

}  // namespace athanor::fournos
