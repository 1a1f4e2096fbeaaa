// SPDX-License-Identifier: Apache-2.0
// Checks that Task and Pipeline share (docs/spec/tekton.md 5.2, 5.3): declared params and the use
// of variables.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "embedded/tekton/model/field_errors.hpp"
#include "embedded/tekton/model/settings.hpp"
#include "kube/value/value.hpp"

namespace athanor::tekton {

// Checks params[] of a definition.
FieldErrors validate_param_specs(const Value& specs, const Settings& settings);
// Checks when[] of a pipeline task or a step.
FieldErrors validate_when(const Value& when, const Settings& settings);

// Returns true for "<prefix><name>.inputs…" and "….outputs…": artifacts of a task or a step.
bool is_artifact_of(std::string_view variable, std::string_view prefix);

// What a text may refer to, and how.
class VariableRules {
 public:
  // Treats undeclared params as errors if `strict` (stand-alone definitions).
  VariableRules(const Value& param_specs, bool strict);
  // Checks a field that holds one text: variables for whole lists are errors.
  void check_text(FieldErrors& errors, const Value& text, const std::string& path) const;
  // Checks a list whose items may be whole lists: `command`, `args`.
  void check_items(FieldErrors& errors, const Value& list, const std::string& path) const;
  // Checks the value of a param; errors of every text in it have the path `path`.
  void check_param_value(FieldErrors& errors, const Value& value, const std::string& path) const;

 private:
  void check(FieldErrors& errors, std::string_view text, const std::string& path,
             bool may_be_whole) const;
  std::map<std::string, std::string> types_{};  // param: its type
  std::map<std::string, Value> properties_{};   // object param: its keys
  bool strict_ = false;
};

// Checks a reference to a definition: a name, or a resolver with params.
FieldErrors validate_ref(const Value& ref);
// Checks a script: the emulated nodes are those of Linux.
FieldErrors validate_script(const Value& script);

// Returns true if the text holds a param: its value is checked when that is known.
bool holds_param(const Value& text);

// Returns true for a negative or malformed Go duration.
bool is_negative(const Value& duration);

// Details of errors about names of tasks and steps, in Tekton's words.
inline constexpr std::string_view kDnsDetails =
    "must be a valid DNS Label.For more info refer to "
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#names";

}  // namespace athanor::tekton
