// SPDX-License-Identifier: Apache-2.0
// JsonPathTemplate: text with paths in braces, as kubectl -o jsonpath takes it:
// {.a.b}, {range .items[*]}...{end}, {"\n"}. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/text/jsonpath.hpp"
#include "kube/value/value.hpp"

namespace athanor::cli {

// Immutable after parse().
class JsonPathTemplate {
 public:
  // Parses a template; without braces it is one path. Errors (wrong usage) name the wrong part.
  static Result<JsonPathTemplate> parse(std::string_view text);
  // Results of one path are separated by blanks; objects and lists print as JSON.
  [[nodiscard]] std::string render(const Value& data) const;

 private:
  struct Part {
    std::string text{};     // literal
    bool is_path = false;   // else literal
    bool is_range = false;  // `inner` for each result of `path`
    JsonPath path{};
    std::vector<Part> inner{};
  };
  static Result<std::vector<Part>> parse_parts(std::string_view text, std::size_t& at, bool nested);
  static void render(const std::vector<Part>& parts, const Value& data, std::string& out);
  std::vector<Part> parts_{};
};

}  // namespace athanor::cli
