// SPDX-License-Identifier: Apache-2.0
// Labels and annotations of kueue.x-k8s.io that the integrations do not read
// (docs/spec/kueue.md 10.1). Pure.
#pragma once

#include <string>
#include <vector>

#include "kube/value/kind.hpp"
#include "kube/value/value.hpp"

namespace athanor::kueue::jobs {

// Returns a sentence for each label and annotation with the prefix kueue.x-k8s.io/ that has no
// effect on an object of the kind.
std::vector<std::string> unknown_names(const Kind& kind, const Value& object);

}  // namespace athanor::kueue::jobs
