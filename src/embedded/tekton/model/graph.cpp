// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/model/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "embedded/tekton/model/substitute.hpp"
#include "embedded/tekton/model/text.hpp"

namespace athanor::tekton {
namespace {

void collect(const Value& tree, std::vector<ResultRef>& refs) {
  if (tree.is_string()) {
    for (const Variable& variable : variables_in(tree.as_string())) {
      if (auto ref = parse_result_ref(variable.name)) {
        refs.push_back(*std::move(ref));
      }
    }
  }
  for (const Value& item : tree.items()) {
    collect(item, refs);
  }
  for (const Member& member : tree.members()) {
    collect(member.value, refs);
  }
}

// Parses "tasks.<task>.matrix.length" and "tasks.<task>.matrix.<result>.length".
std::optional<MatrixLengthRef> parse_length_ref(std::string_view written) {
  constexpr std::string_view kTasks = "tasks.";
  constexpr std::string_view kMatrix = ".matrix.";
  constexpr std::string_view kLength = "length";
  const std::string variable = dotted(written);
  const std::size_t matrix = variable.find(kMatrix);
  if (!variable.starts_with(kTasks) || matrix == std::string::npos || matrix <= kTasks.size()) {
    return std::nullopt;
  }
  MatrixLengthRef ref{.task = variable.substr(kTasks.size(), matrix - kTasks.size()),
                      .variable = variable};
  const std::string_view rest = std::string_view(variable).substr(matrix + kMatrix.size());
  if (rest == kLength) {
    return ref;
  }
  if (!rest.ends_with(".length") || rest.size() <= kLength.size() + 1) {
    return std::nullopt;
  }
  ref.result = rest.substr(0, rest.size() - kLength.size() - 1);
  return ref;
}

void collect_lengths(const Value& tree, std::vector<MatrixLengthRef>& refs) {
  if (tree.is_string()) {
    for (const Variable& variable : variables_in(tree.as_string())) {
      if (auto ref = parse_length_ref(variable.name)) {
        refs.push_back(*std::move(ref));
      }
    }
  }
  for (const Value& item : tree.items()) {
    collect_lengths(item, refs);
  }
  for (const Member& member : tree.members()) {
    collect_lengths(member.value, refs);
  }
}

// Returns the tasks whose end decides a length that this task uses.
std::vector<std::string> tasks_before_lengths(const Value& tasks, const Value& task) {
  std::vector<std::string> names;
  for (const MatrixLengthRef& ref : matrix_length_refs(task)) {
    const Value& matrix = named(tasks, ref.task)["matrix"];
    if (!ref.result.empty() || !result_refs(matrix).empty()) {
      names.push_back(ref.task);
    }
  }
  return names;
}

Error unknown_parent(std::string_view task, std::string_view parent) {
  return Error::bad_request(fmt::format(
      "couldn't add link between {0} and {1}: task {0} depends on {1} but {1} wasn't present in "
      "Pipeline",
      task, parent));
}

}  // namespace

std::optional<ResultRef> parse_result_ref(std::string_view variable, std::string_view scope) {
  if (!variable.starts_with(scope) || variable.size() <= scope.size() ||
      variable[scope.size()] != '.') {
    return std::nullopt;
  }
  std::string_view rest = variable.substr(scope.size() + 1);
  const std::size_t dot = rest.find(".results");
  if (dot == std::string_view::npos || dot == 0 ||
      rest.substr(0, dot).find('.') != std::string_view::npos) {
    return std::nullopt;
  }
  ResultRef ref{.task = std::string(rest.substr(0, dot)), .variable = std::string(variable)};
  rest = rest.substr(dot + 8);
  if (rest.starts_with("[\"") || rest.starts_with("['")) {
    const std::string closing = std::string(1, rest[1]) + "]";
    const std::size_t end = rest.find(closing, 2);
    if (end == std::string_view::npos) {
      return std::nullopt;
    }
    ref.result = rest.substr(2, end - 2);
  } else if (rest.starts_with('.')) {
    rest = rest.substr(1);
    ref.result = rest.substr(0, rest.find_first_of(".["));
  }
  if (ref.result.empty()) {
    return std::nullopt;
  }
  return ref;
}

std::vector<ResultRef> result_refs(const Value& tree) {
  std::vector<ResultRef> refs;
  collect(tree, refs);
  return refs;
}

std::vector<ResultRef> task_result_refs(const Value& pipeline_task) {
  std::vector<ResultRef> refs;
  collect(pipeline_task["params"], refs);
  collect(pipeline_task["matrix"], refs);
  collect(pipeline_task["when"], refs);
  collect(pipeline_task["taskRef"]["params"], refs);
  collect(pipeline_task["pipelineRef"]["params"], refs);
  for (const Value& workspace : pipeline_task["workspaces"].items()) {
    collect(workspace["subPath"], refs);
  }
  // Results are propagated into an inline spec, into the fields that take variables.
  for (const std::string_view part : {"steps", "stepTemplate", "sidecars", "volumes"}) {
    collect(pipeline_task["taskSpec"][part], refs);
  }
  return refs;
}

std::vector<MatrixLengthRef> matrix_length_refs(const Value& pipeline_task) {
  std::vector<MatrixLengthRef> refs;
  for (const std::string_view member : {"displayName", "params", "matrix", "when"}) {
    collect_lengths(pipeline_task[member], refs);
  }
  collect_lengths(pipeline_task["taskRef"]["params"], refs);
  collect_lengths(pipeline_task["pipelineRef"]["params"], refs);
  return refs;
}

Result<Graph> Graph::make(const Value& tasks) {
  std::map<std::string, std::size_t, std::less<>> index;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!index.emplace(tasks[i]["name"].str(), i).second) {
      return Error::bad_request("duplicate pipeline task");
    }
  }
  Graph graph;
  graph.parents_.resize(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    std::vector<std::string> names = strings_of(tasks[i]["runAfter"]);
    for (const ResultRef& ref : task_result_refs(tasks[i])) {
      names.push_back(ref.task);
    }
    for (std::string& parent : tasks_before_lengths(tasks, tasks[i])) {
      names.push_back(std::move(parent));
    }
    for (const std::string& parent : names) {
      const auto found = index.find(parent);
      if (found == index.end()) {
        return unknown_parent(tasks[i]["name"].as_string(), parent);
      }
      graph.parents_[i].push_back(found->second);
    }
    std::sort(graph.parents_[i].begin(), graph.parents_[i].end());
    graph.parents_[i].erase(std::unique(graph.parents_[i].begin(), graph.parents_[i].end()),
                            graph.parents_[i].end());
  }
  ATHANOR_TRY_VOID(graph.sort(tasks));
  return graph;
}

