// SPDX-License-Identifier: Apache-2.0
// Swagger 2.0 as protobuf, which is how kubectl before 1.29 reads it (docs/spec/apiserver.md 4.6
// g).
#pragma once

#include <string>

#include "kube/value/value.hpp"

namespace athanor {

// A message openapi.v2.Document of a document that openapi_v2_document() made.
std::string openapi_v2_protobuf(const Value& document);

}  // namespace athanor
