// SPDX-License-Identifier: Apache-2.0
// Tekton's kinds between tekton.dev/v1beta1 and v1 (docs/spec/tekton.md 1): fields that only one of
// them has move to their place in the other.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor::tekton {

// Annotation of v1 objects that keeps what v1beta1 had in spec.resources.
inline constexpr std::string_view kOldResources = "tekton.dev/v1beta1Resources";

// Returns the object in `to_version` ("tekton.dev/v1"). Values of wrong types stay for the schema
// to refuse. Fails where v1beta1 says the same thing twice.
Result<Value> convert(const Value& object, std::string_view to_version);

}  // namespace athanor::tekton
