// SPDX-License-Identifier: Apache-2.0
#include "kube/prune_builtin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/digest.hpp"
#include "base/time.hpp"
#include "kube/json.hpp"
#include "kube/quantity.hpp"
#include "kube/text.hpp"

namespace athanor::prune {
namespace {

constexpr std::string_view kBadQuantity =
    "quantities must match the regular expression "
    "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

bool is_map(const Schema& schema) {
  return schema.additional != nullptr;
}

std::string_view json_kind(const Value& value) {
  switch (value.type()) {
    case Value::Type::Null:
      return "null";
    case Value::Type::Bool:
      return "bool";
    case Value::Type::Int:
    case Value::Type::Uint:
    case Value::Type::Double:
      return "number";
    case Value::Type::String:
      return "string";
    case Value::Type::List:
      return "array";
    case Value::Type::Object:
      return "object";
  }
  return "null";
}

// "io.k8s.api.core.v1.PodSpec": with package "v1.PodSpec", else "PodSpec".
std::string_view struct_name(std::string_view full, bool with_package) {
  const std::size_t dot = full.rfind('.');
  if (dot == std::string_view::npos || dot == 0) {
    return full;
  }
  const std::size_t package = full.rfind('.', dot - 1);
  return full.substr(with_package && package != std::string_view::npos ? package + 1 : dot + 1);
}

std::string go_type(const Schema& schema) {
  switch (schema.type) {
    case SchemaType::String:
      return "string";
    case SchemaType::Boolean:
      return "bool";
    case SchemaType::Integer:
      return schema.format;
    case SchemaType::Number:
      return "float64";
    case SchemaType::Bytes:
      return "[]uint8";
    case SchemaType::List:
      return "[]" + go_type(*schema.items);
    case SchemaType::Object:
      if (is_map(schema)) {
        return "map[string]" + go_type(*schema.additional);
      }
      break;
    case SchemaType::Any:
    case SchemaType::IntOrString:
    case SchemaType::Quantity:
    case SchemaType::Time:
    case SchemaType::MicroTime:
    case SchemaType::RawExtension:
    case SchemaType::Fields:
    case SchemaType::Duration:
      break;
  }
  return std::string(struct_name(schema.name, true));
}

// A JSON null as an item of a list or map: Go's zero value, which is null for what has one.
Value null_item(const Schema& schema) {
  SchemaField field;
  field.schema = &schema;
  return schema.type == SchemaType::Bytes ? Value("") : zero_value(field);
}

// Optional fields with such a value are not printed.
bool is_zero(const Value& value, const SchemaField& field) {
  if (value.is_null()) {
    return true;
  }
  switch (field.schema->type) {
    case SchemaType::String:
      return !field.presence && value.as_string().empty();
    case SchemaType::Boolean:
      return !field.presence && !value.as_bool();
    case SchemaType::Integer:
    case SchemaType::Number:
      return !field.presence && value.as_double() == 0;
    case SchemaType::Bytes:
      return value.as_string().empty();
    case SchemaType::List:
      return value.empty();
    case SchemaType::Object:
      return is_map(*field.schema) && value.empty();
    case SchemaType::Any:
    case SchemaType::IntOrString:
    case SchemaType::Quantity:
    case SchemaType::Time:
    case SchemaType::MicroTime:
    case SchemaType::RawExtension:
    case SchemaType::Fields:
    case SchemaType::Duration:
      return false;
  }
  return false;
}

}  // namespace

Value zero_value(const SchemaField& field) {
  if (field.presence) {
    return {};
  }
  const Schema& schema = *field.schema;
  switch (schema.type) {
    case SchemaType::String:
      return "";
    case SchemaType::Boolean:
      return false;
    case SchemaType::Integer:
    case SchemaType::Number:
    case SchemaType::IntOrString:
      return 0;
    case SchemaType::Quantity:
      return "0";
    case SchemaType::Object: {
      if (is_map(schema)) {
        return {};
      }
      Value object = Value::object();
      for (const SchemaField& inner : schema.fields) {
        if (inner.always_present) {
          object.set(inner.name, zero_value(inner));
        }
      }
      return object;
    }
    case SchemaType::List:
    case SchemaType::Any:
    case SchemaType::Time:
    case SchemaType::MicroTime:
    case SchemaType::Bytes:
    case SchemaType::RawExtension:
    case SchemaType::Fields:
    case SchemaType::Duration:
      return {};
  }
  return {};
}

void IssueCollector::visit(const PathText& path, std::string_view field) {
  if (issues_ == nullptr || issues_->duplicates == nullptr || issues_->duplicates->empty()) {
    return;
  }
  const std::string full = path.child(field);
  for (const std::string& duplicate : *issues_->duplicates) {
    if (duplicate == full &&
        std::find(reported_.begin(), reported_.end(), full) == reported_.end()) {
      issues_->texts.push_back(fmt::format("duplicate field {}", go_quote(full)));
      reported_.push_back(full);
    }
  }
}

void IssueCollector::unknown(const PathText& path, std::string_view field) {
  if (issues_ != nullptr) {
    issues_->texts.push_back(fmt::format("unknown field {}", go_quote(path.child(field))));
  }
}

void IssueCollector::finish() {
  if (issues_ == nullptr || issues_->duplicates == nullptr) {
    return;
  }
  for (const std::string& duplicate : *issues_->duplicates) {
    if (std::find(reported_.begin(), reported_.end(), duplicate) == reported_.end()) {
      issues_->texts.push_back(fmt::format("duplicate field {}", go_quote(duplicate)));
      reported_.push_back(duplicate);
    }
  }
}

void BuiltinNormalizer::fail(std::string text) {
  if (!error_) {
    error_ = std::move(text);
  }
}

void BuiltinNormalizer::fail_type(const Value& in, const Schema& schema) {
  fail_mismatch(json_kind(in), schema);
}

void BuiltinNormalizer::fail_mismatch(std::string_view actual, const Schema& schema) {
  if (names_.empty()) {
    fail(
        fmt::format("json: cannot unmarshal {} into Go value of type {}", actual, go_type(schema)));
    return;
  }
  fail(fmt::format("json: cannot unmarshal {} into Go struct field {}.{} of type {}", actual,
                   struct_name(structs_.back()->name, false), fmt::join(names_, "."),
                   go_type(schema)));
}

bool BuiltinNormalizer::normalize(const Value& in, const Schema& schema, Value& out) {
  if (error_) {
    return false;
  }
  switch (schema.type) {
    case SchemaType::Object:
      if (!in.is_object()) {
        fail_type(in, schema);
        return false;
      }
      return is_map(schema) ? normalize_map(in, schema, out) : normalize_struct(in, schema, out);
    case SchemaType::List:
      return normalize_list(in, schema, out);
    case SchemaType::String:
      if (!in.is_string()) {
        fail_type(in, schema);
      }
      return false;
    case SchemaType::Boolean:
      if (!in.is_bool()) {
        fail_type(in, schema);
      }
      return false;
    case SchemaType::Number:
      if (!in.is_number()) {
        fail_type(in, schema);
      }
      return false;
    case SchemaType::Integer:
      return normalize_integer(in, schema, out);
    case SchemaType::IntOrString:
      if (!in.is_string() && !in.is_integer()) {
        fail(fmt::format("json: cannot unmarshal {} into Go value of type int32", json_kind(in)));
      } else if (in.is_integer() && (in.as_double() > std::numeric_limits<std::int32_t>::max() ||
                                     in.as_double() < std::numeric_limits<std::int32_t>::min())) {
        fail_mismatch(fmt::format("number {}", json::print(in)), schema);
      }
      return false;
    case SchemaType::Quantity:
      return normalize_quantity(in, out);
    case SchemaType::Time:
    case SchemaType::MicroTime:
      return normalize_time(in, schema, out);
    case SchemaType::Bytes:
      return normalize_bytes(in, schema, out);
    case SchemaType::Any:
      return normalize_any(in, schema, out);
    case SchemaType::RawExtension:
    case SchemaType::Fields:
    case SchemaType::Duration:
      return false;
  }
  return false;
}

bool BuiltinNormalizer::normalize_struct(const Value& in, const Schema& schema, Value& out) {
  std::vector<Member> members;
  members.reserve(in.size() + 2);
  bool changed = false;
  structs_.push_back(&schema);
  for (const Member& member : in.members()) {
    const std::string_view key = member.key();
    issues_.visit(path_, key);
    const SchemaField* field = schema.field(key);
    if (field == nullptr) {
      issues_.unknown(path_, key);
      changed = true;
      continue;
    }
    Value value = member.value;
    if (!value.is_null()) {
      const PathText::Step step(path_, key);
      names_.push_back(key);
      changed |= normalize(member.value, *field->schema, value);
      names_.pop_back();
    }
    // An empty list of managers is a wish of its own.
    const bool reset = value.is_list() && key == "managedFields";
    if (is_zero(value, *field) && !reset) {
      if (!field->always_present) {
        changed = true;
        continue;
      }
      Value zero = zero_value(*field);
      if (!(zero == value)) {
        value = std::move(zero);
        changed = true;
      }
    }
    members.emplace_back(member.name, std::move(value));
  }
  structs_.pop_back();
  for (const SchemaField& field : schema.fields) {
    if (field.always_present && !in.contains(field.name)) {
      members.emplace_back(field.name, zero_value(field));
      changed = true;
    }
  }
  if (changed) {
    out = Value::object(std::move(members));
  }
  return changed;
}

bool BuiltinNormalizer::normalize_map(const Value& in, const Schema& schema, Value& out) {
  std::vector<Member> members;
  members.reserve(in.size());
  bool changed = false;
  for (const Member& member : in.members()) {
    issues_.visit(path_, member.key());
    Value value = member.value;
    if (value.is_null()) {
      value = null_item(*schema.additional);
      changed |= !value.is_null();
    } else {
      const PathText::Step step(path_, member.key());
      changed |= normalize(member.value, *schema.additional, value);
    }
    members.emplace_back(member.name, std::move(value));
  }
  if (changed) {
    out = Value::object(std::move(members));
  }
  return changed;
}

bool BuiltinNormalizer::normalize_list(const Value& in, const Schema& schema, Value& out) {
  if (!in.is_list()) {
    fail_type(in, schema);
    return false;
  }
  std::vector<Value> items;
  items.reserve(in.size());
  bool changed = false;
  for (std::size_t i = 0; i < in.size(); ++i) {
    Value value = in[i];
    if (value.is_null()) {
      value = null_item(*schema.items);
      changed |= !value.is_null();
    } else {
      const PathText::Step step(path_, i);
      changed |= normalize(in[i], *schema.items, value);
    }
    items.push_back(std::move(value));
  }
  if (changed) {
    out = Value::list(std::move(items));
  }
  return changed;
}

// A schema or something else (types.cpp): objects, also in a list, are of the one type named.
bool BuiltinNormalizer::normalize_any(const Value& in, const Schema& schema, Value& out) {
  if (schema.any_of.empty()) {
    return false;
  }
  if (in.is_object()) {
    return normalize(in, *schema.any_of.front(), out);
  }
  bool changed = false;
  Value copy = in;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const PathText::Step step(path_, i);
    Value item;
    if (in[i].is_object() && normalize(in[i], *schema.any_of.front(), item)) {
      copy.item(i) = std::move(item);
      changed = true;
    }
  }
  if (changed) {
    out = std::move(copy);
  }
  return changed;
}

