// SPDX-License-Identifier: Apache-2.0
// Quantities as 128-bit counts of 1e-9 units.
#include "kube/text/quantity.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "kube/text/json.hpp"

namespace athanor {
namespace {

__extension__ using Wide = __int128;

constexpr Wide kNano = 1'000'000'000;
// Everything saturates here: 1e28 units, far above any resource; the sum of two stays below 2^127.
constexpr Wide kMaxNano = kNano * kNano * kNano * kNano * 10;

using std::string_view_literals::operator""sv;
constexpr std::string_view kDecimalSuffixes = "num\0kMGTPE"sv;  // by exponent: -9, -6, ... 18
constexpr std::string_view kBinarySuffixes = "\0KMGTPE"sv;      // by power of 1024
constexpr int kMinExponent = -9;

Wide saturated(Wide nano) {
  return std::clamp(nano, -kMaxNano, kMaxNano);
}

// a * b for b > 0 and |a| up to kMaxNano.
Wide multiplied(Wide a, Wide b) {
  const Wide limit = kMaxNano / b;
  if (a > limit) {
    return kMaxNano;
  }
  return a < -limit ? -kMaxNano : a * b;
}

Wide divided_away_from_zero(Wide number, Wide divisor) {
  const Wide quotient = number / divisor;
  if (number % divisor == 0) {
    return quotient;
  }
  return number < 0 ? quotient - 1 : quotient + 1;
}

std::int64_t to_int64(Wide number) {
  constexpr Wide kMin = std::numeric_limits<std::int64_t>::min();
  constexpr Wide kMax = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::clamp(number, kMin, kMax));
}

std::string print(Wide number) {
  const bool negative = number < 0;
  std::string digits;
  do {
    const auto digit = static_cast<int>(number % 10);
    digits += static_cast<char>('0' + (digit < 0 ? -digit : digit));
    number /= 10;
  } while (number != 0);
  if (negative) {
    digits += '-';
  }
  std::ranges::reverse(digits);
  return digits;
}

struct Suffix {
  Quantity::Format format = Quantity::Format::DecimalSI;
  int exponent = 0;  // of 10; of 1024 for BinarySI
  bool capital = false;
};

std::optional<Suffix> parse_suffix(std::string_view text) {
  if (text.empty()) {
    return Suffix{};
  }
  if (text.size() == 2 && text[1] == 'i') {
    const std::size_t power = kBinarySuffixes.find(text[0]);
    if (power == std::string_view::npos || power == 0) {
      return std::nullopt;
    }
    return Suffix{.format = Quantity::Format::BinarySI, .exponent = static_cast<int>(power)};
  }
  if (text.size() > 1 && (text[0] == 'e' || text[0] == 'E')) {
    const char* const start = text.data() + (text[1] == '+' ? 2 : 1);
    const char* const end = text.data() + text.size();
    int exponent = 0;
    const auto result = std::from_chars(start, end, exponent);
    const bool overflow = result.ec == std::errc::result_out_of_range;
    if ((result.ec != std::errc() && !overflow) || result.ptr != end ||
        (text[1] == '+' && *start == '-')) {
      return std::nullopt;
    }
    constexpr int kEnough = 100;  // beyond saturation and below one nano
    exponent =
        overflow ? (*start == '-' ? -kEnough : kEnough) : std::clamp(exponent, -kEnough, kEnough);
    return Suffix{.format = Quantity::Format::DecimalExponent,
                  .exponent = exponent,
                  .capital = text[0] == 'E'};
  }
  const std::size_t index = kDecimalSuffixes.find(text[0]);
  if (text.size() != 1 || index == std::string_view::npos || text[0] == '\0') {
    return std::nullopt;
  }
  return Suffix{.format = Quantity::Format::DecimalSI,
                .exponent = kMinExponent + 3 * static_cast<int>(index)};
}

// "012.50" as digits and a decimal exponent. Digits beyond what counts only set `inexact`.
struct Decimal {
  Wide digits = 0;
  int exponent = 0;
  bool inexact = false;
};

std::optional<Decimal> parse_decimal(std::string_view text, int max_digits) {
  Decimal decimal;
  int count = 0;
  bool any = false;
  bool fraction = false;
  for (const char c : text) {
    if (c == '.') {
      if (fraction) {
        return std::nullopt;
      }
      fraction = true;
      continue;
    }
    any = true;
    if (count < max_digits) {
      decimal.digits = decimal.digits * 10 + (c - '0');
      count += decimal.digits == 0 ? 0 : 1;
      decimal.exponent -= fraction ? 1 : 0;
    } else {
      decimal.inexact = decimal.inexact || c != '0';
      decimal.exponent += fraction ? 0 : 1;
    }
  }
  return any ? std::optional(decimal) : std::nullopt;
}

constexpr int kMostDigits = 37;  // of the largest amount in nano units

// How many of them leave space for a factor of 1024^power.
int binary_digits(int power) {
  constexpr int kLog2 = 30'103;  // of 10, by 100,000
  return kMostDigits - 10 * power * kLog2 / 100'000;
}

// digits * 10^exponent, rounded up; `exponent` may be far out of range.
Wide scaled(Wide digits, int exponent, bool inexact) {
  for (; exponent > 0 && digits != 0 && digits < kMaxNano; --exponent) {
    digits = multiplied(digits, 10);
  }
  for (; exponent < 0 && digits != 0; ++exponent) {
    inexact = inexact || digits % 10 != 0;
    digits /= 10;
  }
  return saturated(digits + (inexact ? 1 : 0));
}

}  // namespace

