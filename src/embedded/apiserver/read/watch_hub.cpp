// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/read/watch_hub.hpp"

#include <algorithm>
#include <iterator>

#include "base/mutex.hpp"
#include "embedded/apiserver/read/watcher.hpp"

namespace athanor::apiserver {
namespace {

// What the transport holds: the watcher ends when the connection does.
class WatchStream final : public Stream {
 public:
  explicit WatchStream(std::shared_ptr<Watcher> watcher) : watcher_(std::move(watcher)) {}
  WatchStream(const WatchStream&) = delete;
  WatchStream& operator=(const WatchStream&) = delete;
  ~WatchStream() override { watcher_->on_ready({}); }
  State pull(std::string& out) override { return watcher_->pull(out); }
  void on_ready(std::function<void()> wake) override { watcher_->on_ready(std::move(wake)); }

 private:
  std::shared_ptr<Watcher> watcher_;
};

// `rest` may repeat the last ones of `events`.
Result<std::vector<store::EventPtr>> with_later_events(std::vector<store::EventPtr> events,
                                                       Result<std::vector<store::EventPtr>> rest) {
  if (!rest.ok()) {
    return rest;
  }
  const store::Revision last = events.empty() ? 0 : events.back()->revision;
  std::copy_if(rest->begin(), rest->end(), std::back_inserter(events),
               [last](const store::EventPtr& event) { return event->revision > last; });
  return events;
}

}  // namespace

WatchHub::WatchHub(store::Store& store) : store_(store), delivered_(store.durable_revision()) {
  listening_ =
      store_.listen([this](std::span<const store::EventPtr> events) { take_events(events); });
  listening_durable_ = store_.listen_durable([this](store::Revision) { dispatch(); });
}

WatchHub::~WatchHub() {
  listening_.reset();
  listening_durable_.reset();
}

void WatchHub::take_events(std::span<const store::EventPtr> events) {
  {
    const MutexLock lock(pending_mutex_);
    pending_.insert(pending_.end(), events.begin(), events.end());
  }
  dispatch();
}

std::vector<std::shared_ptr<Watcher>> WatchHub::watchers_of(const std::string& resource) {
  std::vector<std::shared_ptr<Watcher>> alive;
  const auto found = watchers_.find(resource);
  if (found == watchers_.end()) {
    return alive;
  }
  alive.reserve(found->second.size());
  std::erase_if(found->second, [&](const std::weak_ptr<Watcher>& weak) {
    if (auto watcher = weak.lock()) {
      alive.push_back(std::move(watcher));
      return false;
    }
    return true;
  });
  return alive;
}

void WatchHub::dispatch() {
  std::vector<std::shared_ptr<Watcher>> ready;
  {
    const MutexLock lock(mutex_);
    const store::Revision durable = store_.durable_revision();
    while (true) {
      store::EventPtr event;
      {
        const MutexLock pending_lock(pending_mutex_);
        if (pending_.empty() || pending_.front()->revision > durable) {
          break;
        }
        event = std::move(pending_.front());
        pending_.pop_front();
      }
      delivered_ = std::max(delivered_, event->revision);
      std::shared_ptr<SharedEvent> shared;
      for (auto& watcher : watchers_of(event->object->resource)) {
        if (!shared) {
          shared = std::make_shared<SharedEvent>(event);
        }
        if (watcher->offer(shared)) {
          ++events_[event->object->resource];
          ready.push_back(std::move(watcher));
        }
      }
    }
  }
  for (const auto& watcher : ready) {
    watcher->wake();
  }
}

std::map<std::string, std::uint64_t> WatchHub::events() const {
  const MutexLock lock(mutex_);
  return events_;
}

std::unique_ptr<Stream> WatchHub::open(WatchSpec spec, Instant now) {
  const std::string resource = spec.resource->storage;
  const store::Revision after = spec.after;
  const std::optional<StatusError> failure = std::move(spec.failure);
  auto watcher = std::make_shared<Watcher>(std::move(spec), now);
  if (failure) {
    watcher->fail(*failure);
    return std::make_unique<WatchStream>(std::move(watcher));
  }
  // Most of what it missed is read under no lock: that may take the disk's time.
  const store::Revision seen = std::max(after, store_.revision());
  auto missed = store_.events_after(resource, after, 0);
  const MutexLock lock(mutex_);
  if (ended_) {
    watcher->end();
    return std::make_unique<WatchStream>(std::move(watcher));
  }
  if (after < delivered_) {
    if (missed.ok() && seen < delivered_) {
      missed = with_later_events(*std::move(missed), store_.events_after(resource, seen, 0));
    }
    if (!missed.ok()) {
      watcher->fail(status::expired_watch(after, store_.oldest_revision()));
      return std::make_unique<WatchStream>(std::move(watcher));
    }
    for (const store::EventPtr& event : *missed) {
      if (event->revision <= delivered_) {
        watcher->catch_up(std::make_shared<SharedEvent>(event));
      }
    }
  }
  watchers_[resource].push_back(watcher);
  return std::make_unique<WatchStream>(std::move(watcher));
}

void WatchHub::tick(Instant now) {
  std::vector<std::shared_ptr<Watcher>> all;
  store::Revision delivered = 0;
  {
    const MutexLock lock(mutex_);
    delivered = delivered_;
    for (auto& [resource, list] : watchers_) {
      for (auto& watcher : watchers_of(resource)) {
        all.push_back(std::move(watcher));
      }
    }
    std::erase_if(watchers_, [](const auto& entry) { return entry.second.empty(); });
  }
  for (const auto& watcher : all) {
    watcher->tick(now, delivered);
  }
}

void WatchHub::end(const std::string& resource) {
  std::vector<std::shared_ptr<Watcher>> ending;
  {
    const MutexLock lock(mutex_);
    ended_ = ended_ || resource.empty();
    for (auto& [name, list] : watchers_) {
      if (resource.empty() || name == resource) {
        for (auto& watcher : watchers_of(name)) {
          ending.push_back(std::move(watcher));
        }
        list.clear();
      }
    }
  }
  for (const auto& watcher : ending) {
    watcher->end();
  }
}

std::size_t WatchHub::size() const {
  const MutexLock lock(mutex_);
  std::size_t count = 0;
  for (const auto& [resource, list] : watchers_) {
    count += static_cast<std::size_t>(
        std::count_if(list.begin(), list.end(), [](const auto& weak) { return !weak.expired(); }));
  }
  return count;
}

}  // namespace athanor::apiserver
