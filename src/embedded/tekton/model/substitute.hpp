// SPDX-License-Identifier: Apache-2.0
// Variables $(...) (docs/spec/tekton.md 6): one simultaneous pass per stage; what is not recognised
// stays as it is.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor::tekton {

// The most bytes of values that one set of replacements inserts: values that hold others may grow
// without end otherwise.
inline constexpr std::size_t kMostInserted = std::size_t{16} << 20;

// The values of the variables of one stage. A variable is known by its dotted name ("params.p"); a
// value is a string, a list of strings or an object of strings. The other spellings (params["p"],
// params['p'], [i], [*], .key) are found through it.
class Replacements {
 public:
  void set(std::string variable, Value value);
  // Sets "params.<name>".
  void set_param(std::string_view name, Value value);
  void erase(std::string_view variable);
  // Adds a stage that is applied to what the stages before it leave, their values included.
  void then(Replacements stage);

  // Counts what is inserted together with what `other` inserts.
  void count_with(const Replacements& other);
  // Counts a value that is to be inserted. False: it would be too much; the variable then stays as
  // it is written, and exceeded() names it.
  [[nodiscard]] bool spend(std::string_view variable, std::size_t bytes) const;
  // Returns "$(v) makes …" for the first variable that was too much; empty: none was.
  [[nodiscard]] std::string exceeded() const;

  // Returns the value of a variable (between "$(" and ")"): a string, or a whole list or object.
  [[nodiscard]] std::optional<Value> find(std::string_view variable) const;
  [[nodiscard]] bool empty() const { return values_.empty() && later_.empty(); }
  // Returns the stages after this one, in order.
  [[nodiscard]] std::span<const Replacements> later() const { return later_; }

 private:
  struct Budget {
    std::size_t left = kMostInserted;
    std::string exceeded{};
  };
  [[nodiscard]] std::optional<Value> find_dotted(std::string_view variable) const;
  std::map<std::string, Value, std::less<>> values_{};
  std::vector<Replacements> later_{};
  std::shared_ptr<Budget> budget_ = std::make_shared<Budget>();  // of all stages and copies
};

// One $(...) in a text.
struct Variable {
  std::size_t begin = 0, end = 0;  // of the whole, "$(" and ")" included
  std::string_view name{};         // between them
};
// Returns the variables of a text, innermost ones of nested "$(", in order.
std::vector<Variable> variables_in(std::string_view text);
// Returns the variable, when the text is exactly one.
std::optional<std::string_view> only_variable(std::string_view text);
// Returns a["b"] and a['b'] written as a.b.
std::string dotted(std::string_view variable);

// Substitutes string values only: a list or object in the middle of a text stays literal.
std::string substitute(std::string_view text, const Replacements& replacements);
// Substitutes in every string below; a list item that is just one list variable becomes its items.
Value substitute_all(const Value& value, const Replacements& replacements);
// Substitutes in the named members of an object only.
void substitute_members(Value& object, std::span<const std::string_view> members,
                        const Replacements& replacements);
// Substitutes in a param: a string that is exactly one list or object variable becomes that.
Value substitute_param(const Value& value, const Replacements& replacements);

// Substitutes in the fields of a task spec that take variables: those of steps, sidecars, volumes.
Value substitute_task_spec(Value spec, const Replacements& replacements);
// Substitutes in the fields of a podTemplate that take variables.
Value substitute_pod_template(Value pod_template, const Replacements& replacements);
// Substitutes in a workspace binding's subPath and source names.
Value substitute_binding(Value binding, const Replacements& replacements);

}  // namespace athanor::tekton
