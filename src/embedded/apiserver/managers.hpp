// SPDX-License-Identifier: Apache-2.0
// How a call's writes enter metadata.managedFields (spec/apiserver.md 11.1).
#pragma once

#include <string>
#include <string_view>

#include "embedded/apiserver/call.hpp"
#include "embedded/apiserver/write_options.hpp"
#include "kube/managed_fields.hpp"

namespace athanor::apiserver {

// The parameters of kube/managed_fields.hpp. `api_version` must outlive the result.
FieldManagement management_of(const Call& call, const WriteOptions& options,
                              std::string_view subresource, const std::string& api_version);

}  // namespace athanor::apiserver
