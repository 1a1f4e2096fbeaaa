// SPDX-License-Identifier: Apache-2.0
#include "kube/text/formats.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/digest.hpp"
#include "base/time.hpp"
#include "kube/text/regex.hpp"

namespace athanor {
namespace {

using Check = bool (*)(std::string_view text);

struct FormatPattern {
  std::string_view format{};
  std::string_view pattern{};
};
constexpr std::array<FormatPattern, 16> kPatterns = {{
    {"bsonobjectid", "^[0-9a-fA-F]{24}$"},
    {"uri", R"(^([a-zA-Z][a-zA-Z0-9+.-]*:[^\s\x00-\x1f]+|/[^\s\x00-\x1f]*)$)"},
    {"email", R"(^([^\s<>@]+@[^\s<>@]+|[^<>@]*<[^\s<>@]+@[^\s<>@]+>)$)"},
    {"hostname",
     R"(^([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]{0,61}[a-zA-Z0-9])(\.([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]{0,61}[a-zA-Z0-9]))*$)"},
    {"mac",
     "^([0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}|[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){7}|"
     "[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){19}|[0-9a-fA-F]{2}(-[0-9a-fA-F]{2}){5}|"
     "[0-9a-fA-F]{2}(-[0-9a-fA-F]{2}){7}|[0-9a-fA-F]{2}(-[0-9a-fA-F]{2}){19}|"
     R"([0-9a-fA-F]{4}(\.[0-9a-fA-F]{4}){2}|[0-9a-fA-F]{4}(\.[0-9a-fA-F]{4}){3}|)"
     R"([0-9a-fA-F]{4}(\.[0-9a-fA-F]{4}){9})$)"},
    {"uuid", "(?i)^[0-9A-F]{8}-?[0-9A-F]{4}-?[0-9A-F]{4}-?[0-9A-F]{4}-?[0-9A-F]{12}$"},
    {"uuid3", "(?i)^[0-9A-F]{8}-?[0-9A-F]{4}-?3[0-9A-F]{3}-?[0-9A-F]{4}-?[0-9A-F]{12}$"},
    {"uuid4", "(?i)^[0-9A-F]{8}-?[0-9A-F]{4}-?4[0-9A-F]{3}-?[89AB][0-9A-F]{3}-?[0-9A-F]{12}$"},
    {"uuid5", "(?i)^[0-9A-F]{8}-?[0-9A-F]{4}-?5[0-9A-F]{3}-?[89AB][0-9A-F]{3}-?[0-9A-F]{12}$"},
    {"ssn", R"(^\d{3}[- ]?\d{2}[- ]?\d{4}$)"},
    {"hexcolor", "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"},
    {"rgbcolor",
     R"(^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$)"},
    {"date", R"(^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$)"},
    {"k8sshortname", "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"},
    {"k8slongname", R"(^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$)"},
    // The long form of a duration, beside Go's.
    {"long-duration",
     R"(^(\d+\s*(ns|nanos?|us|µs|micros?|ms|millis?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)\s*)+$)"},
}};

const Regex* pattern_of(std::string_view format) {
  static const std::map<std::string_view, std::shared_ptr<const Regex>> kCompiled = [] {
    std::map<std::string_view, std::shared_ptr<const Regex>> all;
    for (const FormatPattern& entry : kPatterns) {
      auto regex = Regex::compile(entry.pattern);
      ATHANOR_CHECK(regex.ok(), "the format patterns are well-formed");
      all.emplace(entry.format, *std::move(regex));
    }
    return all;
  }();
  const auto found = kCompiled.find(format);
  return found == kCompiled.end() ? nullptr : found->second.get();
}

bool is_address(int family, std::string_view text) {
  std::array<unsigned char, 16> address{};
  return inet_pton(family, std::string(text).c_str(), address.data()) == 1;
}
bool is_ipv4(std::string_view text) {
  return is_address(AF_INET, text);
}
bool is_ipv6(std::string_view text) {
  return is_address(AF_INET6, text);
}

bool is_cidr(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return false;
  }
  const std::string_view address = text.substr(0, slash);
  const std::string_view bits = text.substr(slash + 1);
  unsigned length = 0;
  const auto [end, error] = std::from_chars(bits.data(), bits.data() + bits.size(), length);
  if (error != std::errc() || end != bits.data() + bits.size() || bits.empty()) {
    return false;
  }
  return (is_ipv4(address) && length <= 32) || (is_ipv6(address) && length <= 128);
}

// The digits (and X of ISBN) without blanks and hyphens; empty when anything else is in it.
std::string digits_of(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == 'X' || c == 'x') {
      digits += c;
    } else if (c != ' ' && c != '-') {
      return {};
    }
  }
  return digits;
}

