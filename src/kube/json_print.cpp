// SPDX-License-Identifier: Apache-2.0
// Value to JSON text, byte for byte as Go's encoder writes it.
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/utf8.hpp"
#include "kube/json.hpp"

namespace athanor::json {
namespace {

// Bytes that go into a string literal unchanged; the others need an escape or a look at the UTF-8.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> table{};
  for (std::size_t c = 0x20; c < 0x80; ++c) {
    table[c] = c != '"' && c != '\\' && c != '<' && c != '>' && c != '&';
  }
  return table;
}();

void append_unicode_escape(std::uint32_t unit, std::string& out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) {
    out += kHex[(unit >> shift) & 0xf];
  }
}

void append_ascii_escape(char c, std::string& out) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      append_unicode_escape(static_cast<unsigned char>(c), out);
  }
}

void append_quoted(std::string_view text, std::string& out) {
  out += '"';
  std::size_t start = 0;  // of the run that is copied as it is
  std::size_t i = 0;
  while (i < text.size()) {
    if (kPlain[static_cast<unsigned char>(text[i])]) {
      ++i;
      continue;
    }
    if (static_cast<unsigned char>(text[i]) < 0x80) {
      out.append(text, start, i - start);
      append_ascii_escape(text[i], out);
      start = ++i;
      continue;
    }
    const utf8::Decoded next = utf8::decode(text.substr(i));
    if (next.valid && next.code_point != 0x2028 && next.code_point != 0x2029) {
      i += next.size;
      continue;
    }
    out.append(text, start, i - start);
    append_unicode_escape(static_cast<std::uint32_t>(next.code_point), out);
    i += next.size;
    start = i;
  }
  out.append(text, start, text.size() - start);
  out += '"';
}

template <std::integral I>
void append_integer(I number, std::string& out) {
  std::array<char, 24> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  out.append(buffer.data(), result.ptr);
}

void append_scalar(const Value& value, std::string& out) {
  switch (value.type()) {
    case Value::Type::Null:
      out += "null";
      return;
    case Value::Type::Bool:
      out += value.as_bool() ? "true" : "false";
      return;
    case Value::Type::Int:
      append_integer(value.as_int(), out);
      return;
    case Value::Type::Uint:
      append_integer(value.as_uint(), out);
      return;
    case Value::Type::Double:
      out += format_number(value.as_double());
      return;
    case Value::Type::String:
      append_quoted(value.as_string(), out);
      return;
    case Value::Type::List:
    case Value::Type::Object:
      break;
  }
}

void append_pretty(const Value& value, std::size_t indent, std::string& out) {
  if (value.empty() || (!value.is_list() && !value.is_object())) {
    append(value, out);
    return;
  }
  const auto next_line = [&](std::size_t depth, bool first) {
    out += first ? "\n" : ",\n";
    out.append(2 * depth, ' ');
  };
  bool first = true;
  if (value.is_list()) {
    out += '[';
    for (const Value& item : value.items()) {
      next_line(indent + 1, std::exchange(first, false));
      append_pretty(item, indent + 1, out);
    }
    next_line(indent, true);
    out += ']';
    return;
  }
  out += '{';
  for (const Member& member : value.members()) {
    next_line(indent + 1, std::exchange(first, false));
    append_quoted(member.key(), out);
    out += ": ";
    append_pretty(member.value, indent + 1, out);
  }
  next_line(indent, true);
  out += '}';
}

}  // namespace

void append(const Value& value, std::string& out) {
  bool first = true;
  if (value.is_object()) {
    out += '{';
    for (const Member& member : value.members()) {
      if (!std::exchange(first, false)) {
        out += ',';
      }
      append_quoted(member.key(), out);
      out += ':';
      append(member.value, out);
    }
    out += '}';
  } else if (value.is_list()) {
    out += '[';
    for (const Value& item : value.items()) {
      if (!std::exchange(first, false)) {
        out += ',';
      }
      append(item, out);
    }
    out += ']';
  } else {
    append_scalar(value, out);
  }
}

std::string print(const Value& value, Style style) {
  std::string out;
  if (style == Style::Pretty) {
    append_pretty(value, 0, out);
  } else {
    append(value, out);
  }
  return out;
}

std::string quote(std::string_view text) {
  std::string out;
  append_quoted(text, out);
  return out;
}

std::string format_number(double number) {
  if (!std::isfinite(number)) {
    return "null";  // JSON has no word for it, and no parser here makes one
  }
  // The shortest digits that read back: "-1.2345e+20".
  std::array<char, 40> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                     std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<std::size_t>(written.ptr - buffer.data()));
  const std::size_t e = text.find('e');
  int exponent = 0;
  const char* exponent_digits = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
  std::from_chars(exponent_digits, text.data() + text.size(), exponent);
  std::string digits;
  for (const char c : text.substr(0, e)) {
    if (c >= '0' && c <= '9') {
      digits += c;
    }
  }
  std::string out = text.front() == '-' ? "-" : "";
  if (digits == "0") {
    return out + "0";
  }
  if (exponent < -6 || exponent >= 21) {
    out += digits.substr(0, 1);
    if (digits.size() > 1) {
      out += "." + digits.substr(1);
    }
    return out + (exponent < 0 ? "e-" : "e+") + std::to_string(std::abs(exponent));
  }
  if (exponent < 0) {
    return out + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  }
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) {
    return out + digits + std::string(whole - digits.size(), '0');
  }
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

}  // namespace athanor::json
