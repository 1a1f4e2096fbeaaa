// SPDX-License-Identifier: Apache-2.0
// Swagger 2.0 as protobuf, which is how kubectl before 1.29 reads it (docs/spec/apiserver.md 4.6
// g).
#pragma once

#include <string>

#include "kube/value/value.hpp"

namespace athanor {

// Encodes a document of openapi_v2_document() as a message openapi.v2.Document.
std::string openapi_v2_protobuf(const Value& document);

}  // namespace athanor
