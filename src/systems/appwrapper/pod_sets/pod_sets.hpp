// SPDX-License-Identifier: Apache-2.0
// PodSets of a component: inferred from well-known kinds, and compared with declared ones
// (docs/spec/appwrapper.md 2.3 to 2.5, B-6). Pure functions of the template.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"
#include "systems/appwrapper/model/kinds.hpp"

namespace athanor::appwrapper {

// PodSets that infer_pod_sets() finds.
struct Inferred {
  std::vector<PodSet> pod_sets{};
  // False for kinds of B-6: declared PodSets need not match, and nothing is rejected.
  bool binding = true;
  // Further accepted counts, parallel to pod_sets; empty: none. Ray workers of several hosts may be
  // declared with either count.
  std::vector<std::int64_t> other_counts{};
};

// Returns the PodSets of a template; none for a kind without inference. Errors: `<path> does not
// refer to a v1.PodSpecTemplate: ...`, `at path position '<path>' non-int value <v>`.
Result<Inferred> infer_pod_sets(const Value& component_template);

// Compares declared PodSets (at least one) with inferred ones; the first difference is the error.
Result<void> compare_pod_sets(const std::vector<PodSet>& declared, const Inferred& inferred);

// Returns the definitive PodSets: declared if there are any, else inferred; none where inference
// fails.
std::vector<PodSet> definitive_pod_sets(const Component& component);

// PodSets of each component: from status if it has an entry for each component, else computed.
std::vector<std::vector<PodSet>> pod_sets_of(const AppWrapper& app);

// Returns the number of pods of all PodSets together (2.7).
std::int64_t expected_pods(const std::vector<std::vector<PodSet>>& pod_sets);

}  // namespace athanor::appwrapper
