// SPDX-License-Identifier: Apache-2.0
// What the versions of a CustomResourceDefinition compile to, and a store of such results that
// several servers of one process may share.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.hpp"
#include "kube/names/field_error.hpp"
#include "kube/schema/structural_schema.hpp"
#include "kube/value/value.hpp"

namespace athanor::cel {
class SchemaRules;  // cel/rules/schema_rules.hpp
}

namespace athanor::apiserver {

// The schemas and CEL rules of one list of versions: a function of the list alone. Parsed in the
// constructor; rules and checks follow on first use. Thread-safe.
class CrdSchemas {
 public:
  using Ptr = std::shared_ptr<const CrdSchemas>;

  struct Version {
    StructuralSchema::Ptr schema{};
    std::shared_ptr<const cel::SchemaRules> rules{};  // null: none
    bool embeds = false;                              // its objects may hold other objects
  };

  // Takes `versions`, a definition's spec.versions.
  explicit CrdSchemas(Value versions);
  ~CrdSchemas();
  CrdSchemas(const CrdSchemas&) = delete;
  CrdSchemas& operator=(const CrdSchemas&) = delete;

  [[nodiscard]] const Value& source() const { return source_; }
  // Returns true if every version has a schema that follows docs/spec/apiserver.md 13.2.
  [[nodiscard]] bool readable() const { return unreadable_.empty(); }
  // Returns one entry per version, in their order; empty unless readable().
  [[nodiscard]] const std::vector<Version>& versions() const;
  // Returns every broken rule of schemas, selectable fields and CEL rules.
  [[nodiscard]] const std::vector<FieldError>& errors() const;

 private:
  [[nodiscard]] std::vector<FieldError> check() const;

  Value source_;
  std::vector<CrdVersionSchema> schemas_{};
  std::vector<FieldError> unreadable_{};
  mutable Mutex mutex_{};
  mutable std::optional<std::vector<Version>> versions_ ATHANOR_GUARDED_BY(mutex_){};
  mutable std::optional<std::vector<FieldError>> errors_ ATHANOR_GUARDED_BY(mutex_){};
};

// Recently compiled versions, by content. Thread-safe.
class CrdSchemaCache {
 public:
  static constexpr std::size_t kMost = 64;  // more definitions than the systems of a laptop have

  // Returns what these versions compile to; the same object while they are among the last kMost.
  // Unreadable versions are not kept. O(kMost) comparisons of trees that differ early.
  [[nodiscard]] CrdSchemas::Ptr get(const Value& versions);

 private:
  Mutex mutex_{};
  std::vector<CrdSchemas::Ptr> recent_ ATHANOR_GUARDED_BY(mutex_){};  // the latest use is last
};

// Returns what these versions compile to, from `cache` unless that is null.
CrdSchemas::Ptr compiled_schemas(CrdSchemaCache* cache, const Value& versions);

}  // namespace athanor::apiserver
