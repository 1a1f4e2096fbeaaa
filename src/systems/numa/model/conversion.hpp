// SPDX-License-Identifier: Apache-2.0
// Conversion of the operator's kinds between v1alpha1 and v1 (docs/spec/numa.md 2.5), both ways
// without loss.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor::numa {

// Returns the object under `to_version`, an apiVersion of group nodetopology.openshift.io. Members
// that v1alpha1 lacks travel in an annotation.
Result<Value> convert(const Value& object, std::string_view to_version);

}  // namespace athanor::numa
