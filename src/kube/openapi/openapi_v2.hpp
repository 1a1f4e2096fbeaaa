// SPDX-License-Identifier: Apache-2.0
// Swagger 2.0, for clients from before OpenAPI v3 (docs/spec/apiserver.md 4.6 g).
#pragma once

#include <span>

#include "kube/value/value.hpp"

namespace athanor {

// One document of all the group-versions' OpenAPI v3 documents (openapi.hpp).
Value openapi_v2_document(std::span<const Value> v3_documents);

// The Swagger form of one component; what Swagger cannot say (oneOf, anyOf, not) is left out.
Value openapi_v2_schema(const Value& v3_schema);

}  // namespace athanor
