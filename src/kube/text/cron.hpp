// SPDX-License-Identifier: Apache-2.0
// Cron schedules as CronJobs have them: five fields, "@hourly" and the like, "@every 1h30m".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "base/time_zone.hpp"

namespace athanor {

class CronSchedule {
 public:
  // Parses a schedule. Error: BadRequest, in the words in which Kubernetes refuses it.
  static Result<CronSchedule> parse(std::string_view text);
  // Returns the first time after `after`; nullopt: none within five years. Times that a change of
  // the clocks leaves out do not happen, those it repeats happen twice.
  [[nodiscard]] std::optional<Instant> next(Instant after, const TimeZone& zone) const;

 private:
  struct Field {
    std::uint64_t bits = 0;
    bool any = false;  // "*": the other day field decides alone
  };
  static Result<Field> parse_field(std::string_view text, int least, int most,
                                   const char* const* names);

  [[nodiscard]] bool day_matches(unsigned day, unsigned weekday) const;

  Duration every_{};  // of "@every"
  Field minute_{}, hour_{}, day_{}, month_{}, weekday_{};
};

}  // namespace athanor
