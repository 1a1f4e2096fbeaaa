// SPDX-License-Identifier: Apache-2.0
// Tolerations and node affinity.
#pragma once

#include <optional>

#include "kube/names/selector.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor {

bool tolerates(const Value& tolerations, const Value& taint);
// Reads one expression of a nodeSelectorTerm; nullopt: an unknown operator.
std::optional<LabelRequirement> node_requirement(const Value& expression);
// Returns true if spec.nodeSelector and the required node affinity match.
bool matches_node(const Value& pod_spec, const Object& node);
// Returns true if all expressions and fields of a nodeSelectorTerm match; false for an empty term.
bool matches_term(const Value& term, const Object& node);

}  // namespace athanor
