// SPDX-License-Identifier: Apache-2.0
// Expected failures as values: Error, Result<T> and the macro that hands an error upwards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace athanor {

// One expected failure. `code` follows HTTP (404 not found, 409 conflict, 422 invalid, ...), so
// that an error keeps its meaning from the store to a client's exit code. `reason` is the
// Kubernetes reason where one exists ("NotFound"), else a short PascalCase word. `message` starts
// lower case, names the object, and has no trailing period.
struct Error {
  int code = 500;
  std::string reason{};
  std::string message{};

  static Error invalid(std::string_view field, std::string_view what);  // 422 Invalid
  static Error not_found(std::string message);                          // 404 NotFound
  static Error conflict(std::string message);                           // 409 Conflict
  static Error unavailable(std::string message);                        // 503 ServiceUnavailable
  static Error internal(std::string message);                           // 500 InternalError
  static Error bad_request(std::string message);                        // 400 BadRequest
  // Returns the same error with "context: " in front of its message; used once per layer.
  [[nodiscard]] Error with_context(std::string_view context) const;

  friend bool operator==(const Error&, const Error&) = default;
};

// A value or the error that kept it from being made. Never empty.
template <class T, class E = Error>
class [[nodiscard]] Result {
 public:
  // Holds a value. NOLINTNEXTLINE(google-explicit-constructor): reads as the value
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // Holds an error. NOLINTNEXTLINE(google-explicit-constructor): reads as the error
  Result(E error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const E& error() const& { return std::get<1>(state_); }
  E&& error() && { return std::get<1>(std::move(state_)); }
  [[nodiscard]] T value_or(T fallback) const { return ok() ? value() : std::move(fallback); }

 private:
  std::variant<T, E> state_;
};

// Success without a value, or an error.
template <class E>
class [[nodiscard]] Result<void, E> {
 public:
  Result() = default;
  // Holds an error. NOLINTNEXTLINE(google-explicit-constructor): reads as the error
  Result(E error) : error_(std::move(error)) {}
  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const E& error() const& { return *error_; }
  E&& error() && { return *std::move(error_); }

 private:
  std::optional<E> error_{};
};

}  // namespace athanor

#define ATHANOR_CONCAT_INNER(a, b) a##b
#define ATHANOR_CONCAT(a, b) ATHANOR_CONCAT_INNER(a, b)
// ATHANOR_TRY(auto x, f()): declares x from the value of f(), or returns its error.
// NOLINTBEGIN(bugprone-macro-parentheses): a declaration takes none
#define ATHANOR_TRY(declaration, expression) \
  ATHANOR_TRY_INNER(ATHANOR_CONCAT(athanor_result_, __LINE__), declaration, expression)
#define ATHANOR_TRY_INNER(result, declaration, expression) \
  auto result = (expression);                              \
  if (!result.ok()) {                                      \
    return std::move(result).error();                      \
  }                                                        \
  declaration = *std::move(result)
// ATHANOR_TRY_VOID(f()): returns the error of f(), if any.
#define ATHANOR_TRY_VOID(expression)                            \
  if (auto athanor_status = (expression); !athanor_status.ok()) \
  return std::move(athanor_status).error()
// NOLINTEND(bugprone-macro-parentheses)
