// SPDX-License-Identifier: Apache-2.0
// The strict reading of request line and header fields.
#include "net/request_head.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/ascii.hpp"

namespace athanor::net {
namespace {

constexpr std::size_t kMostFields = 128;
constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kBlanks = " \t";

bool is_token_character(char c) {
  const auto byte = static_cast<unsigned char>(c);
  const bool letter_or_digit =
      (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
  return letter_or_digit || (byte < 0x7f && std::strchr("!#$%&'*+-.^_`|~", c) != nullptr && c != 0);
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_character);
}

bool is_target(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > 0x20 && byte != 0x7f;
  });
}

bool is_decimal(std::string_view text) {
  return !text.empty() && text.size() <= 18 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find(kLineEnd);
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + kLineEnd.size());
  return line;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// The byte of the escape at the front of `text` ("%41..."), or -1.
int unescape(std::string_view text) {
  if (text.size() < 3 || hex_digit(text[1]) < 0 || hex_digit(text[2]) < 0) {
    return -1;
  }
  return (hex_digit(text[1]) * 16) + hex_digit(text[2]);
}

bool decode_component(std::string_view text, std::string& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const int byte = unescape(text.substr(i));
    if (byte < 0) {
      return false;
    }
    out += static_cast<char>(byte);
    i += 2;
  }
  return true;
}

// "https://host/path" names the same as "/path".
std::string_view without_authority(std::string_view target) {
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (target.starts_with(scheme)) {
      const std::size_t slash = target.find('/', scheme.size());
      return slash == std::string_view::npos ? "/" : target.substr(slash);
    }
  }
  return target;
}

// What the fields that frame the message said so far.
struct FramingFields {
  int hosts = 0;
  int lengths = 0;
  int codings = 0;
  bool close = false;
  bool keep_alive = false;
};

Rejection bad(std::string_view why) {
  return {.status = 400, .message = std::string(why)};
}

std::optional<Rejection> read_request_line(std::string_view line, RequestHead& head) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    return bad("malformed request line");
  }
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (!is_token(method) || !is_target(target) || !version.starts_with("HTTP/")) {
    return bad("malformed request line");
  }
  head.http_1_0 = version == "HTTP/1.0";
  if (!head.http_1_0 && version != "HTTP/1.1") {
    return Rejection{.status = 505, .message = "unsupported protocol version"};
  }
  head.method = method;
  head.target = without_authority(target);
  if (!head.target.starts_with('/') && head.target != "*") {
    return bad("malformed request target");
  }
  return std::nullopt;
}

void read_connection(std::string_view value, FramingFields& framing) {
  while (!value.empty()) {
    const std::size_t end = value.find(',');
    const std::string option = lower(trimmed(value.substr(0, end), kBlanks));
    value.remove_prefix(end == std::string_view::npos ? value.size() : end + 1);
    framing.close = framing.close || option == "close";
    framing.keep_alive = framing.keep_alive || option == "keep-alive";
  }
}

std::optional<Rejection> read_framing_field(std::string_view name, std::string_view value,
                                            RequestHead& head, FramingFields& framing) {
  if (name == "host") {
    if (++framing.hosts > 1 || value.empty()) {
      return bad("empty or repeated Host");
    }
  } else if (name == "content-length") {
    if (++framing.lengths > 1 || !is_decimal(value)) {
      return bad("malformed or repeated Content-Length");
    }
    std::from_chars(value.data(), value.data() + value.size(), head.content_length);
  } else if (name == "transfer-encoding") {
    if (++framing.codings > 1 || lower(value) != "chunked" || head.http_1_0) {
      return bad("unsupported Transfer-Encoding");
    }
    head.chunked = true;
  } else if (name == "connection") {
    read_connection(value, framing);
  }
  return std::nullopt;
}

std::optional<Rejection> read_field(std::string_view line, RequestHead& head,
                                    FramingFields& framing) {
  if (line.front() == ' ' || line.front() == '\t') {
    return bad("folded header line");
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon)) ||
      !is_field_value(line.substr(colon + 1))) {
    return bad("malformed header line");
  }
  std::string name = lower(line.substr(0, colon));
  const std::string_view value = trimmed(line.substr(colon + 1), kBlanks);
  if (auto rejection = read_framing_field(name, value, head, framing)) {
    return rejection;
  }
  head.headers.emplace(std::move(name), value);
  return std::nullopt;
}

}  // namespace

bool is_field_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return c == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
}

HeadEnd find_head_end(std::string_view input, std::size_t& from) {
  for (std::size_t at = input.find('\n', from); at != std::string_view::npos;
       at = input.find('\n', from)) {
    if (at == 0 || input[at - 1] != '\r') {
      return {.bare_line_feed = true};
    }
    from = at + 1;
    if (input.substr(0, from).ends_with("\r\n\r\n")) {
      return {.size = from};
    }
  }
  from = input.size();
  return {};
}

Result<RequestHead, Rejection> parse_head(std::string_view head) {
  RequestHead parsed;
  FramingFields framing;
  if (auto rejection = read_request_line(take_line(head), parsed)) {
    return *std::move(rejection);
  }
  std::size_t fields = 0;
  for (std::string_view line = take_line(head); !line.empty(); line = take_line(head)) {
    if (++fields > kMostFields) {
      return Rejection{.status = 431, .message = "too many header fields"};
    }
    if (auto rejection = read_field(line, parsed, framing)) {
      return *std::move(rejection);
    }
  }
  if (framing.hosts == 0 && !parsed.http_1_0) {
    return bad("missing Host");
  }
  if (framing.lengths == 1 && framing.codings == 1) {
    return bad("both Content-Length and Transfer-Encoding");
  }
  parsed.keep_alive = !framing.close && (!parsed.http_1_0 || framing.keep_alive);
  return parsed;
}

std::optional<std::string> decode_path(std::string_view text) {
  std::string path;
  path.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      path += text[i];
      continue;
    }
    const int byte = unescape(text.substr(i));
    if (byte < 0) {
      return std::nullopt;
    }
    if (byte == '/') {
      path += text.substr(i, 3);
    } else {
      path += static_cast<char>(byte);
    }
    i += 2;
  }
  return path;
}

std::vector<std::pair<std::string, std::string>> decode_query(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  while (!text.empty()) {
    const std::size_t end = text.find('&');
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (pair.empty() || pair.find(';') != std::string_view::npos) {
      continue;
    }
    const std::size_t equals = pair.find('=');
    std::pair<std::string, std::string> decoded;
    if (decode_component(pair.substr(0, equals), decoded.first) &&
        decode_component(equals == std::string_view::npos ? "" : pair.substr(equals + 1),
                         decoded.second)) {
      pairs.push_back(std::move(decoded));
    }
  }
  return pairs;
}

}  // namespace athanor::net
