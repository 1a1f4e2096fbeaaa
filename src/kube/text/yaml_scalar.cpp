// SPDX-License-Identifier: Apache-2.0
// Resolution of plain scalars.
#include "kube/text/yaml_scalar.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>

#include "kube/text/json.hpp"

namespace athanor::yaml {
namespace {

using Type = PlainScalar::Type;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

struct Word {
  std::string_view text{};
  Type type = Type::Null;
  double number = 0;  // 1 for true
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

constexpr auto kWords = std::to_array<Word>({
    {"", Type::Null},
    {"~", Type::Null},
    {"null", Type::Null},
    {"Null", Type::Null},
    {"NULL", Type::Null},
    {"y", Type::Bool, 1},
    {"Y", Type::Bool, 1},
    {"yes", Type::Bool, 1},
    {"Yes", Type::Bool, 1},
    {"YES", Type::Bool, 1},
    {"true", Type::Bool, 1},
    {"True", Type::Bool, 1},
    {"TRUE", Type::Bool, 1},
    {"on", Type::Bool, 1},
    {"On", Type::Bool, 1},
    {"ON", Type::Bool, 1},
    {"n", Type::Bool},
    {"N", Type::Bool},
    {"no", Type::Bool},
    {"No", Type::Bool},
    {"NO", Type::Bool},
    {"false", Type::Bool},
    {"False", Type::Bool},
    {"FALSE", Type::Bool},
    {"off", Type::Bool},
    {"Off", Type::Bool},
    {"OFF", Type::Bool},
    {"<<", Type::Merge},
    {".nan", Type::NotFinite, kNan},
    {".NaN", Type::NotFinite, kNan},
    {".NAN", Type::NotFinite, kNan},
    {".inf", Type::NotFinite, kInfinity},
    {".Inf", Type::NotFinite, kInfinity},
    {".INF", Type::NotFinite, kInfinity},
    {"+.inf", Type::NotFinite, kInfinity},
    {"+.Inf", Type::NotFinite, kInfinity},
    {"+.INF", Type::NotFinite, kInfinity},
    {"-.inf", Type::NotFinite, -kInfinity},
    {"-.Inf", Type::NotFinite, -kInfinity},
    {"-.INF", Type::NotFinite, -kInfinity},
});

// An integer with Go's prefixes 0x, 0b, 0o and 0; `digits` has no sign.
std::optional<std::uint64_t> parse_magnitude(std::string_view digits) {
  int base = 10;
  if (digits.size() > 1 && digits[0] == '0') {
    const char letter = static_cast<char>(digits[1] | 0x20);
    base = letter == 'x' ? 16 : letter == 'b' ? 2 : 8;
    digits.remove_prefix(letter == 'x' || letter == 'b' || letter == 'o' ? 2 : 1);
  }
  std::uint64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, number, base);
  return result.ec == std::errc() && result.ptr == end ? std::optional(number) : std::nullopt;
}

std::optional<Value> parse_integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  const auto magnitude = parse_magnitude(text.substr(negative || text.starts_with('+') ? 1 : 0));
  if (!magnitude) {
    return std::nullopt;
  }
  constexpr std::uint64_t kMinMagnitude = 1ULL << 63;
  if (!negative) {
    return Value(*magnitude);
  }
  if (*magnitude > kMinMagnitude) {
    return std::nullopt;
  }
  return Value(static_cast<std::int64_t>(0 - *magnitude));
}

// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool has_float_shape(std::string_view text) {
  std::size_t i = 0;
  const auto skip_sign = [&] {
    i += i < text.size() && (text[i] == '-' || text[i] == '+') ? 1 : 0;
  };
  const auto skip_digits = [&] {
    const std::size_t start = i;
    while (i < text.size() && is_digit(text[i])) {
      ++i;
    }
    return i - start;
  };
  skip_sign();
  const std::size_t whole = skip_digits();
  std::size_t fraction = 0;
  if (i < text.size() && text[i] == '.') {
    ++i;
    fraction = skip_digits();
  }
  if (whole + fraction == 0) {
    return false;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    skip_sign();
    if (skip_digits() == 0) {
      return false;
    }
  }
  return i == text.size();
}

std::optional<double> parse_float(std::string_view text) {
  if (!has_float_shape(text)) {
    return std::nullopt;
  }
  if (text.starts_with('+')) {
    text.remove_prefix(1);
  }
  double number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  return result.ec == std::errc() ? std::optional(number) : std::nullopt;
}

// A float as it is after a trip through JSON: 1.0 and 1e3 are integers.
Value json_number(double number) {
  auto value = json::parse(json::format_number(number));
  return value.value_or(Value(number));
}

