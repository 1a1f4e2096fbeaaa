// SPDX-License-Identifier: Apache-2.0
// Swagger 2.0, for clients from before OpenAPI v3 (docs/spec/apiserver.md 4.6 g).
#pragma once

#include <span>

#include "kube/value/value.hpp"

namespace athanor {

// Merges all the group-versions' OpenAPI v3 documents (openapi.hpp) into one document.
Value openapi_v2_document(std::span<const Value> v3_documents);

// Returns the Swagger form of one component, without oneOf, anyOf and not, which Swagger lacks.
Value openapi_v2_schema(const Value& v3_schema);

}  // namespace athanor