bool BuiltinNormalizer::normalize_integer(const Value& in, const Schema& schema, Value& out) {
  if (!in.is_number()) {
    fail_type(in, schema);
    return false;
  }
  const bool narrow = schema.format == "int32";
  const double number = in.as_double();
  const double limit = narrow ? 2147483648.0 : 9223372036854775808.0;
  const bool fits = in.type() == Value::Type::Int
                        ? !narrow || (number < limit && number >= -limit)
                        : std::trunc(number) == number && number < limit && number >= -limit;
  if (!fits) {
    fail_mismatch("number " + json::print(in), schema);
    return false;
  }
  if (in.type() == Value::Type::Int) {
    return false;
  }
  out = static_cast<std::int64_t>(number);
  return true;
}

bool BuiltinNormalizer::normalize_quantity(const Value& in, Value& out) {
  if (in.as_string() == "-" || in.as_string() == "+") {
    out = "0";  // a sign of nothing
    return true;
  }
  const std::optional<Quantity> quantity =
      in.is_string() || in.is_number() ? Quantity::parse(in) : std::nullopt;
  if (!quantity) {
    fail(std::string(kBadQuantity));
    return false;
  }
  std::string text = quantity->text();
  if (in.is_string() && in.as_string() == text) {
    return false;
  }
  out = text;
  return true;
}

