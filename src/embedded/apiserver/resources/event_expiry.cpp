// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/resources/event_expiry.hpp"

#include <algorithm>

#include "base/log.hpp"

namespace athanor::apiserver {
namespace {

constexpr Duration kInterval = std::chrono::seconds(30);

// The latest time that the object names of itself.
std::optional<Instant> last_write(const Value& event) {
  std::optional<Instant> latest;
  const auto consider = [&](const Value& text) {
    if (const auto time = parse_time(text.as_string()); time && (!latest || *time > *latest)) {
      latest = time;
    }
  };
  consider(event["metadata"]["creationTimestamp"]);
  consider(event["lastTimestamp"]);
  consider(event["eventTime"]);
  consider(event["series"]["lastObservedTime"]);
  for (const Value& entry : event["metadata"]["managedFields"].items()) {
    consider(entry["time"]);
  }
  return latest;
}

}  // namespace

template <class Due>
void EventExpiry::remove(store::Revision until, Instant now, const Due& due) {
  const auto page = store_.list("events", {.written_until = until});
  if (!page.ok()) {
    return;
  }
  for (const store::StoredPtr& stored : page->items) {
    if (!due(stored->body)) {
      continue;
    }
    store::Write write;
    write.resource = "events";
    write.key = stored->key;
    write.expected = stored->revision;
    if (const auto removed = store_.commit({&write, 1}, now); !removed.ok()) {
      log::debug("an expired event stays for now", {{"event", stored->key.text()}});
    }
  }
}

void EventExpiry::tick(Instant now) {
  if (!samples_.empty() && now - samples_.back().first < kInterval) {
    return;
  }
  samples_.emplace_back(now, store_.revision());
  // The first sample stays: it says what the store held at the start.
  remove(samples_.front().second, now, [&](const Value& event) {
    const auto written = last_write(event);
    return written && now - *written >= lifetime_;
  });
  store::Revision expired = 0;
  while (samples_.size() > 1 && now - samples_[1].first >= lifetime_) {
    expired = samples_[1].second;
    samples_.erase(samples_.begin() + 1);
  }
  if (expired != 0) {
    remove(expired, now, [](const Value&) { return true; });
  }
}

}  // namespace athanor::apiserver
