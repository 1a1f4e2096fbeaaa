// SPDX-License-Identifier: Apache-2.0
// Texts: the language's own functions and the strings extension. Positions count code points.
#include <fmt/format.h>

#include <cstring>
#include <string>

#include "base/utf8.hpp"
#include "cel/functions/functions.hpp"
#include "cel/values/text_format.hpp"
#include "kube/text/regex.hpp"

namespace athanor::cel {
namespace {

// Empty when there is no room for it.
std::u32string wide(const Val& text, Runtime& runtime) {
  std::u32string result;
  if (!runtime.meter().room(text.text().size() * sizeof(char32_t))) {
    return result;
  }
  result.reserve(text.text().size());
  std::string_view rest = text.text();
  while (!rest.empty()) {
    const utf8::Decoded next = utf8::decode(rest);
    result += next.code_point;
    rest.remove_prefix(next.size);
  }
  return result;
}

Val narrow(std::u32string_view text) {
  std::string result;
  for (const char32_t c : text) {
    utf8::append(result, c);
  }
  return Val::string(result);
}

Val out_of_range(std::int64_t index) {
  return Val::error(fmt::format("index out of range: {}", index));
}

// The position of a part in a text; npos: there is none. In linear time, which
// std::string_view::find() is not.
std::size_t position(std::string_view text, std::string_view part) {
  if (part.empty()) {
    return 0;
  }
  const void* found = ::memmem(text.data(), text.size(), part.data(), part.size());
  return found == nullptr ? std::string_view::npos
                          : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

Val contains(Arguments a, Runtime&) {
  return Val::boolean(position(a[0].text(), a[1].text()) != std::string_view::npos);
}

Val starts_with(Arguments a, Runtime&) {
  return Val::boolean(a[0].text().starts_with(a[1].text()));
}

Val ends_with(Arguments a, Runtime&) {
  return Val::boolean(a[0].text().ends_with(a[1].text()));
}

Val matches(Arguments a, Runtime& runtime) {
  const auto regex = runtime.regex(a[1].text());
  return regex.ok() ? Val::boolean((*regex)->search(a[0].text()))
                    : Val::error(regex.error().message);
}

Val char_at(Arguments a, Runtime& runtime) {
  const std::u32string text = wide(a[0], runtime);
  const std::int64_t index = a[1].as_int();
  if (index < 0 || static_cast<std::uint64_t>(index) > text.size()) {
    return out_of_range(index);
  }
  return narrow(std::u32string_view(text).substr(static_cast<std::size_t>(index), 1));
}

// Where a number of characters ends, in bytes.
std::size_t byte_offset(std::string_view text, std::size_t characters) {
  std::size_t offset = 0;
  for (; characters > 0 && offset < text.size(); --characters) {
    offset += utf8::decode(text.substr(offset)).size;
  }
  return offset;
}

Val index_in_text(Arguments a, Runtime&) {
  const std::string_view text = a[0].text();
  const std::string_view part = a[1].text();
  const std::int64_t from = a.size() == 3 ? a[2].as_int() : 0;
  if (a.size() == 3 && !part.empty() &&
      (from < 0 || static_cast<std::uint64_t>(from) >= utf8::length(text))) {
    return out_of_range(from);
  }
  if (part.empty()) {
    return Val::integer(from);
  }
  const std::size_t start = byte_offset(text, static_cast<std::size_t>(from));
  const std::size_t found = position(text.substr(start), part);
  return Val::integer(found == std::string_view::npos
                          ? -1
                          : from +
                                static_cast<std::int64_t>(utf8::length(text.substr(start, found))));
}

// The last place at which `part` starts in `text`: both are searched backwards.
Val last_in(std::string_view text, std::string_view part) {
  const std::string backwards(text.rbegin(), text.rend());
  const std::size_t found = position(backwards, std::string(part.rbegin(), part.rend()));
  return Val::integer(found == std::string_view::npos
                          ? -1
                          : static_cast<std::int64_t>(
                                utf8::length(text.substr(0, text.size() - found - part.size()))));
}

Val last_index_of(Arguments a, Runtime& runtime) {
  std::string_view text = a[0].text();
  const std::string_view part = a[1].text();
  if (a.size() == 2 && part.empty()) {
    return Val::integer(static_cast<std::int64_t>(utf8::length(text)));
  }
  if (!runtime.meter().room(text.size() + part.size())) {
    return {};
  }
  if (a.size() == 3) {
    const std::int64_t from = a[2].as_int();
    if (part.empty()) {
      return Val::integer(from);
    }
    if (from < 0 || static_cast<std::uint64_t>(from) >= utf8::length(text)) {
      return out_of_range(from);
    }
    text = text.substr(0, byte_offset(text, static_cast<std::size_t>(from)) + part.size());
  }
  return last_in(text, part);
}

Val lower_ascii(Arguments a, Runtime&) {
  std::string text(a[0].text());
  for (char& c : text) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  }
  return Val::string(text);
}

Val upper_ascii(Arguments a, Runtime&) {
  std::string text(a[0].text());
  for (char& c : text) {
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  }
  return Val::string(text);
}

Val replace(Arguments a, Runtime& runtime) {
  const std::string_view from = a[1].text();
  const std::string_view to = a[2].text();
  const std::int64_t most = a.size() == 4 ? a[3].as_int() : -1;
  std::string_view rest = a[0].text();
  std::string result;
  std::int64_t done = 0;
  const auto more = [&] {
    return (most < 0 || done++ < most) && runtime.meter().room(result.size() + to.size());
  };
  if (from.empty()) {  // before every character and at the end
    bool adding = more();
    while (adding) {
      result += to;
      const utf8::Decoded next = utf8::decode(rest);
      result += rest.substr(0, next.size);
      rest.remove_prefix(next.size);
      adding = next.size > 0 && more();
    }
    return Val::string(result + std::string(rest));
  }
  std::size_t found = position(rest, from);
  while (found != std::string_view::npos && more()) {
    result += rest.substr(0, found);
    result += to;
    rest.remove_prefix(found + from.size());
    found = position(rest, from);
  }
  return Val::string(result + std::string(rest));
}

Val split(Arguments a, Runtime& runtime) {
  constexpr std::size_t kPartBytes = sizeof(Val) + 32;  // and a text's own memory
  const std::string_view separator = a[1].text();
  const std::int64_t most = a.size() == 3 ? a[2].as_int() : -1;
  std::string_view rest = a[0].text();
  std::vector<Val> parts;
  if (most == 0 || (separator.empty() && rest.empty())) {
    return Val::list(std::move(parts));
  }
  const auto room = [&] {
    return (most < 0 || static_cast<std::int64_t>(parts.size()) + 1 < most) &&
           runtime.meter().make(kPartBytes);
  };
  while (room()) {
    const std::size_t found =
        separator.empty() ? utf8::decode(rest).size : position(rest, separator);
    if (found == std::string_view::npos || (separator.empty() && found >= rest.size())) {
      break;
    }
    parts.push_back(Val::string(rest.substr(0, found)));
    rest.remove_prefix(found + separator.size());
  }
  parts.push_back(Val::string(rest));
  return Val::list(std::move(parts));
}

Val join(Arguments a, Runtime& runtime) {
  const ListNode& list = *a[0].as_list();
  const std::string_view separator = a.size() == 2 ? a[1].text() : std::string_view();
  std::string result;
  for (std::size_t i = 0; i < list.size() && runtime.meter().tick(Meter::kItem); ++i) {
    const Val item = list.at(i);
    if (!item.is(Val::Kind::String)) {
      return Val::error(fmt::format("join: invalid input: {}", type_name(item)));
    }
    if (!runtime.meter().room(result.size() + separator.size() + item.text().size())) {
      return {};
    }
    result += i == 0 ? std::string_view() : separator;
    result += item.text();
  }
  return Val::string(result);
}

Val substring(Arguments a, Runtime& runtime) {
  const std::u32string text = wide(a[0], runtime);
  const auto size = static_cast<std::int64_t>(text.size());
  const std::int64_t start = a[1].as_int();
  const std::int64_t end = a.size() == 3 ? a[2].as_int() : size;
  if (a.size() == 3 && start > end) {
    return Val::error(fmt::format("invalid substring range. start: {}, end: {}", start, end));
  }
  if (start < 0 || start > size) {
    return out_of_range(start);
  }
  if (end < 0 || end > size) {
    return out_of_range(end);
  }
  return narrow(std::u32string_view(text).substr(static_cast<std::size_t>(start),
                                                 static_cast<std::size_t>(end - start)));
}

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

Val trim(Arguments a, Runtime& runtime) {
  const std::u32string text = wide(a[0], runtime);
  std::u32string_view rest = text;
  while (!rest.empty() && is_space(rest.front())) {
    rest.remove_prefix(1);
  }
  while (!rest.empty() && is_space(rest.back())) {
    rest.remove_suffix(1);
  }
  return narrow(rest);
}

Val reverse(Arguments a, Runtime& runtime) {
  const std::u32string text = wide(a[0], runtime);
  return narrow(std::u32string(text.rbegin(), text.rend()));
}

Val quote(Arguments a, Runtime&) {
  constexpr std::string_view kSpecial = "\a\b\f\n\r\t\v\\\"";
  constexpr std::string_view kNames = "abfnrtv\\\"";
  std::string result = "\"";
  for (const char c : a[0].text()) {
    const std::size_t index = kSpecial.find(c);
    if (index == std::string_view::npos) {
      result += c;
    } else {
      result += '\\';
      result += kNames[index];
    }
  }
  return Val::string(result + "\"");
}

Val format(Arguments a, Runtime& runtime) {
  return format_text(a[0].text(), *a[1].as_list(), runtime.meter());
}

}  // namespace

void add_text_functions(FunctionTable& table) {
  table.add("contains", "contains_string", "string.(string) -> bool", contains);
  table.add("startsWith", "starts_with_string", "string.(string) -> bool", starts_with);
  table.add("endsWith", "ends_with_string", "string.(string) -> bool", ends_with);
  table.add("matches", "matches", "string, string -> bool", matches);
  table.add("matches", "matches_string", "string.(string) -> bool", matches);
  table.add("charAt", "string_char_at_int", "string.(int) -> string", char_at);
  table.add("indexOf", "string_index_of_string", "string.(string) -> int", index_in_text);
  table.add("indexOf", "string_index_of_string_int", "string.(string, int) -> int", index_in_text);
  table.add("lastIndexOf", "string_last_index_of_string", "string.(string) -> int", last_index_of);
  table.add("lastIndexOf", "string_last_index_of_string_int", "string.(string, int) -> int",
            last_index_of);
  table.add("lowerAscii", "string_lower_ascii", "string.() -> string", lower_ascii);
  table.add("upperAscii", "string_upper_ascii", "string.() -> string", upper_ascii);
  table.add("replace", "string_replace_string_string", "string.(string, string) -> string",
            replace);
  table.add("replace", "string_replace_string_string_int", "string.(string, string, int) -> string",
            replace);
  table.add("split", "string_split_string", "string.(string) -> list(string)", split);
  table.add("split", "string_split_string_int", "string.(string, int) -> list(string)", split);
  table.add("join", "list_join", "list(string).() -> string", join);
  table.add("join", "list_join_string", "list(string).(string) -> string", join);
  table.add("substring", "string_substring_int", "string.(int) -> string", substring);
  table.add("substring", "string_substring_int_int", "string.(int, int) -> string", substring);
  table.add("trim", "string_trim", "string.() -> string", trim);
  table.add("reverse", "string_reverse", "string.() -> string", reverse);
  table.add("strings.quote", "strings_quote", "string -> string", quote);
  table.add("format", "string_format", "string.(list(dyn)) -> string", format);
}

}  // namespace athanor::cel