Result<void> Graph::sort(const Value& tasks) {
  std::vector<bool> placed(parents_.size(), false);
  bool progress = true;
  while (progress) {
    progress = false;
    for (std::size_t i = 0; i < parents_.size(); ++i) {
      const bool ready = std::all_of(parents_[i].begin(), parents_[i].end(),
                                     [&](std::size_t parent) { return placed[parent]; });
      if (!placed[i] && ready) {
        placed[i] = true;
        progress = true;
        order_.push_back(i);
      }
    }
  }
  if (order_.size() == parents_.size()) {
    return {};
  }
  // The first of the tasks on or behind a cycle, by name, with those of its parents that are so
  // too.
  std::string first;
  std::size_t first_index = 0;
  for (std::size_t i = 0; i < parents_.size(); ++i) {
    if (!placed[i] && (first.empty() || tasks[i]["name"].as_string() < first)) {
      first = tasks[i]["name"].str();
      first_index = i;
    }
  }
  std::vector<std::string> waits_for;
  for (const std::size_t parent : parents_[first_index]) {
    if (!placed[parent]) {
      waits_for.push_back(quoted(tasks[parent]["name"].as_string()));
    }
  }
  std::sort(waits_for.begin(), waits_for.end());
  return Error::bad_request("cycle detected; task " + quoted(first) + " depends on " +
                            join(waits_for, ", "));
}

}  // namespace athanor::tekton
