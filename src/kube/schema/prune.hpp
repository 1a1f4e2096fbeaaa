// SPDX-License-Identifier: Apache-2.0
// From the body of a request to the object as its type holds it: unknown fields dropped, types
// checked, values canonical (docs/spec/apiserver.md 7, 9.1, 13.3).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/schema/schema.hpp"
#include "kube/value/value.hpp"

namespace athanor {

// What field validation reports (9.1).
struct FieldIssues {
  // Duplicate keys as the parser found them; may be null.
  const std::vector<std::string>* duplicates = nullptr;
  // `unknown field "metadata.nope"`, `duplicate field "data.a"`, in document order.
  std::vector<std::string> texts{};
};

// Returns `KIND in version "VERSION" cannot be handled as a KIND: WHY` (400). `version` is without
// the group.
Error cannot_be_handled(std::string_view kind, std::string_view version, std::string_view why);
// Returns the refusal of fieldValidation=Strict.
Error strict_decoding_error(std::string_view kind, std::string_view version,
                            const FieldIssues& issues);

// How the object is named in errors.
struct DecodedKind {
  std::string_view kind{};
  std::string_view version{};  // "v1"
};

// Returns a built-in object as its Go type would print it: unknown fields dropped, wrong JSON types
// refused (400), quantities and times canonical, zero-valued optional fields dropped, always
// present fields (`+`) added. Unchanged subtrees stay shared; idempotent. `issues` may be null.
Result<Value> normalize_builtin(const Value& object, const Schema& schema, DecodedKind named,
                                FieldIssues* issues = nullptr);

// What becomes of the nulls of fields that cannot be null and have no default: what is applied
// keeps them, so that validation refuses them.
enum class Nulls : std::uint8_t { Dropped, Kept };

// Returns a custom resource after steps 3 to 5 of 13.3: metadata coerced (400 on a wrong type),
// unknown fields pruned, nulls of fields that cannot be null dropped, defaults applied.
Result<Value> normalize_custom(const Value& object, const Schema& root, DecodedKind named,
                               FieldIssues* issues = nullptr, Nulls nulls = Nulls::Dropped);

// Runs one step of normalize_custom, as does the next function. Neither touches metadata. Refuses
// (413) defaults that make the object many times as large.
Value prune_custom(const Value& object, const Schema& schema, FieldIssues* issues = nullptr);
Result<Value> default_custom(const Value& object, const Schema& schema,
                             Nulls nulls = Nulls::Dropped);

}  // namespace athanor
