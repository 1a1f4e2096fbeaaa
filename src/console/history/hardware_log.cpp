// SPDX-License-Identifier: Apache-2.0
#include "console/history/hardware_log.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/saturate.hpp"

namespace athanor::console {
namespace {

constexpr std::size_t kMostOfCluster = 1000;  // in memory; a cluster that changes each minute

Value gpus_of(const Object& cluster) {
  std::map<std::string, std::int64_t> counts;
  for (const Value& gpu : cluster.spec()["hardware"]["gpus"].items()) {
    std::int64_t& count = counts[gpu["shortName"].str()];
    count = saturating_add(count, gpu["count"].as_int());
  }
  Value gpus = Value::object();
  for (const auto& [type, count] : counts) {
    gpus.set(type, count);
  }
  return gpus;
}

Value point(const std::string& at, const Value& gpus) {
  std::int64_t total = 0;
  for (const Member& type : gpus.members()) {
    total = saturating_add(total, type.value.as_int());
  }
  return Value::object({{"at", at}, {"gpus", total}, {"byType", gpus}});
}

}  // namespace

std::optional<Value> HardwareLog::see(const Object& cluster, Instant now) {
  if (!cluster.spec()["hardware"].is_object()) {
    return std::nullopt;
  }
  Value gpus = gpus_of(cluster);
  std::vector<Value>& seen = seen_[std::string(cluster.name())];
  if (!seen.empty() && seen.back()["gpus"] == gpus) {
    return std::nullopt;
  }
  Value record = Value::object(
      {{"at", format_micro_time(now)}, {"cluster", cluster.name()}, {"gpus", std::move(gpus)}});
  seen.push_back(record);
  if (seen.size() > kMostOfCluster) {
    seen.erase(seen.begin());
  }
  return record;
}

void HardwareLog::load(const std::vector<Value>& records) {
  std::map<std::string, std::vector<Value>, std::less<>> all;
  for (const Value& record : records) {
    all[record["cluster"].str()].push_back(record);
    stored(record);
  }
  for (auto& [cluster, seen] : seen_) {
    std::vector<Value>& known = all[cluster];
    // Records that arrived before the store was read.
    for (Value& record : seen) {
      if (known.empty() || known.back()["gpus"] != record["gpus"]) {
        known.push_back(std::move(record));
      }
    }
  }
  seen_ = std::move(all);
}

bool HardwareLog::is_news(const Value& record) const {
  const auto known = stored_.find(record["cluster"].as_string());
  return known == stored_.end() || known->second["gpus"] != record["gpus"];
}

void HardwareLog::stored(const Value& record) {
  stored_.insert_or_assign(record["cluster"].str(), record);
}

Value HardwareLog::course(std::string_view cluster, Instant from, Instant now) const {
  Value points = Value::list();
  const auto found = seen_.find(cluster);
  if (found == seen_.end() || found->second.empty()) {
    return points;
  }
  const std::string first = format_micro_time(from);
  const Value* before = nullptr;
  for (const Value& record : found->second) {
    if (record["at"].as_string() <= first) {
      before = &record;
      continue;
    }
    if (before != nullptr && points.empty()) {
      points.push_back(point(format_time(from), (*before)["gpus"]));
    }
    points.push_back(point(record["at"].str(), record["gpus"]));
  }
  if (points.empty()) {
    points.push_back(point(format_time(from), (*before)["gpus"]));
  }
  points.push_back(point(format_time(now), found->second.back()["gpus"]));
  return points;
}

}  // namespace athanor::console
