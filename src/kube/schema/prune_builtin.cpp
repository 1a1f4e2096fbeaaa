// SPDX-License-Identifier: Apache-2.0
#include "kube/schema/prune_builtin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "base/digest.hpp"
#include "base/time.hpp"
#include "kube/text/json.hpp"
#include "kube/text/quantity.hpp"
#include "kube/text/text.hpp"

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
      return !field.presence && value.empty();
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

// Of a text that is a time: written as we would write it, to the second.
bool is_usual(std::string_view time) {
  return time.size() == 20 && time[4] == '-' && time[7] == '-' && time[10] == 'T' &&
         time[13] == ':' && time[16] == ':' && time[19] == 'Z';
}

// The elements of a container on their way to its normal form: nothing is copied before the first
// one that differs.
template <class T>
class Rewritten {
 public:
  explicit Rewritten(std::span<const T> source) : source_(source) {}

  // What becomes of the next element: the same again, another one, nothing.
  void keep(std::size_t at) {
    if (changed_) {
      out_.push_back(source_[at]);
    }
  }
  void put(std::size_t at, T element) {
    start(at);
    out_.push_back(std::move(element));
  }
  void drop(std::size_t at) { start(at); }
  // Behind them all.
  void add(T element) {
    start(source_.size());
    out_.push_back(std::move(element));
  }
  [[nodiscard]] bool changed() const { return changed_; }
  [[nodiscard]] std::vector<T> take() { return std::move(out_); }

 private:
  void start(std::size_t at) {
    if (!changed_) {
      changed_ = true;
      out_.reserve(source_.size() + 2);
      out_.assign(source_.begin(), source_.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }

  std::span<const T> source_;
  std::vector<T> out_{};
  bool changed_ = false;
};

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

void IssueCollector::add(std::string_view what, std::string_view path) {
  std::string text = fmt::format("{} field {}", what, go_quote(path));
  if (budget_.take(text.size())) {
    issues_->texts.push_back(std::move(text));
  }
}

void IssueCollector::add_duplicate(std::size_t index) {
  if (reported_[index] || budget_.spent()) {
    return;
  }
  const std::vector<std::string>& all = *issues_->duplicates;
  bool told = false;  // YAML notes a key that comes three times twice
  for (std::size_t i = 0; i < all.size() && !told; ++i) {
    told = reported_[i] && all[i] == all[index];
  }
  reported_[index] = true;
  if (!told) {
    add("duplicate", all[index]);
  }
}

void IssueCollector::visit(const PathText& path, std::string_view field) {
  for (std::size_t i = 0; i < reported_.size(); ++i) {
    if (!reported_[i] && path.child_is(field, (*issues_->duplicates)[i])) {
      add_duplicate(i);
    }
  }
}

void IssueCollector::unknown(const PathText& path, std::string_view field) {
  if (issues_ != nullptr && !budget_.spent()) {
    add("unknown", path.child(field));
  }
}

void IssueCollector::finish() {
  for (std::size_t i = 0; i < reported_.size(); ++i) {
    add_duplicate(i);
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
  const bool uid = schema.type == SchemaType::String && !names_.empty() && names_.back() == "uid";
  fail_mismatch(actual, uid ? "types.UID" : go_type(schema));
}

void BuiltinNormalizer::fail_mismatch(std::string_view actual, std::string_view wanted) {
  if (names_.empty()) {
    fail(fmt::format("json: cannot unmarshal {} into Go value of type {}", actual, wanted));
    return;
  }
  fail(fmt::format("json: cannot unmarshal {} into Go struct field {}.{} of type {}", actual,
                   struct_name(structs_.back()->name, false), fmt::join(names_, "."), wanted));
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
  const auto members = in.members();
  Rewritten<Member> made(members);
  structs_.push_back(&schema);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members[i];
    const std::string_view key = member.key();
    issues_.visit(path_, key);
    const SchemaField* field = schema.field(key);
    if (field == nullptr) {
      issues_.unknown(path_, key);
      made.drop(i);
      continue;
    }
    Value other;
    bool differs = false;
    if (!member.value.is_null()) {
      const PathText::Step step(path_, key);
      names_.push_back(key);
      differs = normalize(member.value, *field->schema, other);
      names_.pop_back();
    }
    const Value& value = differs ? other : member.value;
    // An empty list of managers is a wish of its own.
    const bool reset = value.is_list() && key == "managedFields";
    if (!is_zero(value, *field) || reset) {
      if (differs) {
        made.put(i, {member.name, std::move(other)});
      } else {
        made.keep(i);
      }
    } else if (!field->always_present) {
      made.drop(i);
    } else if (Value zero = zero_value(*field); differs || !(zero == value)) {
      made.put(i, {member.name, std::move(zero)});
    } else {
      made.keep(i);
    }
  }
  structs_.pop_back();
  for (const SchemaField& field : schema.fields) {
    if (field.always_present && !in.contains(field.name)) {
      made.add({field.name, zero_value(field)});
    }
  }
  if (made.changed()) {
    out = Value::object(made.take());
  }
  return made.changed();
}

bool BuiltinNormalizer::normalize_map(const Value& in, const Schema& schema, Value& out) {
  const auto members = in.members();
  Rewritten<Member> made(members);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members[i];
    issues_.visit(path_, member.key());
    Value other;
    bool differs = false;
    if (member.value.is_null()) {
      other = null_item(*schema.additional);
      differs = !other.is_null();
    } else {
      const PathText::Step step(path_, member.key());
      differs = normalize(member.value, *schema.additional, other);
    }
    if (differs) {
      made.put(i, {member.name, std::move(other)});
    } else {
      made.keep(i);
    }
  }
  if (made.changed()) {
    out = Value::object(made.take());
  }
  return made.changed();
}

bool BuiltinNormalizer::normalize_list(const Value& in, const Schema& schema, Value& out) {
  if (!in.is_list()) {
    fail_type(in, schema);
    return false;
  }
  const auto items = in.items();
  Rewritten<Value> made(items);
  for (std::size_t i = 0; i < items.size(); ++i) {
    Value other;
    bool differs = false;
    if (items[i].is_null()) {
      other = null_item(*schema.items);
      differs = !other.is_null();
    } else {
      const PathText::Step step(path_, i);
      differs = normalize(items[i], *schema.items, other);
    }
    if (differs) {
      made.put(i, std::move(other));
    } else {
      made.keep(i);
    }
  }
  if (made.changed()) {
    out = Value::list(made.take());
  }
  return made.changed();
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
    fail_mismatch(json_kind(in), "string");
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
  if (!micro && is_usual(in.as_string())) {
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
