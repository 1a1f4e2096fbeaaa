// SPDX-License-Identifier: Apache-2.0
// What metadata may be, for every kind (docs/spec/apiserver.md 7).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "embedded/kinds/resource_info.hpp"
#include "kube/names/field_error.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// Checks an object about to be created. `warnings` receives what is accepted with a warning.
std::vector<FieldError> validate_metadata(const ResourceInfo& resource, const Value& object,
                                          std::vector<std::string>& warnings);
// Checks an update: the same rules for what changed, and what may not change.
std::vector<FieldError> validate_metadata_update(const ResourceInfo& resource, const Value& object,
                                                 const Value& old_object,
                                                 std::vector<std::string>& warnings,
                                                 std::string_view subresource = {});

// Takes owners that are named twice out of the object, and warns of them.
void drop_repeated_owners(Value& object, std::vector<std::string>& warnings);

}  // namespace athanor::apiserver