bool is_isbn10(std::string_view text) {
  const std::string digits = digits_of(text);
  if (digits.size() != 10) {
    return false;
  }
  int sum = 0;
  for (std::size_t i = 0; i < 10; ++i) {
    const bool x = digits[i] == 'X' || digits[i] == 'x';
    if (x && i != 9) {
      return false;
    }
    sum += static_cast<int>(10 - i) * (x ? 10 : digits[i] - '0');
  }
  return sum % 11 == 0;
}

bool is_isbn13(std::string_view text) {
  const std::string digits = digits_of(text);
  if (digits.size() != 13 || digits.find_first_of("Xx") != std::string::npos) {
    return false;
  }
  int sum = 0;
  for (std::size_t i = 0; i < 13; ++i) {
    sum += (i % 2 == 0 ? 1 : 3) * (digits[i] - '0');
  }
  return sum % 10 == 0;
}

bool is_isbn(std::string_view text) {
  return is_isbn10(text) || is_isbn13(text);
}

bool is_credit_card(std::string_view text) {
  const std::string digits = digits_of(text);
  if (digits.size() < 13 || digits.size() > 16 || digits.find_first_of("Xx") != std::string::npos) {
    return false;
  }
  int sum = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    int digit = digits[digits.size() - 1 - i] - '0';
    if (i % 2 == 1) {
      digit *= 2;
      digit -= digit > 9 ? 9 : 0;
    }
    sum += digit;
  }
  return sum % 10 == 0;
}

bool is_hostname(std::string_view text) {
  return text.size() <= 255 && pattern_of("hostname")->search(text);
}
bool is_byte(std::string_view text) {
  return base64_decode(text).has_value();
}
bool is_date(std::string_view text) {
  return pattern_of("date")->search(text) &&
         parse_time(std::string(text) + "T00:00:00Z").has_value();
}
bool is_duration(std::string_view text) {
  return parse_go_duration(text).ok() || pattern_of("long-duration")->search(text);
}
bool is_date_time(std::string_view text) {
  return parse_time(text).has_value() || parse_time(std::string(text) + "Z").has_value();
}

bool is_short_name(std::string_view text) {
  constexpr std::size_t kLongest = 63;
  return text.size() <= kLongest && pattern_of("k8sshortname")->search(text);
}
bool is_long_name(std::string_view text) {
  constexpr std::size_t kLongest = 253;
  return text.size() <= kLongest && pattern_of("k8slongname")->search(text);
}

// Dashes in a name do not count.
std::string plain_name(std::string_view format) {
  std::string name(format);
  std::erase(name, '-');
  return name;
}

constexpr std::array<std::pair<std::string_view, Check>, 14> kChecks = {{
    {"k8sshortname", is_short_name},
    {"k8slongname", is_long_name},
    {"ipv4", is_ipv4},
    {"ipv6", is_ipv6},
    {"cidr", is_cidr},
    {"isbn", is_isbn},
    {"isbn10", is_isbn10},
    {"isbn13", is_isbn13},
    {"creditcard", is_credit_card},
    {"hostname", is_hostname},
    {"byte", is_byte},
    {"date", is_date},
    {"duration", is_duration},
    {"datetime", is_date_time},
}};

}  // namespace

bool is_known_format(std::string_view format) {
  const std::string plain = plain_name(format);
  return plain == "password" ||
         std::ranges::any_of(kChecks, [&](const auto& check) { return check.first == plain; }) ||
         pattern_of(plain) != nullptr;
}

bool matches_format(std::string_view format, std::string_view text) {
  const std::string plain = plain_name(format);
  for (const auto& [name, check] : kChecks) {
    if (name == plain) {
      return check(text);
    }
  }
  const Regex* pattern = pattern_of(plain);
  return pattern == nullptr || pattern->search(text);
}

}  // namespace athanor
