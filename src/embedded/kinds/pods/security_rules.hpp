// SPDX-License-Identifier: Apache-2.0
// The rules of security contexts (docs/spec/apiserver.md 14.4).
#pragma once

#include <string>

#include "embedded/kinds/checks.hpp"

namespace athanor::apiserver {

// Checks the security context of a pod spec; `path` is the spec's.
void check_pod_security(FieldErrors& errors, const Value& spec, const std::string& path);
// Checks the security context of one container of `spec`; `path` is the context's.
void check_container_security(FieldErrors& errors, const Value& context, const Value& spec,
                              const std::string& path);

}  // namespace athanor::apiserver
