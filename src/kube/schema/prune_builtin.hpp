// SPDX-License-Identifier: Apache-2.0
// The walk behind normalize_builtin; inside kube/ only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/schema/prune.hpp"
#include "kube/text/path_text.hpp"
#include "kube/value/issue_budget.hpp"

namespace athanor::prune {

// Notes duplicates and unknown fields while a walk passes them.
class IssueCollector {
 public:
  explicit IssueCollector(FieldIssues* issues)
      : issues_(issues),
        reported_(issues != nullptr && issues->duplicates != nullptr ? issues->duplicates->size()
                                                                     : 0) {}
  // Notes that the walk came to a field.
  void visit(const PathText& path, std::string_view field);
  void unknown(const PathText& path, std::string_view field);
  // Duplicates in parts that the walk did not enter.
  void finish();

 private:
  void add(std::string_view what, std::string_view path);
  void add_duplicate(std::size_t index);

  FieldIssues* issues_;
  std::vector<bool> reported_{};  // by index in the duplicates
  IssueBudget budget_{};          // of issues_->texts
};

// One walk over one object of a built-in type. After the first wrong type, error() is set and the
// rest is skipped.
class BuiltinNormalizer {
 public:
  BuiltinNormalizer(IssueCollector& issues, PathText& path) : issues_(issues), path_(path) {}

  // Returns true if it set `out` to another value than `in`.
  bool normalize(const Value& in, const Schema& schema, Value& out);
  // Returns Go's text for the first value of a wrong type: "json: cannot unmarshal ...".
  [[nodiscard]] const std::optional<std::string>& error() const { return error_; }

 private:
  bool normalize_struct(const Value& in, const Schema& schema, Value& out);
  bool normalize_map(const Value& in, const Schema& schema, Value& out);
  bool normalize_list(const Value& in, const Schema& schema, Value& out);
  bool normalize_any(const Value& in, const Schema& schema, Value& out);
  bool normalize_integer(const Value& in, const Schema& schema, Value& out);
  bool normalize_quantity(const Value& in, Value& out);
  bool normalize_time(const Value& in, const Schema& schema, Value& out);
  bool normalize_bytes(const Value& in, const Schema& schema, Value& out);
  void fail(std::string text);
  void fail_type(const Value& in, const Schema& schema);
  void fail_mismatch(std::string_view actual, const Schema& schema);
  void fail_mismatch(std::string_view actual, std::string_view wanted);

  IssueCollector& issues_;
  PathText& path_;
  std::optional<std::string> error_{};
  // For Go's texts: the innermost struct and the JSON names from the root, without indices and
  // keys.
  std::vector<const Schema*> structs_{};
  std::vector<std::string_view> names_{};
};

// Returns the value of an absent always-present field: {}, "", 0, false or null.
Value zero_value(const SchemaField& field);

}  // namespace athanor::prune
