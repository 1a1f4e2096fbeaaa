// SPDX-License-Identifier: Apache-2.0
#include "console/history/slice_log.hpp"

#include <utility>

#include "systems/das/model/claim.hpp"
#include "systems/das/sharing/share.hpp"

namespace athanor::console {
namespace {

constexpr const char* kAdded = "ADDED";
constexpr const char* kDeleted = "DELETED";

bool same_place(const Value& a, const Value& b) {
  return a["gpu"] == b["gpu"] && a["start"] == b["start"] && a["size"] == b["size"] &&
         a["profile"] == b["profile"];
}

Value added(const das::Claim& claim, Instant at) {
  return Value::object({{"at", format_micro_time(at)},
                        {"type", kAdded},
                        {"claim", claim.object.uid()},
                        {"node", claim.node},
                        {"gpu", claim.gpu},
                        {"profile", claim.profile},
                        {"start", claim.start},
                        {"size", claim.size},
                        {"ns", claim.pod.ns},
                        {"pod", claim.pod.name}});
}

Value deleted(Value record, Instant at) {
  record.set("at", format_micro_time(at));
  record.set("type", kDeleted);
  return record;
}

}  // namespace

std::vector<Value> SliceLog::see(const Object& claim, Instant now) {
  const auto read = das::read_slice_or_share(claim);
  if (!read) {
    return {};
  }
  std::vector<Value> changes;
  const std::string uid(claim.uid());
  const auto known = held_.find(uid);
  Value record = added(*read, now);
  if (known != held_.end()) {
    if (same_place(known->second, record)) {
      return {};
    }
    changes.push_back(deleted(known->second, now));
  } else if (const auto made = parse_time(claim.metadata()["creationTimestamp"].as_string())) {
    record.set("at", format_micro_time(*made));
  }
  held_.insert_or_assign(uid, record);
  changes.push_back(std::move(record));
  return changes;
}

std::vector<Value> SliceLog::gone(const Object& claim, Instant now) {
  const auto known = held_.find(std::string(claim.uid()));
  if (known == held_.end()) {
    return {};
  }
  std::vector<Value> changes{deleted(std::move(known->second), now)};
  held_.erase(known);
  return changes;
}

std::vector<Value> SliceLog::listed(const std::set<std::string>& uids, Instant now) {
  listed_ = true;
  std::vector<Value> changes;
  for (auto known = held_.begin(); known != held_.end();) {
    if (uids.contains(known->first)) {
      ++known;
    } else {
      changes.push_back(deleted(std::move(known->second), now));
      known = held_.erase(known);
    }
  }
  return changes;
}

void SliceLog::load(const std::vector<Value>& records) {
  loaded_ = true;
  for (const Value& record : records) {
    stored(record);
  }
}

std::vector<Value> SliceLog::missed(Instant now) {
  std::vector<Value> changes;
  if (!loaded_ || !listed_ || compared_) {
    return changes;
  }
  compared_ = true;
  for (const auto& [uid, record] : stored_) {
    if (!held_.contains(uid)) {
      changes.push_back(deleted(record, now));
    }
  }
  return changes;
}

bool SliceLog::is_news(const Value& record) const {
  const auto known = stored_.find(record["claim"].str());
  if (record["type"].as_string() == kDeleted) {
    return known != stored_.end();
  }
  return known == stored_.end() || !same_place(known->second, record);
}

void SliceLog::stored(const Value& record) {
  if (record["type"].as_string() == kDeleted) {
    stored_.erase(record["claim"].str());
  } else {
    stored_.insert_or_assign(record["claim"].str(), record);
  }
}

}  // namespace athanor::console
