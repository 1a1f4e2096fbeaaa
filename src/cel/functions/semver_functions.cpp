// SPDX-License-Identifier: Apache-2.0
// semver(): semantic versions 2.0.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <string>
#include <vector>

#include "cel/functions/functions.hpp"

namespace athanor::cel {
namespace {

struct Version {
  std::array<std::uint64_t, 3> numbers{};
  std::vector<std::string> prerelease{};
};

struct SemverNode final : OpaqueNode {
  explicit SemverNode(Version parsed) : version(std::move(parsed)) {}
  [[nodiscard]] std::string_view type_name() const override { return "kubernetes.Semver"; }
  [[nodiscard]] bool equals(const OpaqueNode& other) const override {
    const Version& twin = static_cast<const SemverNode&>(other).version;
    return version.numbers == twin.numbers && version.prerelease == twin.prerelease;
  }

  [[nodiscard]] std::size_t weight() const override {
    std::size_t size = version.prerelease.size() * sizeof(std::string);
    for (const std::string& part : version.prerelease) {
      size += part.size();
    }
    return size;
  }

  Version version;
};

const Version& version_of(const Val& value) {
  return static_cast<const SemverNode&>(*value.as_opaque()).version;
}

bool is_numeric(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::vector<std::string> parts_of(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

bool valid_identifier(std::string_view text) {
  return !text.empty() && text.find_first_not_of(
                              "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-") ==
                              std::string_view::npos;
}

// "v1.2" as "1.2.0", "01.2.3" as "1.2.3".
std::string normalized(std::string_view text) {
  if (text.starts_with('v') || text.starts_with('V')) {
    text.remove_prefix(1);
  }
  const std::size_t end = std::min(text.find_first_of("-+"), text.size());
  std::vector<std::string> numbers = parts_of(text.substr(0, end), '.');
  while (numbers.size() < 3) {
    numbers.emplace_back("0");
  }
  for (std::string& number : numbers) {
    number.erase(0,
                 std::min(number.find_first_not_of('0'), number.empty() ? 0 : number.size() - 1));
  }
  return fmt::format("{}{}", fmt::join(numbers, "."), text.substr(end));
}

std::optional<Version> parse_version(std::string_view text) {
  Version version;
  if (const std::size_t plus = text.find('+'); plus != std::string_view::npos) {
    for (const std::string& part : parts_of(text.substr(plus + 1), '.')) {
      if (!valid_identifier(part)) {
        return std::nullopt;
      }
    }
    text = text.substr(0, plus);
  }
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    version.prerelease = parts_of(text.substr(dash + 1), '.');
    for (const std::string& part : version.prerelease) {
      if (!valid_identifier(part) || (is_numeric(part) && part.size() > 1 && part[0] == '0')) {
        return std::nullopt;
      }
    }
    text = text.substr(0, dash);
  }
  const std::vector<std::string> numbers = parts_of(text, '.');
  if (numbers.size() != 3) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string& number = numbers[i];
    const auto parsed =
        std::from_chars(number.data(), number.data() + number.size(), version.numbers[i]);
    if (!is_numeric(number) || (number.size() > 1 && number[0] == '0') ||
        parsed.ec != std::errc()) {
      return std::nullopt;
    }
  }
  return version;
}

std::optional<Version> parse_arguments(Arguments a) {
  return a.size() == 2 && a[1].as_bool() ? parse_version(normalized(a[0].text()))
                                         : parse_version(a[0].text());
}

int order_identifiers(const std::string& a, const std::string& b) {
  const bool number_a = is_numeric(a);
  const bool number_b = is_numeric(b);
  if (number_a != number_b) {
    return number_a ? -1 : 1;
  }
  if (number_a && a.size() != b.size()) {
    return a.size() < b.size() ? -1 : 1;
  }
  const int order = a.compare(b);
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

int order(const Version& a, const Version& b) {
  if (a.numbers != b.numbers) {
    return a.numbers < b.numbers ? -1 : 1;
  }
  if (a.prerelease.empty() || b.prerelease.empty()) {
    return a.prerelease.empty() == b.prerelease.empty() ? 0 : a.prerelease.empty() ? 1 : -1;
  }
  for (std::size_t i = 0; i < std::min(a.prerelease.size(), b.prerelease.size()); ++i) {
    if (const int by = order_identifiers(a.prerelease[i], b.prerelease[i]); by != 0) {
      return by;
    }
  }
  return a.prerelease.size() == b.prerelease.size()  ? 0
         : a.prerelease.size() < b.prerelease.size() ? -1
                                                     : 1;
}

Val semver(Arguments a, Runtime&) {
  std::optional<Version> parsed = parse_arguments(a);
  return parsed ? Val::opaque(std::make_shared<SemverNode>(*std::move(parsed)))
                : Val::error(fmt::format("invalid semantic version: {}", a[0].text()));
}

Val is_semver(Arguments a, Runtime&) {
  return Val::boolean(parse_arguments(a).has_value());
}

template <std::size_t kPart>
Val version_number(Arguments a, Runtime&) {
  return Val::integer(static_cast<std::int64_t>(version_of(a[0]).numbers[kPart]));
}

Val compare_versions(Arguments a, Runtime&) {
  return Val::integer(order(version_of(a[0]), version_of(a[1])));
}

Val is_less_version(Arguments a, Runtime&) {
  return Val::boolean(order(version_of(a[0]), version_of(a[1])) < 0);
}

Val is_greater_version(Arguments a, Runtime&) {
  return Val::boolean(order(version_of(a[0]), version_of(a[1])) > 0);
}

}  // namespace

void add_semver_functions(FunctionTable& table) {
  table.add("semver", "string_to_semver", "string -> kubernetes.Semver", semver);
  table.add("semver", "string_bool_to_semver", "string, bool -> kubernetes.Semver", semver);
  table.add("isSemver", "is_semver_string", "string -> bool", is_semver);
  table.add("isSemver", "is_semver_string_bool", "string, bool -> bool", is_semver);
  table.add("major", "semver_major", "kubernetes.Semver.() -> int", version_number<0>);
  table.add("minor", "semver_minor", "kubernetes.Semver.() -> int", version_number<1>);
  table.add("patch", "semver_patch", "kubernetes.Semver.() -> int", version_number<2>);
  table.add("compareTo", "semver_compare_to", "kubernetes.Semver.(kubernetes.Semver) -> int",
            compare_versions);
  table.add("isLessThan", "semver_is_less_than", "kubernetes.Semver.(kubernetes.Semver) -> bool",
            is_less_version);
  table.add("isGreaterThan", "semver_is_greater_than",
            "kubernetes.Semver.(kubernetes.Semver) -> bool", is_greater_version);
}

}  // namespace athanor::cel
