// SPDX-License-Identifier: Apache-2.0
// Params: values against declarations, defaults, and what they replace (docs/spec/tekton.md 6, 7.2
// rows 4 to 7 and 11).
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "embedded/tekton/model/substitute.hpp"
#include "kube/value/value.hpp"

namespace athanor::tekton {

// Returns a param's value: a string, a list of strings or a map of strings. Numbers and booleans
// become their text, deeper values their JSON.
Value param_value(const Value& written);
// Puts param_value() in the place of member `field` where it is present.
void read_param_value(Value& holder, std::string_view field);
// Returns the type of a value: "string", "array" or "object".
std::string_view value_type(const Value& value);
// Returns the type of a declaration {name, type, default, properties}: the type given, else what
// default or properties imply.
std::string declared_type(const Value& spec);

// Returns declared params that have neither a value nor a default, in the order of declaration.
std::vector<std::string> missing_params(const Value& specs, const Value& params);
// Returns given params whose value is of another type than declared.
std::vector<std::string> mismatched_params(const Value& specs, const Value& params);
// Returns object params and the keys of their properties that neither value nor default has.
std::map<std::string, std::vector<std::string>> missing_object_keys(const Value& specs,
                                                                    const Value& params);
// Reports, in Tekton's words, the first given param outside its declaration's enum; empty: none.
std::string param_outside_enum(const Value& specs, const Value& params);
// Returns "map[p:[k] q:[a b]]".
std::string go_map(const std::map<std::string, std::vector<std::string>>& keys);

// Returns the value of every declared or given param. Defaults may use other params, ten levels
// deep. Error messages: `parameter resolution failed: …` (6).
Result<std::map<std::string, Value>> param_values(const Value& specs, const Value& params);
// Returns the values as variables "params.<name>".
Replacements replacements_of(const std::map<std::string, Value>& values);

// References such as $(params.a[3]) below `tree` that lie beyond the end of their array, in order
// of text.
std::vector<std::string> bad_array_indexes(const Value& tree,
                                           const std::map<std::string, Value>& values);

// Returns the text of 7.2 row 11 after "invalid input params for task <t>: "; empty: none is wrong.
std::string task_param_problem(const Value& specs, const Value& params);

}  // namespace athanor::tekton
