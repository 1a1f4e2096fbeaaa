// SPDX-License-Identifier: Apache-2.0
// The graph of a pipeline's tasks and the references to results that make its edges
// (docs/spec/tekton.md 7.3).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor::tekton {

// $(tasks.<task>.results.<result>…).
struct ResultRef {
  std::string task{};
  std::string result{};
  std::string variable{};  // as written between "$(" and ")"
};
// Parses a variable; `scope` is "tasks" or "finally".
std::optional<ResultRef> parse_result_ref(std::string_view variable,
                                          std::string_view scope = "tasks");
// Returns all below a value, in order of appearance.
std::vector<ResultRef> result_refs(const Value& tree);
// Finds those of a pipeline task: params, matrix, when, params of its reference, workspace
// subPaths, and the fields of its inline spec that take variables.
std::vector<ResultRef> task_result_refs(const Value& pipeline_task);

// $(tasks.<task>.matrix.length) or $(tasks.<task>.matrix.<result>.length).
struct MatrixLengthRef {
  std::string task{};
  std::string result{};    // empty: the number of combinations
  std::string variable{};  // with dots alone
};
// Finds those of a pipeline task: displayName, params, matrix, when, params of its
// reference.
std::vector<MatrixLengthRef> matrix_length_refs(const Value& pipeline_task);

// The edges between the tasks of a pipeline and an order that respects them. Immutable.
class Graph {
 public:
  // Edges from runAfter, result references and lengths that results decide, among `tasks`. Errors
  // (BadRequest): `couldn't add link between …` and `cycle detected; …` (5.2).
  static Result<Graph> make(const Value& tasks);

  // Returns its parents as indexes into the list, sorted and without repetition: it waits for them.
  [[nodiscard]] const std::vector<std::size_t>& parents(std::size_t task) const {
    return parents_[task];
  }
  // Returns every task after its parents; among equals the order of the list.
  [[nodiscard]] const std::vector<std::size_t>& order() const { return order_; }

 private:
  Result<void> sort(const Value& tasks);
  std::vector<std::vector<std::size_t>> parents_{};
  std::vector<std::size_t> order_{};
};

}  // namespace athanor::tekton
