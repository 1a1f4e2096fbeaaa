// SPDX-License-Identifier: Apache-2.0
// Response heads by hand.
#include "net/response_writer.hpp"

#include <array>
#include <chrono>
#include <utility>

#include "kube/text/http_status.hpp"
#include "kube/text/json.hpp"
#include "kube/value/value.hpp"

namespace athanor::net {
namespace {

// A value with a line end in it would be read as another header field.
void append_field(std::string& head, std::string_view name, std::string_view value) {
  head += name;
  head += ": ";
  for (const char c : value) {
    head += c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
  }
  head += "\r\n";
}

void append_two_digits(std::string& text, unsigned number) {
  text += static_cast<char>('0' + (number / 10 % 10));
  text += static_cast<char>('0' + (number % 10));
}

}  // namespace

bool has_body(int status) {
  return status >= 200 && status != 204 && status != 304;
}

std::string response_head(const net::Response& response, const Framing& framing,
                          std::string_view date) {
  std::string head;
  head.reserve(512);
  head += "HTTP/1.1 ";
  head += std::to_string(response.status);
  head += ' ';
  const std::string_view phrase = reason_phrase(response.status);
  head += phrase.empty() ? "Status" : phrase;
  head += "\r\n";
  for (const auto& [name, value] : response.headers) {
    append_field(head, name, value);
  }
  if (has_body(response.status)) {
    if (!response.content_type.empty()) {
      append_field(head, "Content-Type", response.content_type);
    }
    if (framing.length) {
      append_field(head, "Content-Length", std::to_string(*framing.length));
    } else if (framing.chunked) {
      append_field(head, "Transfer-Encoding", "chunked");
    }
  }
  append_field(head, "Date", date);
  if (!framing.keep_alive) {
    append_field(head, "Connection", "close");
  } else if (framing.http_1_0) {
    append_field(head, "Connection", "keep-alive");
  }
  head += "\r\n";
  return head;
}

std::string http_date(Instant instant) {
  static constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed",
                                                            "Thu", "Fri", "Sat"};
  static constexpr std::array<std::string_view, 12> kMonths = {
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto day = std::chrono::floor<std::chrono::days>(instant);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(std::chrono::floor<std::chrono::seconds>(instant - day));
  std::string text(kDays[std::chrono::weekday(day).c_encoding()]);
  text += ", ";
  append_two_digits(text, static_cast<unsigned>(date.day()));
  text += ' ';
  text += kMonths[static_cast<unsigned>(date.month()) - 1];
  text += ' ';
  text += std::to_string(static_cast<int>(date.year()));
  text += ' ';
  append_two_digits(text, static_cast<unsigned>(time.hours().count()));
  text += ':';
  append_two_digits(text, static_cast<unsigned>(time.minutes().count()));
  text += ':';
  append_two_digits(text, static_cast<unsigned>(time.seconds().count()));
  text += " GMT";
  return text;
}

net::Response status_response(const Error& error) {
  Value status = Value::object({{"kind", "Status"},
                                {"apiVersion", "v1"},
                                {"metadata", Value::object()},
                                {"status", "Failure"},
                                {"message", error.message},
                                {"reason", error.reason},
                                {"code", error.code}});
  net::Response response;
  response.status = error.code;
  response.headers.emplace_back("Cache-Control", "no-cache, private");
  response.body = json::print(status) + "\n";
  return response;
}

net::Response rejection_response(const Rejection& rejection) {
  if (rejection.status == 413) {
    return status_response(
        {.code = 413, .reason = "RequestEntityTooLarge", .message = rejection.message});
  }
  net::Response response;
  response.status = rejection.status;
  response.content_type = "text/plain; charset=utf-8";
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.body = std::to_string(rejection.status) + " " +
                  std::string(reason_phrase(rejection.status)) + ": " + rejection.message + "\n";
  return response;
}

}  // namespace athanor::net
