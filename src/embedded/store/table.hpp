// SPDX-License-Identifier: Apache-2.0
// The objects of one resource and their recent events. Not thread-safe: the store owns it.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "embedded/store/pack.hpp"
#include "embedded/store/packed_objects.hpp"
#include "embedded/store/store.hpp"

namespace athanor::store {

// Keeps the objects in the order of keys, and the events in that of revisions.
class Table {
 public:
  // Finds objects by hash as well, for more memory, if `hashed`.
  explicit Table(bool hashed = false) : hashed_(hashed) {}
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  [[nodiscard]] StoredPtr get(const Key& key) const;
  // Lists the state now, or with options.exactly the one at that revision, which the events must
  // reach back to (the store checks) together with the older ones in `past`. Page::revision is left
  // to the caller.
  [[nodiscard]] Page list(const ListOptions& options, const std::vector<EventPtr>& past = {}) const;
  [[nodiscard]] std::size_t count(std::string_view ns) const;  // "": all
  [[nodiscard]] std::vector<EventPtr> events_after(Revision after, std::size_t limit) const;

  // Sets the object without an event; for recovery.
  void load(const StoredPtr& object);
  void apply(const EventPtr& event);
  // Forgets the oldest event.
  void drop_oldest() { events_.pop_front(); }

  // Returns objects written at or before `until` that are not packed, in the order of keys.
  [[nodiscard]] std::vector<StoredPtr> unpacked(Revision until) const;
  [[nodiscard]] std::size_t packed_count() const { return cold_.size(); }
  // Keeps those of the `objects` (all of `pack`, in that order) that are current still in the pack
  // alone.
  void freeze(const std::shared_ptr<const Pack>& pack, std::span<const StoredPtr> objects);

 private:
  friend class Current;  // table.cpp: both kinds of objects in one order

  // Objects in the order of their keys, which they hold themselves. The next state of one takes its
  // place.
  struct Held {
    mutable StoredPtr object{};
  };
  static const Key& key_of(const Held& held) { return held.object->key; }
  static const Key& key_of(const Key& key) { return key; }
  struct ByKey {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return key_of(a) < key_of(b);
    }
  };
  using Objects = std::set<Held, ByKey>;
  static const Key& key_of(const Objects::const_iterator& at) { return at->object->key; }
  struct KeyHash {
    using is_transparent = void;
    template <class A>
    std::size_t operator()(const A& of) const {  // may throw: so the numbers are kept
      return hash_of(key_of(of));
    }
  };
  struct SameKey {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return key_of(a) == key_of(b);
    }
  };
  using ByName = std::unordered_set<Objects::const_iterator, KeyHash, SameKey>;
  using Differences = std::map<Key, StoredPtr>;

  // Returns what differed from now at `revision`: nullptr for an object that did not exist.
  [[nodiscard]] Differences differences(Revision revision, std::string_view ns,
                                        const std::vector<EventPtr>& past) const;
  [[nodiscard]] Objects::const_iterator find(const Key& key) const;
  void put(const StoredPtr& object);
  void remove(const Key& key);

  bool hashed_;
  Objects objects_{};
  ByName by_name_{};  // the same, where they are found by hash
  PackedObjects cold_{};
  std::map<std::string, std::size_t, std::less<>> counts_{};  // by namespace
  std::deque<EventPtr> events_{};
};

}  // namespace athanor::store
