// SPDX-License-Identifier: Apache-2.0
#include "kube/schema/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/cancellation.hpp"
#include "kube/names/names.hpp"
#include "kube/text/formats.hpp"
#include "kube/text/json.hpp"
#include "kube/text/path_text.hpp"
#include "kube/text/regex.hpp"

namespace athanor {
namespace {

constexpr std::size_t kFewErrors = 10;
constexpr std::size_t kMostErrors = 10'000;
constexpr std::size_t kMostErrorBytes = std::size_t{4} << 20;

std::string_view json_type(const Value& value) {
  switch (value.type()) {
    case Value::Type::Null:
      return "null";
    case Value::Type::Bool:
      return "boolean";
    case Value::Type::Int:
    case Value::Type::Uint:
      return "integer";
    case Value::Type::Double:
      return std::trunc(value.as_double()) == value.as_double() ? "integer" : "number";
    case Value::Type::String:
      return "string";
    case Value::Type::List:
      return "array";
    case Value::Type::Object:
      return "object";
  }
  return "null";
}

bool has_type(const Value& value, SchemaType type) {
  const std::string_view actual = json_type(value);
  if (type == SchemaType::Number) {
    return actual == "number" || actual == "integer";
  }
  if (type == SchemaType::IntOrString) {
    return actual == "integer" || actual == "string";
  }
  return expected_type(type).empty() || expected_type(type) == actual;
}

std::int64_t rune_count(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
}

std::string number_text(double number) {
  return json::format_number(number);
}

// The same text for equal values, whatever the order of their members.
std::string canonical(const Value& value) {
  if (value.is_object()) {
    std::map<std::string, std::string> members;
    for (const Member& member : value.members()) {
      members.emplace(member.key(), canonical(member.value));
    }
    std::string text = "{";
    for (const auto& [name, member_text] : members) {
      text.append(text.size() == 1 ? "" : ",").append(json::quote(name)).append(":");
      text.append(member_text);
    }
    return text.append("}");
  }
  if (value.is_list()) {
    std::string text = "[";
    for (const Value& item : value.items()) {
      text.append(text.size() == 1 ? "" : ",").append(canonical(item));
    }
    return text.append("]");
  }
  return json::print(value);
}

// The same for equal values and for no others, shorter than `canonical` where items are texts.
std::string identity_text(const Value& value) {
  return value.is_string() ? std::string("\"").append(value.as_string()) : canonical(value);
}

// Identifies the items of a keyed list: their key members, sorted by name.
Value key_of(const Value& item, const Schema& list) {
  std::vector<std::string> names = list.list_map_keys;
  std::sort(names.begin(), names.end());
  Value key = Value::object();
  for (const std::string& name : names) {
    if (const Value* value = item.find(name)) {
      key.set(name, *value);
    }
  }
  return key;
}

// The text of the item's identity. No name of a field is empty, so the text of one key member
// equals no object's text.
std::string identity_text(const Value& item, const Schema& list) {
  if (list.list_type != ListType::Map) {
    return identity_text(item);
  }
  if (list.list_map_keys.size() == 1) {
    const Value* value = item.find(list.list_map_keys.front());
    return value == nullptr ? std::string() : identity_text(*value);
  }
  return canonical(key_of(item, list));
}

// The first item that cannot have keys; the size when all can.
std::size_t first_stranger(const Value& list) {
  const auto items = list.items();
  const auto found = std::find_if(items.begin(), items.end(), [](const Value& item) {
    return !item.is_object() && !item.is_null();
  });
  return static_cast<std::size_t>(found - items.begin());
}

class Validator {
 public:
  explicit Validator(std::string_view path) : path_(path) {}

  void node(const Value& value, const Schema& schema, const Value* old) {
    give_up_if_cancelled();
    if (is_full()) {
      return;
    }
    if (!schema.name.empty()) {
      builtin_node(value, schema);
      return;
    }
    if (value.is_null() && schema.nullable) {
      return;
    }
    if (old != nullptr && old->identical(value)) {
      return;  // what was there before may stay
    }
    const std::size_t before = errors_.size();
    check_enum(value, schema);
    if (!has_type(value, schema.type)) {
      check_other_type(value, schema);
    } else if (value.is_string()) {
      check_string(value, schema);
    } else if (value.is_number()) {
      check_number(value, schema);
    } else if (value.is_list()) {
      check_list(value, schema, old);
    } else if (value.is_object()) {
      check_object(value, schema, old);
    }
    check_combinations(value, schema);
    if (errors_.size() > before && old != nullptr && *old == value) {
      errors_.resize(before);
    }
  }

  std::vector<FieldError> take() { return std::move(errors_); }
  std::vector<FieldError> take_list_key_errors() { return std::move(list_key_errors_); }

 private:
  // Returns true if there are errors enough: each names the whole path, and a key in it may be as
  // long as a request.
  [[nodiscard]] bool is_full() const {
    return errors_.size() > kFewErrors &&
           (errors_.size() > kMostErrors || errors_.size() * path_.size() > kMostErrorBytes);
  }

