// SPDX-License-Identifier: Apache-2.0
// The schemas of all built-in types, read from Appendix S (docs/spec/apiserver.md).
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "kube/schema/schema.hpp"

namespace athanor {

// Immutable after parse(); owns every Schema it hands out. Reading is thread-safe.
class BuiltinTypes {
 public:
  struct Sources {
    std::string_view types{};         // data::types_text()
    std::string_view presence{};      // data::presence_text()
    std::string_view descriptions{};  // data::descriptions_text()
  };
  // Parses the tables. Error Internal, with the line: it is malformed or names an unknown type.
  static Result<BuiltinTypes> parse(const Sources& sources);
  // Returns the embedded tables, read on first use; a malformed one ends the program.
  static const BuiltinTypes& get();

  BuiltinTypes(BuiltinTypes&&) noexcept = default;
  BuiltinTypes& operator=(BuiltinTypes&&) noexcept = default;
  BuiltinTypes(const BuiltinTypes&) = delete;
  BuiltinTypes& operator=(const BuiltinTypes&) = delete;
  ~BuiltinTypes() = default;

  // Finds a type by the name of Appendix S ("core.v1.Pod", "meta.ObjectMeta") or of OpenAPI
  // ("io.k8s.api.core.v1.Pod"), also "core.v1.PodList" and the other lists; nullptr when unknown.
  [[nodiscard]] SchemaPtr by_name(std::string_view name) const;
  // Finds a type by group, version and kind; "" is the core group. The kinds of meta/v1 that are
  // sent on their own (DeleteOptions, Status, WatchEvent, PartialObjectMetadata, ...) are found
  // under every built-in group and under meta.k8s.io/v1. nullptr when unknown.
  [[nodiscard]] SchemaPtr by_kind(std::string_view group, std::string_view version,
                                  std::string_view kind) const;
  // Returns every named type, sorted by OpenAPI name.
  [[nodiscard]] const std::map<std::string, SchemaPtr, std::less<>>& all() const {
    return by_openapi_;
  }

  // Converts "core.v1.Pod" to "io.k8s.api.core.v1.Pod".
  static std::string openapi_name(std::string_view name);

 private:
  friend class TypesParser;
  BuiltinTypes() = default;

  std::deque<Schema> arena_{};  // stable addresses: schemas point at each other
  std::map<std::string, SchemaPtr, std::less<>> by_name_{};
  std::map<std::string, SchemaPtr, std::less<>> by_openapi_{};
  std::set<std::string, std::less<>> groups_{};
};

}  // namespace athanor
