// SPDX-License-Identifier: Apache-2.0
#include "base/files/time_zone_files.hpp"

#include <gtest/gtest.h>

namespace athanor::time_zone_files_test {
namespace {

TEST(TimeZoneFiles, HaveEveryNameOfTheDatabase) {
  const Instant winter = parse_time("2026-01-05T00:00:00Z").value();
  struct Case {
    const char* name;
    std::int64_t hours;
  };
  for (const Case& c : {Case{"UTC", 0}, Case{"Europe/Berlin", 1}, Case{"NZ", 13}, Case{"GB", 0},
                        Case{"PRC", 8}, Case{"America/Argentina/Buenos_Aires", -3}}) {
    const auto zone = find_time_zone(c.name);
    ASSERT_TRUE(zone.ok()) << c.name;
    EXPECT_EQ(zone->offset(winter), c.hours * 3600) << c.name;
  }
}

TEST(TimeZoneFiles, RefuseUnknownNamesAndOtherFiles) {
  for (const std::string name :
       {"", "Europe/Nowhere", "Europe", "../zoneinfo/UTC", "/etc/localtime", "zone.tab",
        "Europe/Berlin/", "UTC ", "A/../UTC"}) {
    const auto zone = find_time_zone(name);
    ASSERT_FALSE(zone.ok()) << name;
    EXPECT_EQ(zone.error().message, "unknown time zone " + name);
    EXPECT_EQ(zone.error().code, 404);
  }
}

}  // namespace
}  // namespace athanor::time_zone_files_test
