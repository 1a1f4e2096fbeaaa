// SPDX-License-Identifier: Apache-2.0
// The JSON of kube-scheduler's extenders (docs/spec/das.md 7.2): what it asks, and the answers.
// Keys of the envelope are read whatever their case; anything else about them is checked.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::extender {

// For filter and prioritize.
struct NodesQuestion {
  Object pod{};
  std::vector<std::string> names{};
  // Set where the scheduler sends whole nodes (nodeCacheCapable: false); the answer has them then.
  std::map<std::string, Object, std::less<>> nodes{};
  bool whole = false;
};
// Reads ExtenderArgs. Errors name the member that is missing or malformed.
Result<NodesQuestion> read_nodes_question(const Value& body);

// Answer of filter.
struct FilterAnswer {
  std::vector<std::string> passed{};
  std::map<std::string, std::string> failed{};        // node: reason
  std::map<std::string, std::string> unresolvable{};  // preempting pods of the node would not help
  std::string error{};                                // ends the scheduling attempt
};
// Returns an ExtenderFilterResult; passed nodes are whole objects where the question had them, else
// names.
Value to_value(const FilterAnswer& answer, const NodesQuestion& question);

// Scores from 0 to 10, in the order of the question.
inline constexpr std::int64_t kMostPoints = 10;
using Points = std::vector<std::pair<std::string, std::int64_t>>;
// Returns a HostPriorityList.
Value to_value(const Points& points);

// The pod to bind and the node.
struct BindQuestion {
  std::string name{};
  std::string ns{};
  std::string uid{};
  std::string node{};
};
// Reads ExtenderBindingArgs. Errors name the member that is missing or malformed.
Result<BindQuestion> read_bind_question(const Value& body);
// Returns {"Error": text}; an empty text: the pod is bound.
Value bind_answer(std::string_view error);

// Pods to evict on one node.
struct Victims {
  std::vector<std::string> uids{};
  std::int64_t violations = 0;  // of disruption budgets
};
// The preempting pod, and the scheduler's victims by node.
struct PreemptQuestion {
  Object pod{};
  std::map<std::string, Victims> nodes{};
};
// Reads ExtenderPreemptionArgs, with whole pods or their uids. Errors name the member.
Result<PreemptQuestion> read_preempt_question(const Value& body);
// Returns an ExtenderPreemptionResult.
Value preempt_answer(const std::map<std::string, Victims>& nodes);

}  // namespace athanor::extender
