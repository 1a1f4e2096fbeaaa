// SPDX-License-Identifier: Apache-2.0
// Time zones from the bytes of TZif files (RFC 8536). Nothing here reads a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"

namespace athanor {

class TimeZone {
 public:
  TimeZone() = default;  // UTC
  // Parses a TZif file; nullopt when the bytes are none of version 2 or later.
  static std::optional<TimeZone> parse(std::string_view tzif);
  // Seconds east of UTC.
  [[nodiscard]] std::int64_t offset(Instant instant) const;

 private:
  struct Transition {
    std::int64_t at = 0;  // seconds since 1970
    std::int64_t offset = 0;
  };
  // "second Sunday of March at 02:00", local time before the change.
  struct Rule {
    int month = 0;
    int week = 0;  // 5: the last
    int day = 0;   // 0: Sunday
    std::int64_t time = 7200;
  };
  struct Footer {
    std::int64_t standard = 0;
    std::int64_t summer = 0;
    std::optional<Rule> begin{};
    std::optional<Rule> end{};
  };
  static std::optional<Footer> parse_footer(std::string_view text);
  static std::int64_t moment(const Rule& rule, int year, std::int64_t offset_before);
  [[nodiscard]] std::int64_t by_footer(std::int64_t at) const;

  std::vector<Transition> transitions_{};  // in order of time
  std::int64_t first_offset_ = 0;
  std::optional<Footer> footer_{};
};

}  // namespace athanor
