// SPDX-License-Identifier: Apache-2.0
// Errors by their usual code and reason.
#include "base/result.hpp"

namespace athanor {

Error Error::invalid(std::string_view field, std::string_view what) {
  return {
      .code = 422, .reason = "Invalid", .message = std::string(field) + ": " + std::string(what)};
}
Error Error::not_found(std::string message) {
  return {.code = 404, .reason = "NotFound", .message = std::move(message)};
}
Error Error::conflict(std::string message) {
  return {.code = 409, .reason = "Conflict", .message = std::move(message)};
}
Error Error::unavailable(std::string message) {
  return {.code = 503, .reason = "ServiceUnavailable", .message = std::move(message)};
}
Error Error::internal(std::string message) {
  return {.code = 500, .reason = "InternalError", .message = std::move(message)};
}
Error Error::bad_request(std::string message) {
  return {.code = 400, .reason = "BadRequest", .message = std::move(message)};
}
Error Error::with_context(std::string_view context) const {
  Error error = *this;
  error.message = std::string(context) + ": " + message;
  return error;
}

}  // namespace athanor
