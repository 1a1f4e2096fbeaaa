// SPDX-License-Identifier: Apache-2.0
// How a call's writes enter metadata.managedFields (docs/spec/apiserver.md 11.1).
#pragma once

#include <string>
#include <string_view>

#include "embedded/apiserver/core/call.hpp"
#include "embedded/apiserver/write/write_options.hpp"
#include "kube/apply/managed_fields.hpp"

namespace athanor::apiserver {

// A custom object with a value of another type than its schema's, where its rules let it pass.
bool cannot_be_owned(const ResourceInfo& resource, const Value& object);

// Kinds whose status writes change nothing in metadata.
bool status_keeps_metadata(const ResourceInfo& resource);

// The parameters of kube/apply/managed_fields.hpp. `api_version` must outlive the result.
FieldManagement management_of(const Call& call, const WriteOptions& options,
                              std::string_view subresource, const std::string& api_version);

}  // namespace athanor::apiserver
