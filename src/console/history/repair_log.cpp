// SPDX-License-Identifier: Apache-2.0
#include "console/history/repair_log.hpp"

#include <algorithm>
#include <string_view>

#include "systems/hearth/kinds/fournos_cluster.hpp"

namespace athanor::console {
namespace {

constexpr std::size_t kMostKept = 10'000;  // in memory; a fight is one in five minutes

std::pair<std::string, std::string> repair_of(const Value& record) {
  return {record["at"].str(), record["ns"].str() + "/" + record["cluster"].str()};
}

}  // namespace

std::vector<Value> RepairLog::see(const Object& cluster) {
  std::vector<Value> news;
  std::string_view text = cluster.annotation(api::kQuotaRepairs);
  for (std::size_t number = 0; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const auto at = parse_time(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!at) {
      continue;
    }
    Value record = Value::object({{"at", format_time(*at)},
                                  {"ns", cluster.ns()},
                                  {"cluster", cluster.name()},
                                  {"fight", number >= api::kMostQuotaRepairs}});
    if (!known_.contains(repair_of(record))) {
      keep(record);
      news.push_back(std::move(record));
    }
  }
  return news;
}

void RepairLog::keep(const Value& record) {
  known_.insert(repair_of(record));
  const auto place =
      std::ranges::upper_bound(records_, record["at"].as_string(), {},
                               [](const Value& one) { return one["at"].as_string(); });
  records_.insert(place, record);
  if (records_.size() > kMostKept) {
    const auto oldest = repair_of(records_.front());
    known_.erase(oldest);
    stored_.erase(oldest);
    records_.erase(records_.begin());
  }
}

void RepairLog::load(const std::vector<Value>& records) {
  for (const Value& record : records) {
    stored_.insert(repair_of(record));
    if (!known_.contains(repair_of(record))) {
      keep(record);
    }
  }
}

bool RepairLog::is_news(const Value& record) const {
  return !stored_.contains(repair_of(record));
}

void RepairLog::stored(const Value& record) {
  stored_.insert(repair_of(record));
}

std::vector<Value> RepairLog::since(const std::string& from) const {
  std::vector<Value> found;
  for (auto record = records_.rbegin();
       record != records_.rend() && (*record)["at"].as_string() >= from; ++record) {
    found.push_back(*record);
  }
  return found;
}

}  // namespace athanor::console
