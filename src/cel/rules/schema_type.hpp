// SPDX-License-Identifier: Apache-2.0
// From the schema of a resource to the type that its values have in expressions
// (docs/spec/apiserver.md 13.5, typing).
#pragma once

#include <string>

#include "cel/values/type.hpp"
#include "kube/schema/schema.hpp"

namespace athanor::cel {

// The bytes of the largest request, which bounds what has no bound of its own.
inline constexpr std::int64_t kLargestRequest = std::int64_t{3} << 20;

// Position of a schema: below the root, or the root of a resource.
enum class SchemaPlace : std::uint8_t { Field, ResourceRoot };

// Returns the type of such values; nullptr when expressions cannot see them: preserved unknown
// fields and anything that contains them. At a resource's root apiVersion, kind, metadata.name and
// metadata.generateName are there, and nothing else of the metadata. `name` is what messages call
// an object's type; types below it add their place to it.
TypePtr custom_type(const Schema& schema, SchemaPlace place, const std::string& name = "selfType");

// Describes a built-in kind, whole metadata included; types within themselves are dyn.
TypePtr builtin_type(const Schema& schema);

}  // namespace athanor::cel
