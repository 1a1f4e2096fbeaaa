// SPDX-License-Identifier: Apache-2.0
// Texts of field errors (docs/spec/appwrapper.md 3.5).
#pragma once

#include <string>
#include <string_view>

#include "kube/value/value.hpp"

namespace athanor::appwrapper {

// Prints values of objects and lists as compact JSON, cut after 256 characters.
std::string invalid(std::string_view field, const Value& value, std::string_view detail);
// Returns an error of type Forbidden (the next one: Required), which quotes no value.
std::string forbidden(std::string_view field, std::string_view detail);
std::string required(std::string_view field, std::string_view detail);

}  // namespace athanor::appwrapper
