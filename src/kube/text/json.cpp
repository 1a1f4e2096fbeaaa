// SPDX-License-Identifier: Apache-2.0
// JSON text to Value: one pass, strict, with the error texts of Go's decoder.
//
// No container is searched or grown while it is read (tree_builder.hpp). Long keys come from a
// bounded per-thread cache: every object of a list shares one "creationTimestamp".
#include "kube/text/json.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <functional>

#include "base/utf8.hpp"
#include "kube/text/text.hpp"
#include "kube/value/tree_builder.hpp"
#include "kube/value/value_access.hpp"

namespace athanor::json {
namespace {

enum class Stop : bool { Go, Fail };

// One byte for an error text, read as Latin-1 and quoted as Go does.
std::string quote_char(char c) {
  if (c == '\'') {
    return R"('\'')";
  }
  if (c == '"') {
    return R"('"')";
  }
  std::string text;
  utf8::append(text, static_cast<unsigned char>(c));
  text = go_quote(text);
  text.front() = '\'';
  text.back() = '\'';
  return text;
}

// Keys longer than an inline string, shared between documents. Bounded: a fixed number of slots.
class KeyCache {
 public:
  Value get(std::string_view key) {
    if (key.size() <= ValueAccess::kInlineBytes || key.size() > kLongestCached) {
      return Value(key);
    }
    Value& slot = slots_[std::hash<std::string_view>()(key) % kSlots];
    if (slot.as_string() != key) {
      slot = Value(key);
    }
    return slot;
  }

 private:
  static constexpr std::size_t kSlots = 1024;         // 16 KiB, and a few hundred field names
  static constexpr std::size_t kLongestCached = 128;  // longer ones are data, not field names
  std::array<Value, kSlots> slots_{};
};

KeyCache& key_cache() {
  static thread_local KeyCache cache;
  return cache;
}

static_assert(std::endian::native == std::endian::little,
              "plain_prefix() counts from the low byte");

// How many of the next eight bytes come before a quote, backslash, control or non-ASCII byte.
std::size_t plain_prefix(const char* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof(word));
  constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
  constexpr std::uint64_t kHigh = 0x8080808080808080ULL;
  // A borrow reaches only bytes above a true match, so the lowest mark is exact.
  const auto below = [](std::uint64_t w, std::uint64_t limit) { return (w - kOnes * limit) & ~w; };
  const std::uint64_t marks = (below(word ^ (kOnes * '"'), 1) | below(word ^ (kOnes * '\\'), 1) |
                               below(word, 0x20) | word) &
                              kHigh;
  return static_cast<std::size_t>(std::countr_zero(marks)) / 8;
}

class Parser {
 public:
  Parser(std::string_view text, const ParseOptions& options)
      : begin_(text.data()), at_(begin_), end_(begin_ + text.size()), options_(options) {}

  Result<Value> run() {
    Value root;
    if (parse_value(root, 0) == Stop::Fail) {
      return std::move(error_);
    }
    skip_blanks();
    if (at_ != end_) {
      return Error::bad_request("invalid character " + quote_char(*at_) + " after top-level value");
    }
    if (options_.duplicates != nullptr) {
      *options_.duplicates = tree_.duplicates();
    }
    return root;
  }

 private:
  Stop fail(std::string message) {
    error_ = Error::bad_request(std::move(message));
    return Stop::Fail;
  }
  // The byte under the cursor is wrong, or the text ends here.
  Stop fail_at(std::string_view where) {
    if (at_ >= end_) {
      return fail("unexpected end of JSON input");
    }
    return fail("invalid character " + quote_char(*at_) + " " + std::string(where));
  }

