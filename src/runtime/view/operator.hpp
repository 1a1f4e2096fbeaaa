// SPDX-License-Identifier: Apache-2.0
// Operator: one controller as the engine knows it: a name, what it watches and writes, and a pure
// function.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/view/view.hpp"

namespace athanor {

// An index an operator asks the caches to keep: the values under which an object is found.
struct Index {
  const Kind* kind = nullptr;
  std::string_view name{};
  std::vector<std::string> (*values)(const Object& object) = nullptr;
};

// An operator's access to a kind besides listing and watching what it reads: verbs of the API,
// separated by blanks ("get" where it reads live), on the objects or on one of their subresources.
struct Access {
  const Kind* kind = nullptr;
  std::string_view verbs{};
  std::string_view subresource{};
};

// Retry pace of a key whose plan said retry or whose write failed.
struct Backoff {
  Duration first = std::chrono::milliseconds(5);
  Duration most = std::chrono::seconds(1000);
};

// One controller: its kinds, its rights and its reconcile function.
struct Operator {
  std::string_view name{};        // "fournosjob"; field manager and log name
  const Kind* primary = nullptr;  // keys are this kind's; every change of one queues its key
  std::span<const Kind* const>
      reads{};  // generates watches and RBAC; an undeclared read is a broken invariant
  std::span<const Kind* const> writes{};
  std::span<const Index> indexes{};
  // Reconciles: the pure function. `key` is of `primary`, or for a singleton {"" , "singleton"}.
  Plan (*reconcile)(const View& view, const Key& key, Instant now) = nullptr;
  // True: one key, run whenever anything it read changed (a scheduler that looks at everything).
  bool singleton = false;
  // True: it promises what must not be promised again (quota, the one run of a job), so nothing
  // that a leader before it wrote may be missing from what it sees. Its first runs wait until all
  // it reads was listed anew after this engine began to run.
  bool sees_all = false;
  // True: the steps of a plan on different objects do not depend on each other, so that their
  // writes are sent together; a failure stops those that were not sent yet. Steps on one object
  // keep their order, and an Event or Act follows the write before it. For plans with many objects.
  bool independent_steps = false;
  // Writes act as this user in the embedded server; empty:
  // system:serviceaccount:kube-system:<name>.
  std::string_view user{};
  Backoff backoff{};
  // Least time between the starts of two runs of a key: what changes meanwhile is taken together.
  Duration pause{};
  // Returns true if a change of an object that a key has read makes no difference to it: it does
  // not run. Pure; nullptr: every change makes one. Not called for changes of the primary.
  bool (*overlooks)(const Kind& kind, const Object& before, const Object& after) = nullptr;
  // Kinds whose coarse lists (no namespace, no label, no index) are allowed because they are few.
  std::span<const Kind* const> small{};
  // The whole of it: generates RBAC, and the engine holds the steps to it. Empty: whatever steps
  // could do to `writes`, and Events.
  std::span<const Access> access{};
  // "Job": each Event about an object of `primary` is a log record "Job NAME: REASON: NOTE".
  // Empty: Warning Events alone are logged, each once.
  std::string_view log_subject{};
  // Component of its Events; empty: its name.
  std::string_view event_source{};
};

}  // namespace athanor
