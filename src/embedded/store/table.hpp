// SPDX-License-Identifier: Apache-2.0
// The objects of one resource and their recent events. Not thread-safe: the store owns it.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/store/store.hpp"

namespace athanor::store {

class Table {
 public:
  [[nodiscard]] StoredPtr get(const Key& key) const;
  // The state now, or with options.exactly the one at that revision, which the events must reach
  // back to (the store checks) together with the older ones in `past`. Page::revision is left to
  // the caller.
  [[nodiscard]] Page list(const ListOptions& options, const std::vector<EventPtr>& past = {}) const;
  [[nodiscard]] std::size_t count(std::string_view ns) const;  // "": all
  [[nodiscard]] std::vector<EventPtr> events_after(Revision after, std::size_t limit) const;

  // Sets the object without an event; for recovery.
  void load(const StoredPtr& object);
  void apply(const EventPtr& event);
  // Forgets the oldest event.
  void drop_oldest() { events_.pop_front(); }

 private:
  // Objects in the order of their keys, which they hold themselves.
  struct ByKey {
    using is_transparent = void;
    bool operator()(const StoredPtr& a, const StoredPtr& b) const { return a->key < b->key; }
    bool operator()(const StoredPtr& a, const Key& b) const { return a->key < b; }
    bool operator()(const Key& a, const StoredPtr& b) const { return a < b->key; }
  };
  using Objects = std::set<StoredPtr, ByKey>;
  using Differences = std::map<Key, StoredPtr>;

  // What differed from now at `revision`: nullptr for an object that did not exist.
  [[nodiscard]] Differences differences(Revision revision, std::string_view ns,
                                        const std::vector<EventPtr>& past) const;
  void put(const StoredPtr& object);
  void remove(const Key& key);

  Objects objects_{};
  std::map<std::string, std::size_t, std::less<>> counts_{};  // by namespace
  std::deque<EventPtr> events_{};
};

}  // namespace athanor::store
