// SPDX-License-Identifier: Apache-2.0
// JSON text to Value and back, with Go's number and escape rules (docs/spec/foundations.md 2).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor::json {

struct ParseOptions {
  int max_depth = 200;
  // When set, receives the paths of duplicate keys ("data.a"), in document order; the last one
  // wins.
  std::vector<std::string>* duplicates = nullptr;
};

// Parses RFC 8259, strictly. Invalid UTF-8 and lone surrogates become U+FFFD. Errors: BadRequest
// with the text of Go's decoder where that is fixed ("unexpected end of JSON input").
Result<Value> parse(std::string_view text, const ParseOptions& options = {});

enum class Style : std::uint8_t { Compact, Pretty };  // Pretty: two blanks
// Prints with html escapes (< > & U+2028 U+2029 as \u003c ...), as Go's encoder writes API bodies.
std::string print(const Value& value, Style style = Style::Compact);
// Appends the compact form without a copy; what list and watch encoders use.
void append(const Value& value, std::string& out);
// Returns one string, quoted and escaped as in print().
std::string quote(std::string_view text);
// Returns a double as Go prints it: 3, 0.1, 1e+21.
std::string format_number(double number);

}  // namespace athanor::json
