// SPDX-License-Identifier: Apache-2.0
#include "base/files/time_zone_files.hpp"
#include "base/files/text_file.hpp"

#include <algorithm>
#include <utility>

namespace athanor {
namespace {

// Names are relative paths inside the database, and stay there.
bool is_zone_name(std::string_view name) {
  return !name.empty() && name.front() != '/' && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
           c == '_' || c == '-' || c == '+';
  });
}

}  // namespace

Result<std::string> read_time_zone_file(std::string_view name) {
  std::string bytes;
  if (is_zone_name(name)) {
    if (auto read = read_text_file("/usr/share/zoneinfo/" + std::string(name)); read.ok()) {
      bytes = *std::move(read);
    }
  }
  if (!bytes.starts_with("TZif")) {
    return Error::not_found("unknown time zone " + std::string(name));
  }
  return bytes;
}

Result<TimeZone> find_time_zone(std::string_view name) {
  ATHANOR_TRY(const std::string bytes, read_time_zone_file(name));
  const auto zone = TimeZone::parse(bytes);
  if (!zone) {
    return Error::not_found("unknown time zone " + std::string(name));
  }
  return *zone;
}

}  // namespace athanor
