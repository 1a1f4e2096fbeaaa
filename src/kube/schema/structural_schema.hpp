// SPDX-License-Identifier: Apache-2.0
// The schema of one version of a custom resource, read from its openAPIV3Schema, and the rules that
// such a schema must follow (docs/spec/apiserver.md 13.2).
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/names/field_error.hpp"
#include "kube/schema/schema.hpp"
#include "kube/value/value.hpp"

namespace athanor {

// Owns its Schema tree (compiled patterns included); immutable, shared between threads.
// At the root and in embedded resources apiVersion, kind and metadata are declared; metadata is the
// built-in ObjectMeta. Names of built-in types alone are not empty.
class StructuralSchema {
 public:
  using Ptr = std::shared_ptr<const StructuralSchema>;

  // Parses the schema at `path` of the CRD ("spec.validation.openAPIV3Schema"). Errors: every
  // broken rule of 13.2.
  static Result<Ptr, std::vector<FieldError>> parse(const Value& open_api, std::string_view path);

  [[nodiscard]] SchemaPtr root() const { return root_; }
  // Returns the memory of the compiled patterns.
  [[nodiscard]] std::size_t pattern_bytes() const;

  StructuralSchema(const StructuralSchema&) = delete;
  StructuralSchema& operator=(const StructuralSchema&) = delete;
  ~StructuralSchema() = default;

 private:
  friend class StructuralParser;
  StructuralSchema() = default;

  std::deque<Schema> arena_{};  // stable addresses
  std::map<std::string, std::shared_ptr<const Regex>, std::less<>> patterns_{};
  SchemaPtr root_ = nullptr;
};

struct CrdVersionSchema {
  std::string version{};
  StructuralSchema::Ptr schema{};
};

// Parses the schemas of all versions of a CustomResourceDefinition's spec, in its order. Errors:
// every broken rule, with the paths of 13.1 and 13.2 (spec.validation... for one or equal schemas).
Result<std::vector<CrdVersionSchema>, std::vector<FieldError>> parse_crd_schemas(
    const Value& crd_spec);

}  // namespace athanor