// Reads one or two digits (or exactly `width`) in front of `text`.
std::optional<unsigned> take_number(std::string_view& text, std::size_t min_width,
                                    std::size_t max_width) {
  std::size_t width = 0;
  unsigned number = 0;
  while (width < std::min(max_width, text.size()) && is_digit(text[width])) {
    number = number * 10 + static_cast<unsigned>(text[width] - '0');
    ++width;
  }
  if (width < min_width) {
    return std::nullopt;
  }
  text.remove_prefix(width);
  return number;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) {
    return false;
  }
  text.remove_prefix(1);
  return true;
}

bool is_zone(std::string_view text) {
  if (text == "Z") {
    return true;
  }
  const bool sign = take(text, '+') || take(text, '-');
  return sign && take_number(text, 2, 2) && take(text, ':') && take_number(text, 2, 2) &&
         text.empty();
}

// 2001-1-2, 2001-01-02T3:04:05.6Z, 2001-01-02 03:04:05
bool is_timestamp(std::string_view text) {
  const auto year = take_number(text, 4, 4);
  if (!year || !take(text, '-')) {
    return false;
  }
  const auto month = take_number(text, 1, 2);
  if (!month || !take(text, '-')) {
    return false;
  }
  const auto day = take_number(text, 1, 2);
  if (!day || !std::chrono::year_month_day(std::chrono::year(static_cast<int>(*year)),
                                           std::chrono::month(*month), std::chrono::day(*day))
                   .ok()) {
    return false;
  }
  if (text.empty()) {
    return true;
  }
  const bool zoned = take(text, 'T') || take(text, 't');
  if (!zoned && !take(text, ' ')) {
    return false;
  }
  const auto hour = take_number(text, 1, 2);
  const auto minute = take(text, ':') ? take_number(text, 1, 2) : std::nullopt;
  const auto second = take(text, ':') ? take_number(text, 1, 2) : std::nullopt;
  if (!hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 59) {
    return false;
  }
  if (take(text, '.') && !take_number(text, 1, 9)) {
    return false;
  }
  return zoned ? is_zone(text) : text.empty();
}

PlainScalar resolve_number(std::string_view text) {
  if (is_timestamp(text)) {
    return {.type = Type::Timestamp, .value = text};
  }
  std::string plain(text);
  std::erase(plain, '_');
  if (const auto integer = parse_integer(plain)) {
    return {.type = Type::Integer, .value = *integer};
  }
  if (const auto number = parse_float(plain)) {
    return {.type = Type::Float, .value = json_number(*number), .number = *number};
  }
  return {.type = Type::String, .value = text};
}

}  // namespace

PlainScalar resolve_plain(std::string_view text) {
  if (const auto word = std::ranges::find(kWords, text, &Word::text); word != kWords.end()) {
    PlainScalar scalar{.type = word->type, .number = word->number};
    if (word->type == Type::Bool) {
      scalar.value = word->number != 0;
    } else if (word->type == Type::Merge) {
      scalar.value = text;
    }
    return scalar;
  }
  if (text.front() == '.') {
    if (const auto number = parse_float(text)) {
      return {.type = Type::Float, .value = json_number(*number), .number = *number};
    }
  } else if (is_digit(text.front()) || text.front() == '-' || text.front() == '+') {
    return resolve_number(text);
  }
  return {.type = Type::String, .value = text};
}

bool is_base60(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) {
    text.remove_prefix(1);
  }
  if (text.empty() || !is_digit(text.front())) {
    return false;
  }
  text.remove_prefix(std::min(text.find_first_not_of("0123456789_"), text.size()));
  std::size_t groups = 0;
  while (take(text, ':')) {
    const std::size_t width = std::min(text.find_first_not_of("0123456789"), text.size());
    if (width == 0 || width > 2 || (width == 2 && text[0] > '5')) {
      return false;
    }
    text.remove_prefix(width);
    ++groups;
  }
  if (groups > 0 && take(text, '.')) {
    text.remove_prefix(std::min(text.find_first_not_of("0123456789_"), text.size()));
  }
  return groups > 0 && text.empty();
}

std::string format_g(double number) {
  std::array<char, 40> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                    std::chars_format::scientific);
  std::string scientific(buffer.data(), result.ptr);
  const std::size_t e = scientific.find('e');
  int exponent = 0;
  const char* const digits = scientific.data() + e + (scientific[e + 1] == '+' ? 2 : 1);
  std::from_chars(digits, scientific.data() + scientific.size(), exponent);
  // Go decides as %g with six digits does, however many it then prints.
  return exponent < -4 || exponent >= 6 ? scientific : json::format_number(number);
}

}  // namespace athanor::yaml
