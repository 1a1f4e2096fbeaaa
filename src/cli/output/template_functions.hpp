// SPDX-License-Identifier: Apache-2.0
// The functions of go-templates, and how their values print. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor::cli {

// Returns true for a function that templates may call.
bool is_template_function(std::string_view name);
// Calls one; errors say which arguments it takes.
Result<Value> call_template_function(const std::string& name, const std::vector<Value>& arguments);

// Returns the value as {{.}} prints it: "<no value>" for nothing, "map[a:1]", "[a b]".
std::string template_text(const Value& value);
// Returns false for null, false, 0 and what is empty.
bool template_truth(const Value& value);

}  // namespace athanor::cli
