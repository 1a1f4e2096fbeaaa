// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/workloads/cron_schedule.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <vector>

#include "base/ascii.hpp"
#include "base/time.hpp"
#include "kube/text/text.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"jan", "feb", "mar", "apr", "may", "jun",
                                                      "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> kDays = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};
constexpr std::array<std::string_view, 7> kMacros = {"@yearly", "@annually", "@monthly", "@weekly",
                                                     "@daily",  "@midnight", "@hourly"};
constexpr std::array<std::string_view, 21> kAreas = {
    "Africa",  "America", "Antarctica", "Arctic", "Asia",   "Atlantic", "Australia",
    "Brazil",  "Canada",  "Chile",      "Etc",    "Europe", "Indian",   "Mexico",
    "Pacific", "US",      "SystemV",    "posix",  "right",  "Mideast",  "Antarctica"};
constexpr std::array<std::string_view, 28> kZones = {
    "UTC",   "GMT",    "CET",      "CST6CDT",  "EET",       "EST",    "EST5EDT",
    "HST",   "MET",    "MST",      "MST7MDT",  "PST8PDT",   "WET",    "Cuba",
    "Egypt", "Eire",   "Hongkong", "Iceland",  "Iran",      "Israel", "Jamaica",
    "Japan", "Navajo", "Poland",   "Portugal", "Singapore", "Turkey", "Zulu"};

struct Field {
  int least = 0;
  int most = 0;
  std::span<const std::string_view> names{};
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

// A number or a name; nullopt when it is neither.
std::optional<int> number(std::string_view text, const Field& field) {
  const auto name = std::find(field.names.begin(), field.names.end(), lower(text));
  if (name != field.names.end()) {
    return static_cast<int>(name - field.names.begin()) + field.least;
  }
  int value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size() && value >= 0
             ? std::optional(value)
             : std::nullopt;
}

std::string not_a_number(std::string_view text) {
  return fmt::format("failed to parse int from {}: strconv.Atoi: parsing {}: invalid syntax", text,
                     go_quote(text));
}

// "1-5/2", "*", "*/10", "MON".
std::optional<std::string> part_error(std::string_view part, const Field& field) {
  const std::vector<std::string_view> step = split(part, '/');
  const std::vector<std::string_view> range = split(step[0], '-');
  if (step.size() > 2) {
    return fmt::format("too many slashes: {}", part);
  }
  int first = field.least;
  int last = field.most;
  if (step[0] != "*" && step[0] != "?") {
    if (range.size() > 2) {
      return fmt::format("too many hyphens: {}", part);
    }
    const auto low = number(range[0], field);
    const auto high = range.size() == 2 ? number(range[1], field) : low;
    if (!low || !high) {
      return not_a_number(low ? range[1] : range[0]);
    }
    first = *low;
    last = *high;
  }
  if (step.size() == 2) {
    const auto width = number(step[1], Field{});
    if (!width) {
      return not_a_number(step[1]);
    }
    if (*width == 0) {
      return fmt::format("step of range should be a positive number: {}", part);
    }
  }
  if (first < field.least) {
    return fmt::format("beginning of range ({}) below minimum ({}): {}", first, field.least, part);
  }
  if (last > field.most) {
    return fmt::format("end of range ({}) above maximum ({}): {}", last, field.most, part);
  }
  if (first > last) {
    return fmt::format("beginning of range ({}) beyond end of range ({}): {}", first, last, part);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> cron_error(std::string_view schedule) {
  if (schedule.find("TZ") != std::string_view::npos) {
    return "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
  }
  if (schedule.starts_with('@')) {
    constexpr std::string_view kEvery = "@every ";
    if (schedule.starts_with(kEvery)) {
      const auto parsed = parse_go_duration(schedule.substr(kEvery.size()));
      return parsed.ok() ? std::nullopt
                         : std::optional(fmt::format("failed to parse duration {}: {}", schedule,
                                                     parsed.error().message));
    }
    return std::find(kMacros.begin(), kMacros.end(), schedule) != kMacros.end()
               ? std::nullopt
               : std::optional(fmt::format("unrecognized descriptor: {}", schedule));
  }
  std::vector<std::string_view> words;
  for (const std::string_view word : split(schedule, ' ')) {
    if (!word.empty()) {
      words.push_back(word);
    }
  }
  const std::array<Field, 5> fields = {Field{0, 59, {}}, Field{0, 23, {}}, Field{1, 31, {}},
                                       Field{1, 12, kMonths}, Field{0, 6, kDays}};
  if (words.size() != fields.size()) {
    return fmt::format("expected exactly 5 fields, found {}: [{}]", words.size(),
                       fmt::join(words, " "));
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    for (const std::string_view part : split(words[i], ',')) {
      if (auto error = part_error(part, fields[i])) {
        return error;
      }
    }
  }
  return std::nullopt;
}

bool is_time_zone(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) {
    return std::find(kZones.begin(), kZones.end(), name) != kZones.end();
  }
  const std::string_view place = name.substr(slash + 1);
  return std::find(kAreas.begin(), kAreas.end(), name.substr(0, slash)) != kAreas.end() &&
         !place.empty() && std::all_of(place.begin(), place.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '+' || c == '/';
         });
}

}  // namespace athanor::apiserver