  void skip_blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) {
      ++at_;
    }
  }

  // The next byte after blanks, or NUL at the end (which no grammar rule takes).
  char peek() {
    skip_blanks();
    return at_ == end_ ? '\0' : *at_;
  }

  Stop parse_value(Value& out, int depth) {
    switch (peek()) {
      case '{':
        return parse_object(out, depth + 1);
      case '[':
        return parse_list(out, depth + 1);
      case '"':
        return parse_string_value(out);
      case 't':
        out = Value(true);
        return parse_literal("true");
      case 'f':
        out = Value(false);
        return parse_literal("false");
      case 'n':
        return parse_literal("null");
      case '-':
      case '0':
      case '1':
      case '2':
      case '3':
      case '4':
      case '5':
      case '6':
      case '7':
      case '8':
      case '9':
        return parse_number(out);
      default:
        return fail_at("looking for beginning of value");
    }
  }

  Stop parse_literal(std::string_view word) {
    for (const char expected : word) {
      if (at_ == end_ || *at_ != expected) {
        return fail_at("in literal " + std::string(word) + " (expecting " + quote_char(expected) +
                       ")");
      }
      ++at_;
    }
    return Stop::Go;
  }

  Stop parse_list(Value& out, int depth) {
    if (depth > options_.max_depth) {
      return fail("exceeded max depth");
    }
    ++at_;
    if (peek() == ']') {
      ++at_;
      out = Value::list();
      return Stop::Go;
    }
    tree_.open_list();
    while (true) {
      Value item;
      if (parse_value(item, depth) == Stop::Fail) {
        return Stop::Fail;
      }
      tree_.add(std::move(item));
      const char next = peek();
      if (next != ',' && next != ']') {
        return fail_at("after array element");
      }
      ++at_;
      if (next == ']') {
        out = tree_.close_list();
        return Stop::Go;
      }
    }
  }

  Stop parse_object(Value& out, int depth) {
    if (depth > options_.max_depth) {
      return fail("exceeded max depth");
    }
    ++at_;
    if (peek() == '}') {
      ++at_;
      out = Value::object();
      return Stop::Go;
    }
    tree_.open_object();
    while (true) {
      if (parse_member(depth) == Stop::Fail) {
        return Stop::Fail;
      }
      const char next = peek();
      if (next != ',' && next != '}') {
        return fail_at("after object key:value pair");
      }
      ++at_;
      if (next == '}') {
        out = tree_.close_object();
        return Stop::Go;
      }
    }
  }

  Stop parse_member(int depth) {
    if (peek() != '"') {
      return fail_at("looking for beginning of object key string");
    }
    const auto offset = static_cast<std::size_t>(at_ - begin_);
    std::string_view key;
    if (parse_string(key) == Stop::Fail) {
      return Stop::Fail;
    }
    Value name = key_cache().get(key);
    if (peek() != ':') {
      return fail_at("after object key");
    }
    ++at_;
    tree_.key(std::move(name), offset);
    Value value;
    if (parse_value(value, depth) == Stop::Fail) {
      return Stop::Fail;
    }
    tree_.set(std::move(value));
    return Stop::Go;
  }

  Stop parse_string_value(Value& out) {
    std::string_view text;
    if (parse_string(text) == Stop::Fail) {
      return Stop::Fail;
    }
    out = Value(text);
    return Stop::Go;
  }

  // The literal at the cursor. `out` points into the input where nothing is escaped, else into
  // scratch_.
  Stop parse_string(std::string_view& out) {
    const char* const start = ++at_;
    skip_plain();
    if (at_ != end_ && *at_ == '"') {
      out = std::string_view(start, static_cast<std::size_t>(at_ - start));
      ++at_;
      return Stop::Go;
    }
    scratch_.assign(start, at_);
    while (true) {
      if (at_ == end_) {
        return fail_at("");
      }
      if (*at_ == '"') {
        ++at_;
        out = scratch_;
        return Stop::Go;
      }
      if (*at_ == '\\') {
        if (parse_escape() == Stop::Fail) {
          return Stop::Fail;
        }
      } else if (static_cast<unsigned char>(*at_) < 0x20) {
        return fail_at("in string literal");
      } else {
        const auto next = utf8::decode({at_, static_cast<std::size_t>(end_ - at_)});
        utf8::append(scratch_, next.code_point);
        at_ += next.size;
      }
      const char* const run = at_;
      skip_plain();
      scratch_.append(run, at_);
    }
  }

  // To the first byte that ends or changes the literal; valid UTF-8 is passed over.
  void skip_plain() {
    while (true) {
      while (end_ - at_ >= 8) {
        const std::size_t prefix = plain_prefix(at_);
        at_ += prefix;
        if (prefix < 8) {
          break;
        }
      }
      if (at_ == end_ || *at_ == '"' || *at_ == '\\' || static_cast<unsigned char>(*at_) < 0x20) {
        return;
      }
      const auto next = utf8::decode({at_, static_cast<std::size_t>(end_ - at_)});
      if (!next.valid) {
        return;
      }
      at_ += next.size;
    }
  }

  Stop parse_escape() {
    ++at_;
    if (at_ == end_) {
      return fail_at("");
    }
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (const std::size_t index = kLetters.find(*at_); index != std::string_view::npos) {
      scratch_ += kMeanings[index];
      ++at_;
      return Stop::Go;
    }
    if (*at_ != 'u') {
      return fail_at("in string escape code");
    }
    ++at_;
    std::uint32_t unit = 0;
    if (parse_hex(unit) == Stop::Fail) {
      return Stop::Fail;
    }
    const bool high = unit >= 0xd800 && unit < 0xdc00;
    if (high && end_ - at_ >= 2 && at_[0] == '\\' && at_[1] == 'u') {
      const char* const resume = at_;
      at_ += 2;
      std::uint32_t low = 0;
      if (parse_hex(low) == Stop::Fail) {
        return Stop::Fail;
      }
      if (low >= 0xdc00 && low < 0xe000) {
        unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
      } else {
        at_ = resume;  // a lone surrogate; what follows is taken literally
      }
    }
    utf8::append(scratch_, unit);
    return Stop::Go;
  }

  Stop parse_hex(std::uint32_t& unit) {
    for (int i = 0; i < 4; ++i, ++at_) {
      std::uint32_t digit = 0;
      if (at_ == end_ || std::from_chars(at_, at_ + 1, digit, 16).ec != std::errc()) {
        return fail_at("in \\u hexadecimal character escape");
      }
      unit = unit * 16 + digit;
    }
    return Stop::Go;
  }

  bool skip_digits() {
    const char* const start = at_;
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9') {
      ++at_;
    }
    return at_ != start;
  }

  Stop parse_number(Value& out) {
    const char* const start = at_;
    bool integer = true;
    if (*at_ == '-') {
      ++at_;
    }
    if (at_ != end_ && *at_ == '0') {
      ++at_;
    } else if (!skip_digits()) {
      return fail_at("in numeric literal");
    }
    if (at_ != end_ && *at_ == '.') {
      ++at_;
      integer = false;
      if (!skip_digits()) {
        return fail_at("after decimal point in numeric literal");
      }
    }
    if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
      ++at_;
      integer = false;
      if (at_ != end_ && (*at_ == '+' || *at_ == '-')) {
        ++at_;
      }
      if (!skip_digits()) {
        return fail_at("in exponent of numeric literal");
      }
    }
    return convert_number({start, static_cast<std::size_t>(at_ - start)}, integer, out);
  }

  Stop convert_number(std::string_view text, bool integer, Value& out) {
    const char* const last = text.data() + text.size();
    if (integer) {
      std::int64_t number = 0;
      if (std::from_chars(text.data(), last, number).ec == std::errc()) {
        out = Value(number);
        return Stop::Go;
      }
      std::uint64_t large = 0;
      if (text.front() != '-' && std::from_chars(text.data(), last, large).ec == std::errc()) {
        out = Value(large);
        return Stop::Go;
      }
    }
    double number = 0;
    if (std::from_chars(text.data(), last, number).ec != std::errc()) {
      // Out of range: too small is zero, too large has no value.
      if (is_tiny(text)) {
        out = Value(text.front() == '-' ? -0.0 : 0.0);
        return Stop::Go;
      }
      return fail("json: cannot unmarshal number " + std::string(text) +
                  " into Go value of type float64");
    }
    out = Value(number);
    return Stop::Go;
  }

  // Of a number out of a double's range: whether it lies below it, by its decimal exponent.
  static bool is_tiny(std::string_view text) {
    const std::size_t e = text.find_first_of("eE");
    const std::string_view digits = text.substr(0, e);
    const auto point = static_cast<std::ptrdiff_t>(std::min(digits.find('.'), digits.size()));
    const auto first = static_cast<std::ptrdiff_t>(digits.find_first_of("123456789"));
    std::ptrdiff_t exponent = point - first;
    if (e != std::string_view::npos) {
      const char* const start = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
      std::ptrdiff_t written = 0;
      if (std::from_chars(start, text.data() + text.size(), written).ec != std::errc()) {
        return text[e + 1] == '-';
      }
      exponent += written;
    }
    return exponent < 0;
  }

  const char* begin_;
  const char* at_;
  const char* end_;
  const ParseOptions& options_;
  TreeBuilder tree_{};
  std::string scratch_{};  // the current string, when it is not a part of the text
  Error error_{};
};

}  // namespace

Result<Value> parse(std::string_view text, const ParseOptions& options) {
  return Parser(text, options).run();
}

}  // namespace athanor::json
