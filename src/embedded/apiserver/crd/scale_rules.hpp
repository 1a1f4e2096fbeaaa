// SPDX-License-Identifier: Apache-2.0
// The replicas of custom resources with a scale subresource.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "embedded/kinds/resource_info.hpp"
#include "kube/names/field_error.hpp"

namespace athanor::apiserver {

// Returns the steps of ".spec.replicas", the path of a scale subresource.
std::vector<std::string> scale_path(std::string_view json_path);

// Returns the errors of the replicas that the object wants (left out for a write of its status) and
// has.
std::vector<FieldError> validate_scale_fields(const ResourceInfo& resource, const Value& object,
                                              bool status_only);

}  // namespace athanor::apiserver
