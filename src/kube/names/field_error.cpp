// SPDX-License-Identifier: Apache-2.0
#include "kube/names/field_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "kube/text/json.hpp"
#include "kube/text/text.hpp"

namespace athanor {
namespace {

FieldError make(std::string_view reason, std::string_view field, std::string detail) {
  FieldError error;
  error.reason = reason;
  error.field = field;
  error.detail = std::move(detail);
  return error;
}

std::string with_text(std::string head, std::string_view text) {
  if (!text.empty()) {
    head.append(": ").append(text);
  }
  return head;
}

}  // namespace

FieldError FieldError::required(std::string_view field, std::string_view text) {
  return make("FieldValueRequired", field, with_text("Required value", text));
}

FieldError FieldError::invalid(std::string_view field, const Value& value, std::string_view text) {
  return make("FieldValueInvalid", field,
              with_text(fmt::format("Invalid value: {}", error_value(value)), text));
}

FieldError FieldError::not_supported(std::string_view field, const Value& value,
                                     const std::vector<std::string>& supported) {
  std::string detail = fmt::format("Unsupported value: {}", error_value(value));
  std::string_view separator = ": supported values: ";
  for (const std::string& name : supported) {
    detail.append(separator).append(go_quote(name));
    separator = ", ";
  }
  return make("FieldValueNotSupported", field, std::move(detail));
}

FieldError FieldError::forbidden(std::string_view field, std::string_view text) {
  return make("FieldValueForbidden", field, with_text("Forbidden", text));
}

FieldError FieldError::duplicate(std::string_view field, const Value& value) {
  return make("FieldValueDuplicate", field, fmt::format("Duplicate value: {}", error_value(value)));
}

FieldError FieldError::not_found(std::string_view field, const Value& value) {
  return make("FieldValueNotFound", field, fmt::format("Not found: {}", error_value(value)));
}

FieldError FieldError::too_long(std::string_view field, std::int64_t max_bytes) {
  return make("FieldValueTooLong", field,
              fmt::format("Too long: may not be more than {} bytes", max_bytes));
}

FieldError FieldError::too_many(std::string_view field, std::int64_t count,
                                std::int64_t max_items) {
  return make("FieldValueTooMany", field,
              fmt::format("Too many: {}: must have at most {} {}", count, max_items,
                          max_items == 1 ? "item" : "items"));
}

FieldError FieldError::type_invalid(std::string_view field, std::string_view actual,
                                    std::string_view expected) {
  const std::string quoted = go_quote(actual);
  return make("FieldValueTypeInvalid", field,
              fmt::format("Invalid value: {}: {} in body must be of type {}: {}", quoted, field,
                          expected, quoted));
}

std::string FieldError::text() const {
  return fmt::format("{}: {}", field, detail);
}

std::string invalid_message(std::string_view kind, std::string_view name,
                            std::span<const FieldError> errors) {
  std::unordered_set<std::string> texts;  // each once
  std::string all;
  for (const FieldError& error : errors) {
    const auto [text, fresh] = texts.insert(error.text());
    if (fresh) {
      all.append(all.empty() ? "" : ", ").append(*text);
    }
  }
  return texts.size() == 1 ? fmt::format("{} \"{}\" is invalid: {}", kind, name, all)
                           : fmt::format("{} \"{}\" is invalid: [{}]", kind, name, all);
}

Value to_causes(std::span<const FieldError> errors) {
  std::vector<Value> causes;
  causes.reserve(errors.size());
  for (const FieldError& error : errors) {
    causes.push_back(Value::object(
        {{"reason", error.reason}, {"message", error.detail}, {"field", error.field}}));
  }
  return Value::list(std::move(causes));
}

std::string error_value(const Value& value) {
  return value.is_string() ? go_quote(value.as_string()) : json::print(value);
}

}  // namespace athanor
