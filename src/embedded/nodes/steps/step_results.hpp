// SPDX-License-Identifier: Apache-2.0
// Variables of a step that earlier steps fill: $(steps.<s>.results.<r>),
// $(steps.<s>.outputs.<a>) and $(steps.<s>.inputs.<a>), and guards
// (docs/spec/tekton.md 6, 10.2).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "kube/value/value.hpp"

namespace athanor::nodes {

// The results of one pod's steps so far. Not thread-safe.
class StepResults {
 public:
  // Takes the results and artifacts out of what an ended step's container left as its message.
  void add(std::string_view container, std::string_view message);
  // Replaces known variables; others stay as they are.
  [[nodiscard]] std::string substitute(std::string_view text) const;
  // Returns the container with command and environment substituted, and artifacts in its script; an
  // argument that is one whole
  // list ("$(steps.s.results.r[*])") becomes its items.
  [[nodiscard]] Value substituted(Value container) const;
  // Returns true if every guard {input, operator, values} holds.
  [[nodiscard]] bool allow(const Value& when) const;

 private:
  [[nodiscard]] std::optional<std::string> find(std::string_view variable) const;
  [[nodiscard]] std::optional<Value> find_list(std::string_view text) const;
  [[nodiscard]] std::string substitute_artifacts(std::string_view script) const;
  std::map<std::string, std::string, std::less<>> values_{};     // "s.results.r" to its text
  std::map<std::string, std::string, std::less<>> artifacts_{};  // "s.outputs.a" to its JSON
};

// Returns the message of a step that its guards skipped.
std::string skipped_message();

}  // namespace athanor::nodes
