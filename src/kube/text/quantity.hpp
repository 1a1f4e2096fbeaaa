// SPDX-License-Identifier: Apache-2.0
// Resource quantities: exact decimal arithmetic with nano resolution and canonical text
// (docs/spec/apiserver.md 14.6).
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kube/value/value.hpp"

namespace athanor {

class Quantity {
 public:
  enum class Format : std::uint8_t { DecimalSI, BinarySI, DecimalExponent };

  Quantity() = default;
  static Quantity from_int(std::int64_t number, Format format = Format::DecimalSI);
  static Quantity from_milli(std::int64_t milli, Format format = Format::DecimalSI);
  // Parses a quantity; nullopt when the text is none.
  static std::optional<Quantity> parse(std::string_view text);
  // Parses a JSON string or number. A template, so that texts go to the overload above.
  template <std::same_as<Value> V>
  static std::optional<Quantity> parse(const V& value) {
    return parse_value(value);
  }

  // Returns the canonical text: the family's largest suffix that keeps an integer mantissa.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] Format format() const { return format_; }
  [[nodiscard]] Quantity with_format(Format format) const;
  // Returns whole (or milli) units, rounded away from zero; saturates at int64.
  [[nodiscard]] std::int64_t value() const;
  [[nodiscard]] std::int64_t milli_value() const;
  [[nodiscard]] bool is_zero() const { return nano_ == 0; }
  [[nodiscard]] bool is_negative() const { return nano_ < 0; }

  Quantity& operator+=(const Quantity& other);
  Quantity& operator-=(const Quantity& other);
  friend Quantity operator+(Quantity a, const Quantity& b) { return a += b; }
  friend Quantity operator-(Quantity a, const Quantity& b) { return a -= b; }
  [[nodiscard]] Quantity times(std::int64_t factor) const;
  friend bool operator==(const Quantity& a, const Quantity& b) { return a.nano_ == b.nano_; }
  friend std::strong_ordering operator<=>(const Quantity& a, const Quantity& b) {
    return a.nano_ < b.nano_   ? std::strong_ordering::less
           : a.nano_ > b.nano_ ? std::strong_ordering::greater
                               : std::strong_ordering::equal;
  }

 private:
  static std::optional<Quantity> parse_value(const Value& value);

  __extension__ using Wide = __int128;  // nano units: covers int64 * 1e9
  Wide nano_ = 0;
  Format format_ = Format::DecimalSI;
  bool capital_exponent_ = false;  // 1E3 stays 1E3
};

}  // namespace athanor
