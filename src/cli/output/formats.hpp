// SPDX-License-Identifier: Apache-2.0
// Objects in the formats of -o other than tables. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/output/list_options.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::cli {

// Reads "json", "jsonpath={.a}", "=wide" and their like; `formats` are those that the verb has.
// Errors (wrong usage) name them.
Result<Format> parse_format(std::string_view text, const std::vector<Output>& formats);
// Returns the formats of every list.
const std::vector<Output>& list_formats();
// Returns "table, json or name".
std::string format_choice(const std::vector<Output>& formats);

// Checks the pattern of a format before anything is asked. Errors (wrong usage) name the place.
Result<void> check_format(const Format& format);

// Whether a document is the one object itself or a List.
enum class Shape : std::uint8_t { List, Single };
// Prints objects without managedFields. Precondition: check_format(). Errors (wrong usage): a
// pattern that does not fit the data.
Result<std::string> render_objects(const std::vector<Object>& objects, const Format& format,
                                   Shape shape, bool no_headers);
// Renders any values in the same way.
Result<std::string> render_values(const std::vector<Value>& values, const Format& format,
                                  Shape shape, bool no_headers);

// Returns the document that JSON prints: the object, or a List.
Value document_of(const std::vector<Value>& values, Shape shape);

}  // namespace athanor::cli
