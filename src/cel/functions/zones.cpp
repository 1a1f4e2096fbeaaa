// SPDX-License-Identifier: Apache-2.0
#include "cel/functions/zones.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>

#include "base/time_zone.hpp"

namespace athanor::cel {

std::optional<std::int64_t> named_zone_offset(std::string_view name, std::int64_t at) {
  // Names are relative paths inside the database, and stay there.
  const bool plain = !name.empty() && name.find("..") == std::string_view::npos &&
                     std::isupper(static_cast<unsigned char>(name.front())) != 0 &&
                     std::ranges::all_of(name, [](unsigned char c) {
                       return std::isalnum(c) != 0 || c == '/' || c == '_' || c == '-' || c == '+';
                     });
  if (!plain) {
    return std::nullopt;
  }
  std::ifstream file("/usr/share/zoneinfo/" + std::string(name), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto zone = TimeZone::parse(bytes);
  return zone ? std::optional(zone->offset(Instant(std::chrono::seconds(at)))) : std::nullopt;
}

}  // namespace athanor::cel
