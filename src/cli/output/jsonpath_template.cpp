// SPDX-License-Identifier: Apache-2.0
#include "cli/output/jsonpath_template.hpp"

#include <fmt/format.h>

#include <utility>

#include "kube/text/json.hpp"
#include "runtime/view/usage.hpp"

namespace athanor::cli {
namespace {

constexpr std::string_view kRange = "range ";

// The end of the braces that open at `at`; quotes may contain braces. npos: they do not close.
std::size_t end_of_braces(std::string_view text, std::size_t at) {
  char quote = '\0';
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0') {
      i += c == '\\' ? 1 : 0;
      quote = c == quote ? '\0' : quote;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '}') {
      return i;
    }
  }
  return std::string_view::npos;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char next = text[++i];
    out += next == 'n' ? '\n' : next == 't' ? '\t' : next;
  }
  return out;
}

Result<JsonPath> path_of(std::string_view text) {
  std::string path(text);
  if (path.starts_with('$') || path.starts_with('@')) {
    path.erase(0, 1);
  }
  if (path.empty()) {
    path = ".";
  } else if (path[0] != '.' && path[0] != '[') {
    path.insert(0, ".");
  }
  auto parsed = JsonPath::parse(path);
  if (!parsed.ok()) {
    return wrong_usage(fmt::format("jsonpath {{{}}}: {}", text, parsed.error().message));
  }
  return parsed;
}

std::string text_of_value(const Value& value) {
  return value.is_string() ? value.str() : value.is_null() ? std::string() : json::print(value);
}

}  // namespace

Result<std::vector<JsonPathTemplate::Part>> JsonPathTemplate::parse_parts(std::string_view text,
                                                                          std::size_t& at,
                                                                          bool nested) {
  std::vector<Part> parts;
  while (at < text.size()) {
    const std::size_t open = std::min(text.find('{', at), text.size());
    if (open > at) {
      parts.push_back({.text = std::string(text.substr(at, open - at))});
      at = open;
      continue;
    }
    const std::size_t close = end_of_braces(text, open);
    if (close == std::string_view::npos) {
      return wrong_usage(fmt::format("jsonpath {}: \"}}\" is missing", text.substr(open)));
    }
    const std::string_view inner = text.substr(open + 1, close - open - 1);
    at = close + 1;
    if (inner == "end") {
      if (!nested) {
        return wrong_usage("jsonpath {end}: no {range} is open");
      }
      return parts;
    }
    if (inner.starts_with('"') || inner.starts_with('\'')) {
      parts.push_back({.text = unescaped(inner.substr(1, inner.size() - 2))});
      continue;
    }
    Part part{.is_path = true, .is_range = inner.starts_with(kRange)};
    ATHANOR_TRY(part.path, path_of(part.is_range ? inner.substr(kRange.size()) : inner));
    if (part.is_range) {
      ATHANOR_TRY(part.inner, parse_parts(text, at, true));
    }
    parts.push_back(std::move(part));
  }
  if (nested) {
    return wrong_usage("jsonpath {range}: {end} is missing");
  }
  return parts;
}

Result<JsonPathTemplate> JsonPathTemplate::parse(std::string_view text) {
  JsonPathTemplate parsed;
  if (text.find('{') == std::string_view::npos) {
    Part part{.is_path = true};
    ATHANOR_TRY(part.path, path_of(text));
    parsed.parts_.push_back(std::move(part));
    return parsed;
  }
  std::size_t at = 0;
  ATHANOR_TRY(parsed.parts_, parse_parts(text, at, false));
  return parsed;
}

void JsonPathTemplate::render(const std::vector<Part>& parts, const Value& data, std::string& out) {
  for (const Part& part : parts) {
    if (!part.is_path) {
      out += part.text;
      continue;
    }
    const std::vector<Value> found = part.path.find(data);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (part.is_range) {
        render(part.inner, found[i], out);
      } else {
        out += (i == 0 ? "" : " ") + text_of_value(found[i]);
      }
    }
  }
}

std::string JsonPathTemplate::render(const Value& data) const {
  std::string out;
  render(parts_, data, out);
  return out;
}

}  // namespace athanor::cli
