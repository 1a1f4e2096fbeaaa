// SPDX-License-Identifier: Apache-2.0
// The head of a request, read strictly (docs/spec/foundations.md 1): everything that two parsers
// could read in two ways is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace athanor::net {

// Why a request is answered without asking the API server.
struct Rejection {
  int status = 400;
  std::string message{};
};

// A parsed request line with its fields.
struct RequestHead {
  std::string method{};
  std::string target{};  // "/path?query" or "*"
  bool http_1_0 = false;
  bool keep_alive = true;
  bool chunked = false;
  std::uint64_t content_length = 0;
  // Names in lower case; one entry for each line, in their order.
  std::multimap<std::string, std::string, std::less<>> headers{};
};

// Where the head ends (behind its empty line), nullopt: not yet. Looks from `from` on, which is
// moved so that no byte is looked at twice.
struct HeadEnd {
  std::optional<std::size_t> size{};
  bool bare_line_feed = false;  // a line does not end in CR LF
};
// Finds the end of the head in `input`.
HeadEnd find_head_end(std::string_view input, std::size_t& from);

// Parses a complete `head`, its empty line included.
Result<RequestHead, Rejection> parse_head(std::string_view head);

// Characters that a field value may have: visible ones, blanks, tabs and bytes above ASCII.
bool is_field_value(std::string_view text);

// Decodes "/a%2Fb/c%20d" to "/a%2Fb/c d": an escaped slash stays, as it belongs to its segment.
// nullopt: a broken escape.
std::optional<std::string> decode_path(std::string_view text);
// Decodes "a=1&b=x+y" to {a, 1}, {b, "x y"}; drops pairs with a broken escape or a semicolon, as Go
// does.
std::vector<std::pair<std::string, std::string>> decode_query(std::string_view text);

}  // namespace athanor::net
