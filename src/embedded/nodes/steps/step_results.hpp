// SPDX-License-Identifier: Apache-2.0
// Variables of a step that earlier steps fill: $(steps.<s>.results.<r>),
// $(steps.<s>.outputs.<a>) and $(steps.<s>.inputs.<a>), and guards
// (docs/spec/tekton.md 6, 10.2).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor::nodes {

// The results of one pod's steps so far. Not thread-safe.
// Errors: TooLarge, naming the variable with which a step's texts grow beyond 4 MiB.
class StepResults {
 public:
  // Takes the results and artifacts out of what an ended step's container left as its message.
  void add(std::string_view container, std::string_view message);
  // Replaces known variables; others stay as they are.
  [[nodiscard]] Result<std::string> substitute(std::string_view text) const;
  // Returns the container with command and environment substituted, and artifacts in its script; an
  // argument that is one whole
  // list ("$(steps.s.results.r[*])") becomes its items.
  [[nodiscard]] Result<Value> substituted(Value container) const;
  // Returns true if every guard {input, operator, values} or {cel} holds. Errors, too: an
  // expression that fails, or is neither true nor false.
  [[nodiscard]] Result<bool> allow(const Value& when) const;

 private:
  class Budget;
  [[nodiscard]] std::optional<std::string> find(std::string_view variable) const;
  [[nodiscard]] std::optional<Value> find_list(std::string_view text) const;
  [[nodiscard]] Result<std::string> substitute(std::string_view text, Budget& budget) const;
  [[nodiscard]] Result<std::string> substitute_artifacts(std::string_view script,
                                                         Budget& budget) const;
  // Returns the texts that a word of a command, or a value of a guard, becomes.
  [[nodiscard]] Result<std::vector<std::string>> words_of(std::string_view word,
                                                          Budget& budget) const;
  [[nodiscard]] Result<bool> holds(const Value& guard, Budget& budget) const;
  std::map<std::string, std::string, std::less<>> values_{};     // "s.results.r" to its text
  std::map<std::string, std::string, std::less<>> artifacts_{};  // "s.outputs.a" to its JSON
};

// Returns the message of a step that its guards skipped.
std::string skipped_message();

}  // namespace athanor::nodes
