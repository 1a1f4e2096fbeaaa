// SPDX-License-Identifier: Apache-2.0
// How a call's writes enter metadata.managedFields (docs/spec/apiserver.md 11.1).
#pragma once

#include <string>
#include <string_view>

#include "embedded/apiserver/request/call.hpp"
#include "embedded/apiserver/write/write_options.hpp"
#include "kube/apply/managed_fields.hpp"

namespace athanor::apiserver {

// Checks for a custom object whose rules let a value of another type than its schema's pass.
bool cannot_be_owned(const ResourceInfo& resource, const Value& object);

// Checks for a kind whose status writes change nothing in metadata.
bool status_keeps_metadata(const ResourceInfo& resource);

// Returns parameters of kube/apply/managed_fields.hpp. `api_version` must outlive the result.
FieldManagement management_of(const Call& call, const WriteOptions& options,
                              std::string_view subresource, const std::string& api_version);

}  // namespace athanor::apiserver
