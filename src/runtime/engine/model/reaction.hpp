// SPDX-License-Identifier: Apache-2.0
// Reactions of the engine to a failed step: a pure table from the failure and what the engine
// knows to a reaction.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/step.hpp"

namespace athanor::runtime {

// A failed step, and what the engine knows about it.
struct Failure {
  const Error& error;
  bool answered = false;       // the server answered; false: the step was never sent
  bool unknown = false;        // it was sent, and whether it took effect is unknown
  bool creates = false;        // the step is a Create or an Apply
  bool deletes = false;        // the step is a Delete
  bool is_watched = false;     // the target's kind is cached
  bool is_hidden = false;      // the watch, narrowed by a selector, may not show the target
  bool is_cached = false;      // the cache has the target
  bool has_version = false;    // the step holds for one version of the target alone
  bool has_moved = false;      // the cache shows another state of the target than the step is from
  bool other_object = false;   // names_another_object()
  bool elsewhere = false;      // speaks_of_another()
  bool changed_since = false;  // the key is queued again: something that it read changed meanwhile
  int failures = 0;            // of this key in a row, before this one
};

// The condition for the key's next run.
enum class Await : std::uint8_t {
  Nothing,
  Change,  // the watch shows a change of the target
  Relist,  // a new list of the target's kind
};

// When the key runs again.
enum class Again : std::uint8_t {
  Continue,   // not at all: the step counts as done and the plan goes on
  AtOnce,     // as soon as what it awaits is there
  BackedOff,  // after a delay that grows with its failures
};

// The engine's reaction to one failure.
struct Reaction {
  Await await = Await::Nothing;
  Again again = Again::BackedOff;
  Again again_on_news = Again::BackedOff;  // instead of `again`, if the refusal is news (see below)
  bool is_conflict = false;                // others write the target at the same time
  // The server refused the step for good: controllers that read refusals (view/failures.hpp) get
  // it. It is news if this key's controller reads it and has not seen it yet.
  bool is_final_refusal = false;
  // A person has to do something about it, or wants to know: see is_for_people().
  bool is_for_people = false;
};

// Returns true if the server refuses the step because its target was replaced by another object of
// the same name, which the cache does not show yet.
bool names_another_object(const Error& error, const Step& step, const Object* cached);

// Returns true if the answer is about something else than the step's target: a quota that others
// change at the same time, a subresource that is not served, a webhook's verdict. No event of the
// target follows.
bool speaks_of_another(const Error& error, const Ref& target);

// Returns the reaction to a failure. A function of its argument alone.
Reaction classify(const Failure& failure);

}  // namespace athanor::runtime