Quantity Quantity::from_int(std::int64_t number, Format format) {
  Quantity quantity;
  quantity.nano_ = Wide{number} * kNano;
  quantity.format_ = format;
  return quantity;
}

Quantity Quantity::from_milli(std::int64_t milli, Format format) {
  Quantity quantity;
  quantity.nano_ = Wide{milli} * (kNano / 1000);
  quantity.format_ = format;
  return quantity;
}

std::optional<Quantity> Quantity::parse(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) {
    text.remove_prefix(1);
  }
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto suffix = parse_suffix(text.substr(end));
  if (!suffix) {
    return std::nullopt;
  }
  const bool binary = suffix->format == Format::BinarySI;
  const auto decimal =
      parse_decimal(text.substr(0, end), binary ? binary_digits(suffix->exponent) : kMostDigits);
  if (!decimal) {
    return std::nullopt;
  }
  Wide digits = decimal->digits;
  int exponent = decimal->exponent + 9;
  if (binary) {
    digits <<= 10 * suffix->exponent;
  } else {
    exponent += suffix->exponent;
  }
  Quantity quantity;
  quantity.nano_ = scaled(digits, exponent, decimal->inexact);
  quantity.format_ = suffix->format;
  quantity.capital_exponent_ = suffix->capital;
  if (negative) {
    quantity.nano_ = -quantity.nano_;
  }
  return quantity;
}

std::optional<Quantity> Quantity::parse_value(const Value& value) {
  if (value.is_string()) {
    return parse(value.as_string());
  }
  if (value.is_number()) {
    return parse(json::print(value));
  }
  return std::nullopt;
}

std::string Quantity::text() const {
  if (nano_ == 0) {
    return "0";
  }
  if (format_ == Format::BinarySI && nano_ % kNano == 0 &&
      (nano_ >= 1024 * kNano || nano_ <= -1024 * kNano)) {
    Wide number = nano_ / kNano;
    std::size_t power = 0;
    while (number % 1024 == 0 && power + 1 < kBinarySuffixes.size()) {
      number /= 1024;
      ++power;
    }
    return print(number) + (power == 0 ? "" : std::string{kBinarySuffixes[power], 'i'});
  }
  const bool exponential = format_ == Format::DecimalExponent;
  Wide number = nano_;
  int exponent = kMinExponent;
  while (number % 1000 == 0 && (exponential || exponent < 18)) {
    number /= 1000;
    exponent += 3;
  }
  std::string text = print(number);
  if (exponent == 0) {
    return text;
  }
  if (exponential) {
    return text + (capital_exponent_ ? 'E' : 'e') + std::to_string(exponent);
  }
  return text + kDecimalSuffixes[static_cast<std::size_t>((exponent - kMinExponent) / 3)];
}

Quantity Quantity::with_format(Format format) const {
  Quantity quantity = *this;
  quantity.format_ = format;
  return quantity;
}

std::int64_t Quantity::value() const {
  return to_int64(divided_away_from_zero(nano_, kNano));
}

std::int64_t Quantity::milli_value() const {
  return to_int64(divided_away_from_zero(nano_, kNano / 1000));
}

Quantity& Quantity::operator+=(const Quantity& other) {
  if (nano_ == 0) {
    format_ = other.format_;  // a zero has no family of its own
  }
  nano_ = saturated(nano_ + other.nano_);
  return *this;
}

Quantity& Quantity::operator-=(const Quantity& other) {
  if (nano_ == 0) {
    format_ = other.format_;
  }
  nano_ = saturated(nano_ - other.nano_);
  return *this;
}

Quantity Quantity::times(std::int64_t factor) const {
  Quantity quantity = *this;
  const Wide wide_factor = factor;
  quantity.nano_ = factor == 0  ? 0
                   : factor < 0 ? -multiplied(nano_, -wide_factor)
                                : multiplied(nano_, wide_factor);
  return quantity;
}

}  // namespace athanor
