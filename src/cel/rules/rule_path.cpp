// SPDX-License-Identifier: Apache-2.0
#include "cel/rules/rule_path.hpp"

#include <algorithm>
#include <optional>

namespace athanor::cel {
namespace {

// 'it\'s' at the front of `rest`, without the quotes.
std::optional<std::string> quoted(std::string_view& rest) {
  if (!rest.starts_with('\'')) {
    return std::nullopt;
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
    const std::size_t index =
        i + 1 < rest.size() ? kNames.find(rest[i + 1]) : std::string_view::npos;
    if (index == std::string_view::npos) {
      return std::nullopt;
    }
    text += kMeanings[index];
    ++i;
  }
  return std::nullopt;
}

// One step at the front of `rest`: ".name" or "['name']".
std::optional<std::string> next_step(std::string_view& rest) {
  if (rest.front() == '.') {
    rest.remove_prefix(1);
    const std::size_t end = std::min(rest.find_first_of(".[]"), rest.size());
    std::string name(rest.substr(0, end));
    rest.remove_prefix(end);
    return name.empty() ? std::nullopt : std::optional(std::move(name));
  }
  if (rest.front() != '[') {
    return std::nullopt;
  }
  rest.remove_prefix(1);
  std::optional<std::string> name = quoted(rest);
  if (!name || !rest.starts_with(']')) {
    return std::nullopt;
  }
  rest.remove_prefix(1);
  return name;
}

std::optional<std::string> walk(std::string_view rest, const Schema& root) {
  std::string path;
  const Schema* schema = &root;
  while (!rest.empty()) {
    const std::optional<std::string> name = next_step(rest);
    if (!name) {
      return std::nullopt;
    }
    if (!schema->fields.empty()) {
      const SchemaField* field = schema->field(*name);
      if (field == nullptr) {
        return std::nullopt;
      }
      path += "." + *name;
      schema = field->schema;
    } else if (schema->additional != nullptr) {
      path += "[" + *name + "]";
      schema = schema->additional;
    } else {
      return std::nullopt;
    }
  }
  return path;
}

}  // namespace

bool is_field_path(std::string_view path, const Schema& schema) {
  return walk(path, schema).has_value();
}

std::string normal_field_path(std::string_view path, const Schema& schema) {
  return walk(path, schema).value_or("");
}

}  // namespace athanor::cel
