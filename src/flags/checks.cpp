// SPDX-License-Identifier: Apache-2.0
#include "flags/checks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace athanor::flags {
namespace {

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, failed] = std::from_chars(text.data(), end, number);
  return failed == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}

}  // namespace

Check in_range(std::int64_t least, std::int64_t most) {
  return {.shown = fmt::format("{}..{}", least, most), .wrong = [least, most](std::string& value) {
            const auto number = number_of<std::int64_t>(value);
            return number && *number >= least && *number <= most
                       ? std::string()
                       : fmt::format("\"{}\" is not a whole number from {} to {}", value, least,
                                     most);
          }};
}

Check between(double least, double most) {
  return {.shown = fmt::format("{}..{}", least, most), .wrong = [least, most](std::string& value) {
            const auto number = number_of<double>(value);
            return number && *number >= least && *number <= most
                       ? std::string()
                       : fmt::format("\"{}\" is not a number from {} to {}", value, least, most);
          }};
}

Check one_of(std::initializer_list<const char*> words) {
  std::vector<std::string> known(words.begin(), words.end());
  std::string listed;
  std::string spoken;
  for (std::size_t i = 0; i < known.size(); ++i) {
    listed += (i == 0 ? "" : ",") + known[i];
    spoken += (i == 0 ? "" : i + 1 == known.size() ? " or " : ", ") + known[i];
  }
  Check check{.shown = "{" + listed + "}", .words = known};
  check.wrong = [known = std::move(known), spoken](std::string& value) {
    return std::ranges::find(known, value) != known.end()
               ? std::string()
               : fmt::format("\"{}\" is not {}", value, spoken);
  };
  return check;
}

Check positive() {
  return {.wrong = [](std::string& value) {
    const auto number = number_of<double>(value);
    return number && *number > 0 ? std::string()
                                 : fmt::format("\"{}\" is not a number above 0", value);
  }};
}

Check existing_file() {
  return {.shown = "FILE", .files = true, .wrong = [](std::string& value) {
            std::error_code unreadable;
            return std::filesystem::exists(value, unreadable)
                       ? std::string()
                       : fmt::format("there is no file {}", value);
          }};
}

Check as_bytes() {
  return {.shown = "SIZE", .wrong = [](std::string& value) {
            static constexpr std::pair<std::string_view, int> kUnits[] = {
                {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}, {"Ki", 10}, {"Mi", 20},
                {"Gi", 30},  {"Ti", 40},  {"k", 10},   {"m", 20},   {"g", 30},  {"K", 10},
                {"M", 20},   {"G", 30},   {"kb", 10},  {"mb", 20},  {"gb", 30}, {"KB", 10},
                {"MB", 20},  {"GB", 30},  {"B", 0},    {"", 0}};
            const std::size_t digits =
                std::min(value.find_first_not_of("0123456789"), value.size());
            std::string_view unit = std::string_view(value).substr(digits);
            unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
            const auto count = number_of<std::uint64_t>(std::string_view(value).substr(0, digits));
            for (const auto& [name, shift] : kUnits) {
              if (count && unit == name && *count <= UINT64_MAX >> static_cast<unsigned>(shift)) {
                value = std::to_string(*count << static_cast<unsigned>(shift));
                return std::string();
              }
            }
            return fmt::format("\"{}\" is not a number of bytes such as 256MiB", value);
          }};
}

}  // namespace athanor::flags
