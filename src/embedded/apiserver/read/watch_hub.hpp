// SPDX-License-Identifier: Apache-2.0
// Watches: one log of durable events in, any number of streams out (docs/spec/apiserver.md 8.6).
//
// The hub listens to the store and hands an event to the watchers of its resource once it is
// durable. Watchers share the event and the bytes it was encoded to; encoding happens on the
// reader's thread. Thread-safe. A slow reader costs itself only: its queue is bounded, then the
// stream ends.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "base/time.hpp"
#include "embedded/apiserver/read/selection.hpp"
#include "embedded/apiserver/request/http.hpp"
#include "embedded/apiserver/request/negotiate.hpp"
#include "embedded/apiserver/request/shape.hpp"
#include "embedded/kinds/resource_info.hpp"
#include "embedded/kinds/status_error.hpp"
#include "embedded/store/store.hpp"

namespace athanor::apiserver {

struct ExchangeContext;  // exchange.hpp

// What one watch asks for.
struct WatchSpec {
  ResourceTablePtr table{};  // keeps `resource` alive
  const ResourceInfo* resource = nullptr;
  // For resources with a conversion webhook.
  const store::Store* store = nullptr;
  const ExchangeContext* exchanges = nullptr;
  std::string ns{};    // empty: all
  std::string name{};  // empty: all
  Selection selection{};
  Accepted accepted{};
  IncludeObject include = IncludeObject::Metadata;
  // Objects of the state at `after`, sent as ADDED first.
  std::vector<store::StoredPtr> initial{};
  bool end_marker = false;    // a bookmark that says the initial events are over
  store::Revision after = 0;  // changes behind this revision
  // Set: the stream reports it, and ends.
  std::optional<StatusError> failure{};
  bool bookmarks = false;
  Duration timeout{};
};

class Watcher;       // watcher.hpp
struct SharedEvent;  // watcher.hpp

// All watches of a server. The store must outlive it.
class WatchHub {
 public:
  explicit WatchHub(store::Store& store);
  ~WatchHub();
  WatchHub(const WatchHub&) = delete;
  WatchHub& operator=(const WatchHub&) = delete;

  // Opens the stream; when the log no longer reaches `after`, one that reports this and ends.
  std::unique_ptr<Stream> open(WatchSpec spec, Instant now);
  // Bookmarks, timeouts and readers that fell behind.
  void tick(Instant now);
  // Ends the watches of a resource that is gone, after what is queued; of everything when empty.
  void end(const std::string& resource);
  [[nodiscard]] std::size_t size() const;
  // Returns the number of events that went to watchers, by resource ("deployments.apps").
  [[nodiscard]] std::map<std::string, std::uint64_t> events() const;

 private:
  void take_events(std::span<const store::EventPtr> events);
  void dispatch();
  std::vector<std::shared_ptr<Watcher>> watchers_of(const std::string& resource)
      ATHANOR_REQUIRES(mutex_);

  store::Store& store_;
  Mutex pending_mutex_{};
  std::deque<store::EventPtr> pending_
      ATHANOR_GUARDED_BY(pending_mutex_){};  // committed, perhaps not durable yet

  mutable Mutex mutex_{};  // guards what follows; held while events are handed out
  store::Revision delivered_ ATHANOR_GUARDED_BY(mutex_) = 0;
  std::map<std::string, std::vector<std::weak_ptr<Watcher>>, std::less<>> watchers_
      ATHANOR_GUARDED_BY(mutex_){};
  std::map<std::string, std::uint64_t> events_ ATHANOR_GUARDED_BY(mutex_){};
  bool ended_ ATHANOR_GUARDED_BY(mutex_) = false;

  std::shared_ptr<void> listening_{};
  std::shared_ptr<void> listening_durable_{};
};

}  // namespace athanor::apiserver
