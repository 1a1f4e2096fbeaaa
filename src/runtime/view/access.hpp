// SPDX-License-Identifier: Apache-2.0
// Whether an operator declares what it reads and does: the engine and the tests hold it to that.
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
// Returns what the first step that neither Operator::writes nor Operator::access covers needs:
// "patch workloads/status of kueue.x-k8s.io"; empty: all are covered.
std::string undeclared_step(const Operator& op, const Plan& plan);

}  // namespace athanor