  // metadata: only what a CRD restricts (name, generateName) is checked here.
  void builtin_node(const Value& value, const Schema& schema) {
    for (const SchemaField& field : schema.fields) {
      const Value* member = value.find(field.name);
      if (member != nullptr && field.schema->type == SchemaType::String) {
        const PathText::Step step(path_, field.name);
        node(*member, *field.schema, nullptr);
      }
    }
  }

  void invalid(const Value& value, std::string_view rule) {
    errors_.push_back(
        FieldError::invalid(path_.text(), value, fmt::format("{} in body {}", path_.text(), rule)));
  }

  // A value of another type than the schema's. Where a text has a format the reference compares
  // formats, and takes lists.
  void check_other_type(const Value& value, const Schema& schema) {
    const bool formatted = schema.type == SchemaType::String && !schema.format.empty();
    if (!formatted || value.is_null()) {
      errors_.push_back(
          FieldError::type_invalid(path_.text(), json_type(value), expected_type(schema.type)));
    } else if (!value.is_list()) {
      const std::string_view format = value.is_integer()  ? "int64"
                                      : value.is_number() ? "float64"
                                                          : "";
      errors_.push_back(FieldError::type_invalid(path_.text(), format, schema.format));
    }
  }

  void check_enum(const Value& value, const Schema& schema) {
    const auto& allowed = schema.enum_values;
    if (allowed.empty() || std::find(allowed.begin(), allowed.end(), value) != allowed.end()) {
      return;
    }
    std::vector<std::string> names;
    names.reserve(allowed.size());
    for (const Value& each : allowed) {
      names.push_back(each.is_string() ? each.str() : json::print(each));
    }
    errors_.push_back(FieldError::not_supported(path_.text(), value, names));
  }

  void check_string(const Value& value, const Schema& schema) {
    const std::string_view text = value.as_string();
    if (schema.max_length && rune_count(text) > *schema.max_length) {
      errors_.push_back(FieldError::too_long(path_.text(), *schema.max_length));
    } else if (schema.min_length && rune_count(text) < *schema.min_length) {
      invalid(value, fmt::format("should be at least {} chars long", *schema.min_length));
    } else if (schema.pattern_regex != nullptr && !schema.pattern_regex->search(text)) {
      invalid(value, fmt::format("should match '{}'", schema.pattern));
    }
    if (!schema.format.empty() && !matches_format(schema.format, text)) {
      errors_.push_back(FieldError::type_invalid(path_.text(), text, schema.format));
    }
  }

  void check_number(const Value& value, const Schema& schema) {
    const double number = value.as_double();
    if (schema.multiple_of && *schema.multiple_of > 0) {
      const double quotient = number / *schema.multiple_of;
      if (std::abs(quotient - std::round(quotient)) > 1e-9 * std::max(1.0, std::abs(quotient))) {
        invalid(value, "should be a multiple of " + number_text(*schema.multiple_of));
      }
    }
    if (schema.maximum) {
      if (schema.exclusive_maximum && number >= *schema.maximum) {
        invalid(value, "should be less than " + number_text(*schema.maximum));
      } else if (number > *schema.maximum) {
        invalid(value, "should be less than or equal to " + number_text(*schema.maximum));
      }
    }
    if (schema.minimum) {
      if (schema.exclusive_minimum && number <= *schema.minimum) {
        invalid(value, "should be greater than " + number_text(*schema.minimum));
      } else if (number < *schema.minimum) {
        invalid(value, "should be greater than or equal to " + number_text(*schema.minimum));
      }
    }
  }

  void list_key_error(FieldError error) {
    list_key_errors_.push_back(error);
    errors_.push_back(std::move(error));
  }

  void check_list(const Value& value, const Schema& schema, const Value* old) {
    const auto count = static_cast<std::int64_t>(value.size());
    if (schema.min_items && count < *schema.min_items) {
      invalid(count, fmt::format("should have at least {} items", *schema.min_items));
    }
    if (schema.max_items && count > *schema.max_items) {
      errors_.push_back(FieldError::too_many(path_.text(), count, *schema.max_items));
    }
    const bool keyed = schema.list_type == ListType::Map;
    const bool has_keys = schema.list_type != ListType::Atomic;
    const std::size_t stranger = keyed ? first_stranger(value) : value.size();
    std::map<std::string, int> seen;
    std::map<std::string, const Value*> old_items;
    if (keyed && old != nullptr) {
      for (const Value& item : old->items()) {
        old_items.emplace(identity_text(item, schema), &item);
      }
    }
    for (std::size_t i = 0; i < value.size(); ++i) {
      const PathText::Step step(path_, i);
      const Value* old_item = nullptr;
      if (i == stranger) {
        list_key_error(FieldError::invalid(path_.text(), value[i],
                                           "must be an object for an array of list-type map"));
      }
      if (has_keys) {
        std::string text = identity_text(value[i], schema);
        const auto found = old_items.find(text);
        old_item = found == old_items.end() ? nullptr : found->second;
        // Reported for the second of its kind alone, and only if all items can have keys.
        if (++seen[std::move(text)] == 2 && stranger == value.size() && !is_full()) {
          list_key_error(
              FieldError::duplicate(path_.text(), keyed ? key_of(value[i], schema) : value[i]));
        }
      }
      if (schema.items != nullptr) {
        node(value[i], *schema.items, old_item);
      }
    }
  }