bool BuiltinNormalizer::normalize_time(const Value& in, const Schema& schema, Value& out) {
  if (!in.is_string()) {
    fail(fmt::format("json: cannot unmarshal {} into Go value of type string", json_kind(in)));
    return false;
  }
  const bool micro = schema.type == SchemaType::MicroTime;
  const std::optional<Instant> instant = parse_time(in.as_string());
  if (!instant) {
    const std::string quoted = go_quote(in.as_string());
    fail(fmt::format("parsing time {} as \"{}\": cannot parse {} as \"2006\"", quoted,
                     micro ? "2006-01-02T15:04:05.000000Z07:00" : "2006-01-02T15:04:05Z07:00",
                     quoted));
    return false;
  }
  std::string text = micro ? format_micro_time(*instant) : format_time(*instant);
  if (in.as_string() == text) {
    return false;
  }
  out = text;
  return true;
}

// Base64, or a list of numbers.
bool BuiltinNormalizer::normalize_bytes(const Value& in, const Schema& schema, Value& out) {
  if (in.is_list()) {
    std::string bytes;
    for (const Value& item : in.items()) {
      if (!item.is_null() && (!item.is_integer() || item.as_int() < 0 || item.as_int() > 255)) {
        fail(fmt::format("json: cannot unmarshal {} into Go struct field of type uint8",
                         json_kind(item)));
        return false;
      }
      bytes.push_back(static_cast<char>(item.as_int()));
    }
    out = base64_encode(bytes);
    return true;
  }
  if (!in.is_string()) {
    fail_type(in, schema);
    return false;
  }
  const std::string_view text = in.as_string();
  if (base64_decode(text)) {
    return false;
  }
  static constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/\r\n";
  const std::size_t bad = std::min(text.find_first_not_of(kAlphabet), text.size());
  fail(fmt::format("illegal base64 data at input byte {}", bad));
  return false;
}

}  // namespace athanor::prune
