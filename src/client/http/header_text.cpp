// SPDX-License-Identifier: Apache-2.0
#include "client/http/header_text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "client/http/async_http.hpp"
#include "kube/text/text.hpp"

namespace athanor::client {
namespace {

constexpr unsigned char kDelete = 0x7f;

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < ' ' || byte == kDelete;
}

// A token of RFC 9110.
bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           kMarks.find(c) != std::string_view::npos;
  });
}

}  // namespace

std::string header_flaw(std::string_view name, std::string_view value) {
  if (!is_token(name)) {
    return fmt::format("net/http: invalid header field name {}", go_quote(name));
  }
  if (std::ranges::any_of(value, [](char c) { return c != '\t' && is_control(c); })) {
    return fmt::format("net/http: invalid header field value for {}", go_quote(name));
  }
  return {};
}

std::string url_flaw(std::string_view url) {
  if (std::ranges::any_of(url, [](char c) { return c == ' ' || is_control(c); })) {
    return fmt::format("parse {}: net/url: invalid control character in URL", go_quote(url));
  }
  return {};
}

std::string query_flaw(const HttpQuery& query) {
  if (!is_token(query.method)) {
    return fmt::format("net/http: invalid method {}", go_quote(query.method));
  }
  if (std::string flaw = url_flaw(query.url); !flaw.empty()) {
    return flaw;
  }
  for (const auto& [name, value] : query.headers) {
    if (std::string flaw = header_flaw(name, value); !flaw.empty()) {
      return flaw;
    }
  }
  return {};
}

}  // namespace athanor::client