  void check_object(const Value& value, const Schema& schema, const Value* old) {
    const auto count = static_cast<std::int64_t>(value.size());
    if (schema.min_properties && count < *schema.min_properties) {
      invalid(count, fmt::format("should have at least {} properties", *schema.min_properties));
    }
    if (schema.max_properties && count > *schema.max_properties) {
      errors_.push_back(FieldError::too_many(path_.text(), count, *schema.max_properties));
    }
    for (const std::string& name : schema.required) {
      if (!value.contains(name)) {
        errors_.push_back(FieldError::required(path_.child(name)));
      }
    }
    for (const Member& member : value.members()) {
      const SchemaField* field = schema.field(member.key());
      const SchemaPtr below = field != nullptr ? field->schema : schema.additional;
      const bool told = schema.embedded_resource && !member.value.is_string() &&
                        (member.key() == "apiVersion" || member.key() == "kind");
      if (below != nullptr && !told) {
        const PathText::Step step(path_, member.key());
        node(member.value, *below, old == nullptr ? nullptr : old->find(member.key()));
      }
    }
  }

  // The errors of one alternative, apart from the others.
  std::vector<FieldError> errors_of(const Value& value, const Schema& schema) {
    std::vector<FieldError> outer = std::move(errors_);
    errors_.clear();
    node(value, schema, nullptr);
    std::swap(outer, errors_);
    return outer;
  }

  void combination_error(std::string_view text) {
    errors_.push_back(
        FieldError::invalid("<nil>", "", fmt::format("\"{}\" {}", path_.text(), text)));
  }

  // How many alternatives hold; `nearest` gets the errors of the one that fails least.
  std::size_t count_valid(const Value& value, const std::vector<SchemaPtr>& alternatives,
                          std::vector<FieldError>& nearest) {
    std::size_t valid = 0;
    bool first = true;
    for (const SchemaPtr alternative : alternatives) {
      std::vector<FieldError> errors = errors_of(value, *alternative);
      valid += errors.empty() ? 1U : 0U;
      if (first || errors.size() < nearest.size()) {
        nearest = std::move(errors);
      }
      first = false;
    }
    return valid;
  }

  void append(std::vector<FieldError> errors) {
    std::move(errors.begin(), errors.end(), std::back_inserter(errors_));
  }

  void check_combinations(const Value& value, const Schema& schema) {
    std::vector<FieldError> nearest;
    if (!schema.any_of.empty() && count_valid(value, schema.any_of, nearest) == 0) {
      combination_error("must validate at least one schema (anyOf)");
      append(std::move(nearest));
    }
    if (!schema.one_of.empty()) {
      nearest.clear();
      const std::size_t valid = count_valid(value, schema.one_of, nearest);
      if (valid == 0) {
        combination_error("must validate one and only one schema (oneOf). Found none valid");
        append(std::move(nearest));
      } else if (valid > 1) {
        combination_error(fmt::format(
            "must validate one and only one schema (oneOf). Found {} valid alternatives", valid));
      }
    }
    check_all_of(value, schema);
    if (schema.not_schema != nullptr && errors_of(value, *schema.not_schema).empty()) {
      combination_error("must not validate the schema (not)");
    }
  }

  void check_all_of(const Value& value, const Schema& schema) {
    std::size_t valid = 0;
    std::vector<FieldError> all;
    for (const SchemaPtr part : schema.all_of) {
      std::vector<FieldError> errors = errors_of(value, *part);
      valid += errors.empty() ? 1U : 0U;
      std::move(errors.begin(), errors.end(), std::back_inserter(all));
    }
    if (valid != schema.all_of.size()) {
      combination_error(valid == 0 ? "must validate all the schemas (allOf). None validated"
                                   : "must validate all the schemas (allOf)");
      append(std::move(all));
    }
  }

  PathText path_;
  std::vector<FieldError> errors_{};
  std::vector<FieldError> list_key_errors_{};  // those of `errors_` about what lists may not hold
};

}  // namespace

std::string_view expected_type(SchemaType type) {
  switch (type) {
    case SchemaType::Object:
      return "object";
    case SchemaType::List:
      return "array";
    case SchemaType::String:
      return "string";
    case SchemaType::Boolean:
      return "boolean";
    case SchemaType::Integer:
      return "integer";
    case SchemaType::Number:
      return "number";
    case SchemaType::IntOrString:
      return "integer,string";
    case SchemaType::Any:
    case SchemaType::Quantity:
    case SchemaType::Time:
    case SchemaType::MicroTime:
    case SchemaType::Bytes:
    case SchemaType::RawExtension:
    case SchemaType::Fields:
    case SchemaType::Duration:
      return "";
  }
  return "";
}

std::vector<FieldError> validate(const Value& value, const Schema& schema,
                                 const ValidateOptions& options) {
  Validator validator(options.path);
  validator.node(value, schema, options.old_object);
  return options.list_keys_only ? validator.take_list_key_errors() : validator.take();
}

}  // namespace athanor
