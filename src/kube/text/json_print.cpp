// SPDX-License-Identifier: Apache-2.0
// Value to JSON text, byte for byte as Go's encoder writes it.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/cancellation.hpp"
#include "base/utf8.hpp"
#include "kube/text/json.hpp"

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

// Any of eight bytes is not plain. Looks at all of them at once; a byte from 0x80 on counts, too.
bool any_special(std::uint64_t bytes) {
  constexpr std::uint64_t kOnes = 0x0101'0101'0101'0101;
  constexpr std::uint64_t kHighs = kOnes * 0x80;
  const auto has_zero = [](std::uint64_t word) { return (word - kOnes) & ~word & kHighs; };
  const std::uint64_t control = (bytes - kOnes * 0x20) & ~bytes & kHighs;
  const std::uint64_t quote_or_and = has_zero((bytes | kOnes * 0x04) ^ (kOnes * '&'));
  const std::uint64_t less_or_more = has_zero((bytes | kOnes * 0x02) ^ (kOnes * '>'));
  const std::uint64_t backslash = has_zero(bytes ^ (kOnes * '\\'));
  return ((bytes & kHighs) | control | quote_or_and | less_or_more | backslash) != 0;
}

// Where the bytes that go unchanged end.
std::size_t plain_end(std::string_view text, std::size_t from) {
  std::size_t i = from;
  for (std::uint64_t bytes = 0; i + sizeof(bytes) <= text.size(); i += sizeof(bytes)) {
    std::memcpy(&bytes, text.data() + i, sizeof(bytes));
    if (any_special(bytes)) {
      break;
    }
  }
  while (i < text.size() && kPlain[static_cast<unsigned char>(text[i])]) {
    ++i;
  }
  return i;
}

// Small pieces go through a block of its own: a string's append() is a call each.
class Sink {
 public:
  explicit Sink(std::string& out) : out_(out) {}
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  ~Sink() { flush(); }

  void put(char c) {
    if (used_ == kSize) {
      flush();
    }
    block_[used_++] = c;
  }
  void put(std::string_view text) {
    if (text.size() > kSize - used_) {
      flush();
      if (text.size() > kSize) {
        out_.append(text);
        return;
      }
    }
    std::copy_n(text.data(), text.size(), block_.data() + used_);
    used_ += text.size();
  }

 private:
  void flush() {
    out_.append(block_.data(), used_);
    used_ = 0;
  }
  static constexpr std::size_t kSize = 512;
  std::string& out_;
  std::size_t used_ = 0;
  std::array<char, kSize> block_{};
};

void put_unicode_escape(std::uint32_t unit, Sink& sink) {
  constexpr std::string_view kHex = "0123456789abcdef";
  sink.put("\\u");
  for (int shift = 12; shift >= 0; shift -= 4) {
    sink.put(kHex[(unit >> shift) & 0xf]);
  }
}

void put_ascii_escape(char c, Sink& sink) {
  switch (c) {
    case '"':
      return sink.put("\\\"");
    case '\\':
      return sink.put("\\\\");
    case '\b':
      return sink.put("\\b");
    case '\f':
      return sink.put("\\f");
    case '\n':
      return sink.put("\\n");
    case '\r':
      return sink.put("\\r");
    case '\t':
      return sink.put("\\t");
    default:
      put_unicode_escape(static_cast<unsigned char>(c), sink);
  }
}

void put_quoted(std::string_view text, Sink& sink) {
  sink.put('"');
  std::size_t start = 0;  // of the run that is copied as it is
  std::size_t i = 0;
  while ((i = plain_end(text, i)) < text.size()) {
    if (static_cast<unsigned char>(text[i]) < 0x80) {
      sink.put(text.substr(start, i - start));
      put_ascii_escape(text[i], sink);
      start = ++i;
      continue;
    }
    const utf8::Decoded next = utf8::decode(text.substr(i));
    if (next.valid && next.code_point != 0x2028 && next.code_point != 0x2029) {
      i += next.size;
      continue;
    }
    sink.put(text.substr(start, i - start));
    put_unicode_escape(static_cast<std::uint32_t>(next.code_point), sink);
    i += next.size;
    start = i;
  }
  sink.put(text.substr(start));
  sink.put('"');
}

template <std::integral I>
void put_integer(I number, Sink& sink) {
  std::array<char, 24> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  sink.put({buffer.data(), static_cast<std::size_t>(result.ptr - buffer.data())});
}

void put_value(const Value& value, Sink& sink);

void put_object(const Value& object, Sink& sink) {
  give_up_if_cancelled();
  char separator = '{';
  for (const Member& member : object.members()) {
    sink.put(separator);
    separator = ',';
    put_quoted(member.key(), sink);
    sink.put(':');
    put_value(member.value, sink);
  }
  sink.put(separator == '{' ? std::string_view("{}") : std::string_view("}"));
}

void put_list(const Value& list, Sink& sink) {
  char separator = '[';
  for (const Value& item : list.items()) {
    sink.put(separator);
    separator = ',';
    put_value(item, sink);
  }
  sink.put(separator == '[' ? std::string_view("[]") : std::string_view("]"));
}

void put_value(const Value& value, Sink& sink) {
  switch (value.type()) {
    case Value::Type::Null:
      return sink.put("null");
    case Value::Type::Bool:
      return sink.put(value.as_bool() ? "true" : "false");
    case Value::Type::Int:
      return put_integer(value.as_int(), sink);
    case Value::Type::Uint:
      return put_integer(value.as_uint(), sink);
    case Value::Type::Double:
      return sink.put(format_number(value.as_double()));
    case Value::Type::String:
      return put_quoted(value.as_string(), sink);
    case Value::Type::List:
      return put_list(value, sink);
    case Value::Type::Object:
      return put_object(value, sink);
  }
}

void put_line(std::size_t depth, bool first, Sink& sink) {
  sink.put(first ? std::string_view("\n") : std::string_view(",\n"));
  for (std::size_t i = 0; i < depth; ++i) {
    sink.put("  ");
  }
}

void put_pretty(const Value& value, std::size_t indent, Sink& sink) {
  if (value.empty() || (!value.is_list() && !value.is_object())) {
    return put_value(value, sink);
  }
  bool first = true;
  if (value.is_list()) {
    sink.put('[');
    for (const Value& item : value.items()) {
      put_line(indent + 1, std::exchange(first, false), sink);
      put_pretty(item, indent + 1, sink);
    }
    put_line(indent, true, sink);
    return sink.put(']');
  }
  sink.put('{');
  for (const Member& member : value.members()) {
    put_line(indent + 1, std::exchange(first, false), sink);
    put_quoted(member.key(), sink);
    sink.put(": ");
    put_pretty(member.value, indent + 1, sink);
  }
  put_line(indent, true, sink);
  sink.put('}');
}

}  // namespace

void append(const Value& value, std::string& out) {
  Sink sink(out);
  put_value(value, sink);
}

std::string print(const Value& value, Style style) {
  std::string out;
  {
    Sink sink(out);
    if (style == Style::Pretty) {
      put_pretty(value, 0, sink);
    } else {
      put_value(value, sink);
    }
  }
  return out;
}

std::string quote(std::string_view text) {
  std::string out;
  {
    Sink sink(out);
    put_quoted(text, sink);
  }
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
