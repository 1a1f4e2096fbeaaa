// SPDX-License-Identifier: Apache-2.0
// url(): absolute URIs and absolute paths, taken apart.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>

#include "cel/functions/functions.hpp"

namespace athanor::cel {
namespace {

constexpr std::string_view kUrlType = "kubernetes.URL";

struct Url final : OpaqueNode {
  [[nodiscard]] std::string_view type_name() const override { return kUrlType; }
  [[nodiscard]] bool equals(const OpaqueNode& other) const override {
    return whole == static_cast<const Url&>(other).whole;
  }
  [[nodiscard]] std::size_t weight() const override { return 3 * whole.size(); }

  std::string whole{};
  std::string scheme{}, host{}, hostname{}, port{}, path{}, query{};
};

const Url& url_of(const Val& value) {
  return static_cast<const Url&>(*value.as_opaque());
}

int hex(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// "%41" resolved; nullopt when an escape is malformed.
std::optional<std::string> unescaped(std::string_view text, bool plus_is_blank) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size() || hex(text[i + 1]) < 0 || hex(text[i + 2]) < 0) {
        return std::nullopt;
      }
      result += static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2]));
      i += 2;
    } else {
      result += text[i] == '+' && plus_is_blank ? ' ' : text[i];
    }
  }
  return result;
}

bool has_control(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      return true;
    }
  }
  return false;
}

// "scheme:" at the front; nullopt when malformed, empty when there is none.
std::optional<std::string> scheme_of(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (letter || (i > 0 && ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.'))) {
      continue;
    }
    if (c != ':') {
      return std::string();
    }
    return i == 0 ? std::nullopt : std::optional<std::string>(text.substr(0, i));
  }
  return std::string();
}

bool split_authority(std::string_view authority, Url& url) {
  const std::size_t at = authority.rfind('@');
  if (at != std::string_view::npos) {
    authority.remove_prefix(at + 1);
  }
  url.host = authority;
  std::string_view name = authority;
  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t end = authority.rfind(']');
    if (end == std::string_view::npos) {
      return false;
    }
    name = authority.substr(1, end - 1);
    port = authority.substr(end + 1);
  } else if (const std::size_t colon = authority.rfind(':'); colon != std::string_view::npos) {
    name = authority.substr(0, colon);
    port = authority.substr(colon);
  }
  if (!port.empty() && (port.front() != ':' ||
                        port.substr(1).find_first_not_of("0123456789") != std::string_view::npos)) {
    return false;
  }
  if (name.find_first_of(" <>\"") != std::string_view::npos || !unescaped(name, false)) {
    return false;
  }
  url.hostname = name;
  url.port = port.empty() ? std::string_view() : port.substr(1);
  return true;
}

// Characters that a path cannot have are escaped; escaped ones stay.
std::string escaped_path(std::string_view path) {
  std::string result;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-_.~!$&'()*+,;=:@/%[]").find(c) != std::string_view::npos;
    result += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return result;
}

std::optional<Url> parse_url(std::string_view text) {
  Url url;
  url.whole = text;
  const std::optional<std::string> scheme = scheme_of(text);
  if (text.empty() || has_control(text) || !scheme) {
    return std::nullopt;
  }
  url.scheme = *scheme;
  for (char& c : url.scheme) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  }
  std::string_view rest = text.substr(scheme->empty() ? 0 : scheme->size() + 1);
  if (const std::size_t hash = rest.find('#'); hash != std::string_view::npos && !scheme->empty()) {
    rest = rest.substr(0, hash);
  }
  if (const std::size_t question = rest.find('?'); question != std::string_view::npos) {
    url.query = rest.substr(question + 1);
    rest = rest.substr(0, question);
  }
  if (!rest.starts_with('/')) {
    return std::nullopt;  // an opaque or a relative URL
  }
  if (!url.scheme.empty() && rest.starts_with("//")) {
    rest.remove_prefix(2);
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    if (!split_authority(rest.substr(0, slash), url)) {
      return std::nullopt;
    }
    rest.remove_prefix(slash);
  }
  if (!unescaped(rest, false)) {
    return std::nullopt;
  }
  url.path = escaped_path(rest);
  return url;
}

Val url(Arguments a, Runtime&) {
  std::optional<Url> parsed = parse_url(a[0].text());
  if (!parsed) {
    return Val::error(
        fmt::format("URL parse error during conversion from string: parse \"{}\": "
                    "invalid URI for request",
                    a[0].text()));
  }
  return Val::opaque(std::make_shared<Url>(*std::move(parsed)));
}

Val is_url(Arguments a, Runtime&) {
  return Val::boolean(parse_url(a[0].text()).has_value());
}

Val get_scheme(Arguments a, Runtime&) {
  return Val::string(url_of(a[0]).scheme);
}
Val get_host(Arguments a, Runtime&) {
  return Val::string(url_of(a[0]).host);
}
Val get_hostname(Arguments a, Runtime&) {
  return Val::string(url_of(a[0]).hostname);
}
Val get_port(Arguments a, Runtime&) {
  return Val::string(url_of(a[0]).port);
}
Val get_escaped_path(Arguments a, Runtime&) {
  return Val::string(url_of(a[0]).path);
}

Val get_query(Arguments a, Runtime& runtime) {
  constexpr std::size_t kPairBytes = 4 * sizeof(Val);
  std::map<std::string, std::vector<Val>> values;
  std::string_view rest = url_of(a[0]).query;
  for (bool more = true; more && runtime.meter().make(kPairBytes);) {
    const std::size_t end = rest.find('&');
    more = end != std::string_view::npos;
    const std::string_view pair = more ? rest.substr(0, end) : rest;
    rest = more ? rest.substr(end + 1) : std::string_view();
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const auto name = unescaped(pair.substr(0, equals), true);
    const auto value = unescaped(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!pair.empty() && name && value && pair.find(';') == std::string_view::npos) {
      values[*name].push_back(Val::string(*value));
    }
  }
  std::vector<std::pair<Val, Val>> entries;
  entries.reserve(values.size());
  for (auto& [name, list] : values) {
    entries.emplace_back(Val::string(name), Val::list(std::move(list)));
  }
  return Val::map(std::move(entries));
}

}  // namespace

void add_url_functions(FunctionTable& table) {
  table.add("url", "string_to_url", "string -> kubernetes.URL", url);
  table.add("isURL", "is_url_string", "string -> bool", is_url);
  table.add("getScheme", "url_get_scheme", "kubernetes.URL.() -> string", get_scheme);
  table.add("getHost", "url_get_host", "kubernetes.URL.() -> string", get_host);
  table.add("getHostname", "url_get_hostname", "kubernetes.URL.() -> string", get_hostname);
  table.add("getPort", "url_get_port", "kubernetes.URL.() -> string", get_port);
  table.add("getEscapedPath", "url_get_escaped_path", "kubernetes.URL.() -> string",
            get_escaped_path);
  table.add("getQuery", "url_get_query", "kubernetes.URL.() -> map(string, list(string))",
            get_query);
}

}  // namespace athanor::cel
