// SPDX-License-Identifier: Apache-2.0
#include "cel/lexer.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>

#include "base/utf8.hpp"

namespace athanor::cel {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::optional<int> hex_digit(char c) {
  if (is_digit(c)) {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? std::optional<int>(c - 'A' + 10) : std::nullopt;
}

// The body of a text literal with its escapes resolved; nullopt when one is malformed.
class Unescape {
 public:
  Unescape(std::string_view body, bool bytes) : rest_(body), bytes_(bytes) {}

  std::optional<std::string> run() {
    while (!rest_.empty()) {
      if (rest_.front() == '\r') {  // every end of line is \n
        rest_.remove_prefix(rest_.starts_with("\r\n") ? 2 : 1);
        out_ += '\n';
      } else if (rest_.front() != '\\') {
        out_ += rest_.front();
        rest_.remove_prefix(1);
      } else if (!escape()) {
        return std::nullopt;
      }
    }
    return std::move(out_);
  }

 private:
  bool escape() {
    if (rest_.size() < 2) {
      return false;
    }
    constexpr std::string_view kNames = "abfnrtv\\'\"`?";
    constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\'\"`?";
    const char c = rest_[1];
    const std::size_t index = kNames.find(c);
    if (index != std::string_view::npos) {
      out_ += kMeanings[index];
      rest_.remove_prefix(2);
      return true;
    }
    if (c == 'x' || c == 'X') {
      return code(2, 2, 16, bytes_);
    }
    if (c == 'u' && !bytes_) {
      return code(2, 4, 16, false);
    }
    if (c == 'U' && !bytes_) {
      return code(2, 8, 16, false);
    }
    return c >= '0' && c <= '3' && code(1, 3, 8, bytes_);
  }

  bool code(std::size_t skip, std::size_t count, std::uint32_t base, bool raw) {
    if (rest_.size() < skip + count) {
      return false;
    }
    std::uint32_t number = 0;
    for (const char c : rest_.substr(skip, count)) {
      const std::optional<int> digit = hex_digit(c);
      if (!digit || static_cast<std::uint32_t>(*digit) >= base) {
        return false;
      }
      number = number * base + static_cast<std::uint32_t>(*digit);
    }
    if (raw) {
      if (number > 0xff) {
        return false;
      }
      out_ += static_cast<char>(number);
    } else {
      if (number > 0x10ffff || (number >= 0xd800 && number <= 0xdfff)) {
        return false;
      }
      utf8::append(out_, number);
    }
    rest_.remove_prefix(skip + count);
    return true;
  }

  std::string_view rest_;
  bool bytes_;
  std::string out_{};
};

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  Tokens run() {
    while (true) {
      skip_blanks();
      start_ = at_;
      start_position_ = position_;
      if (at_ >= source_.size()) {
        push(TokenKind::End, "<EOF>");
        return std::move(result_);
      }
      next();
    }
  }

 private:
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }

  void advance(std::size_t bytes) {
    const std::size_t end = at_ + bytes;
    while (at_ < end) {
      at_ += std::max<std::size_t>(utf8::decode(source_.substr(at_)).size, 1);
      ++position_;
    }
  }

