// SPDX-License-Identifier: Apache-2.0
// The x-kubernetes-validations rules of a whole schema, compiled once, and what they say about an
// object (docs/spec/apiserver.md 13.5).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kube/names/field_error.hpp"
#include "kube/schema/schema.hpp"
#include "kube/value/value.hpp"

namespace athanor::cel {

// Immutable and thread-safe. The schema must live as long.
class SchemaRules {
 public:
  // Compiles all rules; nullptr when there is none anywhere below the root of a resource.
  static std::shared_ptr<const SchemaRules> compile(const Schema& root);
  ~SchemaRules();
  SchemaRules(const SchemaRules&) = delete;
  SchemaRules& operator=(const SchemaRules&) = delete;

  struct Verdict {
    std::vector<FieldError> errors{};
    // Broken rules of parts that the update leaves as they were: "FIELD: DETAIL".
    std::vector<std::string> ratcheted{};
  };
  // Judges `object`; `old_object` is null on create. `old_holds` means that these rules have held
  // for it: parts that both share are then judged again only by rules that compare.
  [[nodiscard]] Verdict judge(const Value& object, const Value* old_object,
                              bool old_holds = false) const;

  struct Node;

 private:
  explicit SchemaRules(std::unique_ptr<Node> root);
  std::unique_ptr<Node> root_;
};

// Checks that the rules of a schema about to be stored compile and cost little enough. `open_api`
// is the schema as written, `root` its parsed form, `path` its place in the definition.
std::vector<FieldError> check_schema_rules(const Value& open_api, const Schema& root,
                                           std::string_view path);

}  // namespace athanor::cel
