// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/event_expiry.hpp"

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

void EventExpiry::tick(Instant now) {
  {
    const std::lock_guard lock(mutex_);
    if (last_ && now - *last_ < kInterval) {
      return;
    }
    last_ = now;
  }
  const auto page = store_.list("events", {});
  if (!page.ok()) {
    return;
  }
  for (const store::StoredPtr& stored : page->items) {
    const auto written = last_write(stored->body);
    if (!written || now - *written < lifetime_) {
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

}  // namespace athanor::apiserver
