// SPDX-License-Identifier: Apache-2.0
#include "cel/rule_path.hpp"

#include <fmt/format.h>

#include "base/result.hpp"

namespace athanor::cel {
namespace {

struct Problem {
  std::string text{};
};
using Text = Result<std::string, Problem>;

// 'it\'s' at the front of `rest`, without the quotes.
Text quoted(std::string_view& rest) {
  if (!rest.starts_with('\'')) {
    return Problem{
        fmt::format("expected single quoted string but got {}", rest.substr(0, rest.find(']')))};
  }
  constexpr std::string_view kNames = "abfnrtv'\\";
  constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v'\\";
  std::string text;
  for (std::size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == '\'') {
      rest.remove_prefix(i + 1);
      return text;
    }
    if (rest[i] != '\\') {
      text += rest[i];
      continue;
    }
    const std::size_t index = i + 1 < rest.size() ? kNames.find(rest[i + 1]) : kNames.npos;
    if (index == kNames.npos) {
      return Problem{
          fmt::format("invalid string literal: invalid escape char {}", rest.substr(i, 2))};
    }
    text += kMeanings[index];
    ++i;
  }
  return Problem{"unexpected end of JSON path"};
}

class Walk {
 public:
  explicit Walk(const Schema& schema) : schema_(&schema) {}

  Text run(std::string_view rest) {
    while (!rest.empty()) {
      std::string name;
      if (rest.front() == '.') {
        rest.remove_prefix(1);
        const std::size_t end = std::min(rest.find_first_of(".[]"), rest.size());
        if (end == 0) {
          return Problem{"unexpected end of JSON path"};
        }
        name = rest.substr(0, end);
        rest.remove_prefix(end);
      } else if (rest.front() == '[') {
        rest.remove_prefix(1);
        ATHANOR_TRY(name, quoted(rest));
        if (!rest.starts_with(']')) {
          return Problem{rest.empty() ? "unexpected end of JSON path"
                                      : fmt::format("expected ] but got {}", rest.substr(0, 1))};
        }
        rest.remove_prefix(1);
      } else {
        return Problem{
            fmt::format("expected [ or . but got: {}", rest.substr(0, rest.find_first_of(".[]")))};
      }
      if (!step(name)) {
        return Problem{"does not refer to a valid field"};
      }
    }
    return std::move(path_);
  }

 private:
  bool step(const std::string& name) {
    if (!schema_->fields.empty()) {
      const SchemaField* field = schema_->field(name);
      if (field == nullptr) {
        return false;
      }
      path_ += "." + name;
      schema_ = field->schema;
      return true;
    }
    if (schema_->additional == nullptr) {
      return false;
    }
    path_ += "[" + name + "]";
    schema_ = schema_->additional;
    return true;
  }

  const Schema* schema_;
  std::string path_{};
};

}  // namespace

std::string field_path_problem(std::string_view path, const Schema& schema) {
  const Text walked = Walk(schema).run(path);
  return walked.ok() ? std::string() : walked.error().text;
}

std::string normal_field_path(std::string_view path, const Schema& schema) {
  Text walked = Walk(schema).run(path);
  return walked.ok() ? *std::move(walked) : std::string();
}

}  // namespace athanor::cel
