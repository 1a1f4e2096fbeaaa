// SPDX-License-Identifier: Apache-2.0
// Check of an operator's reads and writes against those it declares, for the engine and the tests.
#pragma once

#include <string>
#include <string_view>

#include "runtime/view/operator.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/view/view.hpp"

namespace athanor {

// Returns true if `verb` is one of the verbs.
bool has_verb(const Access& access, std::string_view verb);
// Returns true if the operator reads kinds of this kind.
bool may_read(const Operator& op, const Kind* kind);
// Returns what the operator read without declaring it; empty: nothing.
std::string undeclared_read(const Operator& op, const Reads& reads);
// Returns what a live read (runtime/view/live.hpp) of the operator needs and Operator::access
// lacks: "get jobs of batch"; empty: nothing. Operators without Operator::access are not checked.
std::string undeclared_live_read(const Operator& op, const Reads& reads);
// Returns what the first step that neither Operator::writes nor Operator::access covers needs:
// "patch workloads/status of kueue.x-k8s.io"; empty: all are covered.
std::string undeclared_step(const Operator& op, const Plan& plan);

// Returns what admission plugin OwnerReferencesPermissionEnforcement asks for beside the verb of
// the step: "update jobs/finalizers of batch" where a step sets an owner reference with
// blockOwnerDeletion to an owner of a declared kind, "delete configmaps" where it may change the
// owners of an object that exists; empty: nothing is missing. Operators without Operator::access
// are not checked.
std::string undeclared_owner(const Operator& op, const Plan& plan);

}  // namespace athanor
