// SPDX-License-Identifier: Apache-2.0
#include "console/routes/answer_notation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace athanor::console {
namespace {

constexpr std::string_view kBlanks = " \n";

Value typed(std::string_view type) {
  return Value::object({{"type", type}});
}

class NotationReader {
 public:
  explicit NotationReader(std::string_view text) : rest_(text) {}

  Value whole() {
    Value schema = type();
    skip_blanks();
    ATHANOR_CHECK(rest_.empty(), "a notation ends with its type");
    return schema;
  }

 private:
  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlanks), rest_.size()));
  }
  bool takes(char c) {
    skip_blanks();
    if (!rest_.starts_with(c)) {
      return false;
    }
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) { ATHANOR_CHECK(takes(c), "a notation closes its brackets"); }
  std::string_view word() {
    skip_blanks();
    const std::size_t end = std::min(rest_.find_first_of("[]<>{}:,?!~@ \n"), rest_.size());
    ATHANOR_CHECK(end > 0, "a notation has a word here");
    const std::string_view found = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return found;
  }

  Value type() {
    Value schema = plain_type();
    if (!takes('~')) {
      return schema;
    }
    if (!schema.contains("$ref")) {
      schema.set("nullable", true);
      return schema;
    }
    return Value::object({{"nullable", true}, {"allOf", Value::list({std::move(schema)})}});
  }

  Value plain_type() {
    if (takes('[')) {
      Value schema = Value::object({{"type", "array"}, {"items", type()}});
      expect(']');
      return schema;
    }
    if (takes('<')) {
      Value schema = Value::object({{"type", "object"}, {"additionalProperties", type()}});
      expect('>');
      return schema;
    }
    if (takes('@')) {
      return Value::object({{"$ref", fmt::format("#/components/schemas/{}", word())}});
    }
    return takes('{') ? members() : named_type(word());
  }

  static Value named_type(std::string_view name) {
    if (name == "text") {
      return typed("string");
    }
    if (name == "time") {
      return Value::object({{"type", "string"}, {"format", "date-time"}});
    }
    if (name == "whole") {
      return typed("integer");
    }
    if (name == "flag") {
      return typed("boolean");
    }
    if (name == "object") {
      return Value::object({{"type", "object"}, {"additionalProperties", Value::object()}});
    }
    ATHANOR_CHECK(name == "number" || name == "any", "a notation knows its types");
    return name == "any" ? Value::object() : typed("number");
  }

  Value members() {
    Value properties = Value::object();
    Value required = Value::list();
    const bool all_optional = takes('?');
    while (!takes('}')) {
      const std::string_view name = word();
      const bool optional = takes('?');
      const bool needed = takes('!');
      if (needed || (!optional && !all_optional)) {
        required.push_back(name);
      }
      properties.set(name, takes(':') ? type() : typed("string"));
      static_cast<void>(takes(','));
    }
    Value schema = Value::object({{"type", "object"}, {"properties", std::move(properties)}});
    if (!required.empty()) {
      schema.set("required", std::move(required));
    }
    return schema;
  }

  std::string_view rest_;
};

}  // namespace

Value schema_of(std::string_view notation) {
  return NotationReader(notation).whole();
}

}  // namespace athanor::console
