// SPDX-License-Identifier: Apache-2.0
// One broken rule of one field, with the exact texts of a Status cause (docs/spec/apiserver.md 6).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor {

struct FieldError {
  std::string reason{};  // FieldValueRequired, ...
  std::string field{};   // spec.containers[0].name; "<nil>" when no one field is at fault
  std::string detail{};  // what follows "FIELD: "

  static FieldError required(std::string_view field, std::string_view text = {});
  static FieldError invalid(std::string_view field, const Value& value, std::string_view text);
  // Shows `supported` in the order given.
  static FieldError not_supported(std::string_view field, const Value& value,
                                  const std::vector<std::string>& supported);
  static FieldError forbidden(std::string_view field, std::string_view text);
  static FieldError duplicate(std::string_view field, const Value& value);
  static FieldError not_found(std::string_view field, const Value& value);
  static FieldError too_long(std::string_view field, std::int64_t max_bytes);
  static FieldError too_many(std::string_view field, std::int64_t count, std::int64_t max_items);
  // Requires as `actual` the JSON type's name, or the text that lacks the format `expected`.
  static FieldError type_invalid(std::string_view field, std::string_view actual,
                                 std::string_view expected);

  // Returns "FIELD: DETAIL".
  [[nodiscard]] std::string text() const;

  friend bool operator==(const FieldError&, const FieldError&) = default;
};

// Returns `KIND "NAME" is invalid: E`, or `... is invalid: [E1, E2]` without repeated texts.
// `kind` is qualified ("Deployment.apps").
std::string invalid_message(std::string_view kind, std::string_view name,
                            std::span<const FieldError> errors);
// Returns the causes of a Status: [{reason, message, field}].
Value to_causes(std::span<const FieldError> errors);

// Returns a value as in "Invalid value: V": strings Go-quoted, everything else compact JSON.
std::string error_value(const Value& value);

}  // namespace athanor
