// SPDX-License-Identifier: Apache-2.0
#include "client/api_answer.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace athanor::client {
namespace {

constexpr std::size_t kQuoted = 200;  // bytes of an answer other than a Status
constexpr std::int64_t kLongestSeconds = 3600;

std::string_view usual_reason(int status) {
  switch (status) {
    case 400:
      return "BadRequest";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "NotFound";
    case 405:
      return "MethodNotAllowed";
    case 406:
      return "NotAcceptable";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 413:
      return "RequestEntityTooLarge";
    case 415:
      return "UnsupportedMediaType";
    case 422:
      return "Invalid";
    case 429:
      return "TooManyRequests";
    case 503:
      return "ServiceUnavailable";
    case 504:
      return "Timeout";
    default:
      return status >= 500 ? "InternalError" : "Unknown";
  }
}

}  // namespace

Error answer_error(int status, const Value& body, std::string_view text) {
  Error error{.code = status, .reason = std::string(usual_reason(status)), .message = {}};
  if (body["kind"].as_string() == "Status") {
    if (!body["reason"].as_string().empty()) {
      error.reason = body["reason"].str();
    }
    error.message = body["message"].str();
  }
  if (error.message.empty()) {
    error.message = fmt::format("the server answered {}: {}", status, text.substr(0, kQuoted));
  }
  return error;
}

std::optional<Duration> retry_after_of(std::string_view header, const Value& body) {
  std::int64_t seconds = -1;
  const auto [end, error] = std::from_chars(header.data(), header.data() + header.size(), seconds);
  if (header.empty() || error != std::errc{} || end != header.data() + header.size()) {
    const Value& details = body["details"]["retryAfterSeconds"];
    seconds = details.is_integer() ? details.as_int() : -1;
  }
  if (seconds < 0) {
    return std::nullopt;
  }
  return std::chrono::seconds(std::min(seconds, kLongestSeconds));
}

}  // namespace athanor::client