  void skip_blanks() {
    while (at_ < source_.size()) {
      const char c = peek();
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f') {
        advance(1);
      } else if (c == '/' && peek(1) == '/') {
        const std::size_t end = source_.find('\n', at_);
        advance((end == std::string_view::npos ? source_.size() : end) - at_);
      } else {
        return;
      }
    }
  }

  void push(TokenKind kind, std::string_view text, Val literal = {}) {
    result_.tokens.push_back({.kind = kind,
                              .text = std::string(text),
                              .literal = std::move(literal),
                              .position = start_position_});
  }
  void fail(std::string message) {
    result_.issues.push_back({.position = start_position_, .message = std::move(message)});
  }

  void next() {
    const char c = peek();
    if (const std::size_t prefix = text_prefix(); prefix != std::string_view::npos) {
      return text(prefix);
    }
    if (is_letter(c)) {
      return word();
    }
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      return number();
    }
    if (c == '`') {
      return escaped();
    }
    constexpr std::array<std::string_view, 6> kDouble = {"==", "!=", "<=", ">=", "&&", "||"};
    for (const std::string_view two : kDouble) {
      if (source_.substr(at_).starts_with(two)) {
        advance(2);
        return push(TokenKind::Punctuation, two);
      }
    }
    constexpr std::string_view kSingle = "()[]{}.,?:+-*/%!<>";
    if (kSingle.find(c) != std::string_view::npos) {
      push(TokenKind::Punctuation, source_.substr(at_, 1));
      return advance(1);
    }
    const std::size_t size = std::max<std::size_t>(utf8::decode(source_.substr(at_)).size, 1);
    fail(fmt::format("Syntax error: token recognition error at: '{}'", source_.substr(at_, size)));
    advance(size);
  }

  void word() {
    std::size_t length = 1;
    while (is_letter(peek(length)) || is_digit(peek(length))) {
      ++length;
    }
    const std::string_view name = source_.substr(at_, length);
    advance(length);
    if (name == "true" || name == "false") {
      return push(TokenKind::Literal, name, Val::boolean(name == "true"));
    }
    if (name == "null") {
      return push(TokenKind::Literal, name);
    }
    push(name == "in" ? TokenKind::Punctuation : TokenKind::Identifier, name);
  }

  void escaped() {
    const std::size_t end = source_.find('`', at_ + 1);
    const std::string_view name = source_.substr(at_ + 1, end - at_ - 1);
    bool good = end != std::string_view::npos && !name.empty();
    for (const char c : name) {
      good = good && (is_letter(c) || is_digit(c) || c == '.' || c == '-' || c == '/' || c == ' ');
    }
    if (!good) {
      fail("Syntax error: token recognition error at: '`'");
      return advance(1);
    }
    advance(name.size() + 2);
    push(TokenKind::EscapedIdentifier, name);
  }

  void number() {
    std::size_t length = 0;
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X') && hex_digit(peek(2))) {
      length = 2;
      while (hex_digit(peek(length))) {
        ++length;
      }
      return integer(length, 16);
    }
    const auto run = [&] {
      while (is_digit(peek(length))) {
        ++length;
      }
    };
    run();
    bool real = false;
    if (peek(length) == '.' && is_digit(peek(length + 1))) {
      real = true;
      ++length;
      run();
    }
    if (peek(length) == 'e' || peek(length) == 'E') {
      const std::size_t sign = peek(length + 1) == '+' || peek(length + 1) == '-' ? 2 : 1;
      if (is_digit(peek(length + sign))) {
        real = true;
        length += sign;
        run();
      }
    }
    if (!real) {
      return integer(length, 10);
    }
    const std::string_view digits = source_.substr(at_, length);
    double value = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    advance(length);
    if (parsed.ec != std::errc()) {
      fail("invalid double literal");
    }
    push(TokenKind::Literal, digits, Val::real(value));
  }

  // A '-' in front was an operator so far; the parser joins the two.
  void integer(std::size_t length, int base) {
    const bool is_unsigned = peek(length) == 'u' || peek(length) == 'U';
    const std::string_view digits = source_.substr(at_, length);
    const std::string_view plain = base == 16 ? digits.substr(2) : digits;
    std::uint64_t value = 0;
    const auto parsed = std::from_chars(plain.data(), plain.data() + plain.size(), value, base);
    const std::string_view whole = source_.substr(at_, length + (is_unsigned ? 1 : 0));
    advance(whole.size());
    if (parsed.ec != std::errc()) {
      fail(is_unsigned ? "invalid uint literal" : "invalid int literal");
    }
    // an int above its range stays a uint here: only "-9223372036854775808" may have one
    constexpr std::uint64_t kTwo63 = 1ULL << 63U;
    push(TokenKind::Literal, whole,
         !is_unsigned && value < kTwo63 ? Val::integer(static_cast<std::int64_t>(value))
                                        : Val::unsigned_integer(value));
  }

  // Length of r, b, br, ... before a quote; npos when no text starts here.
  [[nodiscard]] std::size_t text_prefix() const {
    for (std::size_t length = 0; length <= 2; ++length) {
      const char c = peek(length);
      if (c == '"' || c == '\'') {
        return length;
      }
      if (std::string_view("rRbB").find(c) == std::string_view::npos || c == '\0') {
        return std::string_view::npos;
      }
    }
    return std::string_view::npos;
  }

  void text(std::size_t prefix) {
    bool raw = false;
    bool bytes = false;
    for (std::size_t i = 0; i < prefix; ++i) {
      raw = raw || peek(i) == 'r' || peek(i) == 'R';
      bytes = bytes || peek(i) == 'b' || peek(i) == 'B';
    }
    const char quote = peek(prefix);
    const bool triple = peek(prefix + 1) == quote && peek(prefix + 2) == quote;
    const std::string closing(triple ? 3 : 1, quote);
    const std::size_t body = at_ + prefix + closing.size();
    std::size_t end = body;
    while (end < source_.size() && !source_.substr(end).starts_with(closing) &&
           (triple || (source_[end] != '\n' && source_[end] != '\r'))) {
      end += source_[end] == '\\' && !raw ? 2 : 1;
    }
    if (end >= source_.size() || !source_.substr(end).starts_with(closing)) {
      const std::size_t stop = std::min(end, source_.size());
      fail(fmt::format("Syntax error: token recognition error at: '{}'",
                       source_.substr(at_, stop - at_)));
      return advance(stop - at_);
    }
    const std::string_view content = source_.substr(body, end - body);
    const std::string_view whole = source_.substr(at_, end + closing.size() - at_);
    const std::optional<std::string> value =
        raw ? std::optional<std::string>(content) : Unescape(content, bytes).run();
    advance(whole.size());
    if (!value) {
      fail(bytes ? "invalid bytes literal" : "invalid string literal");
    }
    const std::string result = value.value_or("");
    push(TokenKind::Literal, whole, bytes ? Val::bytes(result) : Val::string(result));
  }

  std::string_view source_;
  std::size_t at_ = 0;
  std::uint32_t position_ = 0;
  std::size_t start_ = 0;
  std::uint32_t start_position_ = 0;
  Tokens result_{};
};

}  // namespace

Tokens tokenize(std::string_view source) {
  return Lexer(source).run();
}

}  // namespace athanor::cel
