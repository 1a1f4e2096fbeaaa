// SPDX-License-Identifier: Apache-2.0
// JSON values as CEL values, without copying: lists and maps look into the JSON when asked.
#include <fmt/format.h>

#include "base/digest.hpp"
#include "cel/names.hpp"
#include "cel/values/time_text.hpp"
#include "cel/values/val.hpp"

namespace athanor::cel {
namespace {

class JsonList final : public ListNode {
 public:
  JsonList(Value value, TypePtr type) : value_(std::move(value)), type_(std::move(type)) {}
  [[nodiscard]] std::size_t size() const override { return value_.size(); }
  [[nodiscard]] Val at(std::size_t index) const override {
    return adapt(value_[index],
                 type_ != nullptr && !type_->parameters.empty() ? type_->parameters[0] : nullptr);
  }
  [[nodiscard]] const Type* declared() const override { return type_.get(); }

 private:
  Value value_;
  TypePtr type_;
};

// A JSON object without declared fields: any key, values of one type.
class JsonMap final : public MapNode {
 public:
  JsonMap(Value value, TypePtr item) : value_(std::move(value)), item_(std::move(item)) {}
  [[nodiscard]] std::size_t size() const override { return value_.size(); }
  [[nodiscard]] std::optional<Val> find(const Val& key) const override {
    const Value* found = key.is(Val::Kind::String) ? value_.find(key.text()) : nullptr;
    return found == nullptr ? std::nullopt : std::optional<Val>(adapt(*found, item_));
  }
  [[nodiscard]] std::vector<Val> keys() const override {
    std::vector<Val> keys;
    keys.reserve(value_.size());
    for (const Member& member : value_.members()) {
      keys.push_back(Val::string(member.name));
    }
    return keys;
  }
  [[nodiscard]] bool numbered() const override { return true; }
  [[nodiscard]] Val key_at(std::size_t index) const override {
    return Val::string(value_.members()[index].name);
  }

 private:
  Value value_;
  TypePtr item_;
};

// A JSON object of declared fields, by their CEL names.
class JsonObject final : public MapNode {
 public:
  JsonObject(Value value, TypePtr type) : value_(std::move(value)), type_(std::move(type)) {}
  [[nodiscard]] std::size_t size() const override { return value_.size(); }
  [[nodiscard]] std::optional<Val> find(const Val& key) const override {
    if (!key.is(Val::Kind::String)) {
      return std::nullopt;
    }
    const TypeField* field = find_field(*type_, key.text());
    if (field == nullptr) {
      return std::nullopt;
    }
    const Value* found = value_.find(field->name);
    return found == nullptr ? std::nullopt : std::optional<Val>(adapt(*found, field->type));
  }
  [[nodiscard]] std::vector<Val> keys() const override {
    std::vector<Val> keys;
    for (const auto& [name, field] : type_->fields) {
      if (value_.contains(field.name)) {
        keys.push_back(Val::string(name));
      }
    }
    return keys;
  }

 private:
  Value value_;
  TypePtr type_;
};

Val adapt_plain(const Value& value) {
  switch (value.type()) {
    case Value::Type::Null:
      return {};
    case Value::Type::Bool:
      return Val::boolean(value.as_bool());
    case Value::Type::Int:
      return Val::integer(value.as_int());
    case Value::Type::Uint:
      return Val::unsigned_integer(value.as_uint());
    case Value::Type::Double:
      return Val::real(value.as_double());
    case Value::Type::String:
      return Val::string(value);
    case Value::Type::List:
      return Val::list(std::make_shared<JsonList>(value, nullptr));
    case Value::Type::Object:
      return Val::map(std::make_shared<JsonMap>(value, nullptr));
  }
  return {};
}

Val adapt_time(std::string_view text, TextFormat format) {
  const std::optional<Val> time =
      format == TextFormat::Date ? parse_date(text) : parse_timestamp(text);
  return time ? *time
              : Val::error(fmt::format("Invalid {} format: \"{}\"",
                                       format == TextFormat::Date ? "date" : "date-time", text));
}

}  // namespace

Val adapt(const Value& value, const TypePtr& type) {
  if (type == nullptr || value.is_null()) {
    return adapt_plain(value);
  }
  switch (type->kind) {
    case TypeKind::Double:
      return value.is_number() ? Val::real(value.as_double()) : adapt_plain(value);
    case TypeKind::Int:
      return value.is_number() ? Val::integer(value.as_int()) : adapt_plain(value);
    case TypeKind::Bytes: {
      const std::optional<std::string> decoded = base64_decode(value.as_string());
      return decoded ? Val::bytes(*decoded) : Val::error("Invalid byte format: not base64");
    }
    case TypeKind::Timestamp:
      return adapt_time(value.as_string(), type->format);
    case TypeKind::Duration: {
      const std::optional<Val> duration = parse_duration(value.as_string());
      return duration
                 ? *duration
                 : Val::error(fmt::format("Invalid duration format: \"{}\"", value.as_string()));
    }
    case TypeKind::List:
      return value.is_list() ? Val::list(std::make_shared<JsonList>(value, type))
                             : adapt_plain(value);
    case TypeKind::Map:
      return value.is_object()
                 ? Val::map(std::make_shared<JsonMap>(
                       value, type->parameters.size() > 1 ? type->parameters[1] : nullptr))
                 : adapt_plain(value);
    case TypeKind::Object:
      return value.is_object() ? Val::map(std::make_shared<JsonObject>(value, type))
                               : adapt_plain(value);
    default:
      return adapt_plain(value);
  }
}

}  // namespace athanor::cel
