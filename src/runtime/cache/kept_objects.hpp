// SPDX-License-Identifier: Apache-2.0
// KeptObjects: the objects of a cache by key. Those in use are kept as they are, the rest as packed
// bytes: a cache of 100,000 objects is mostly waiting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"

namespace athanor {
class Packer;
}

namespace athanor::runtime {

// Not thread-safe: the cache owns it. Whether an object is packed shows in time and memory alone.
class KeptObjects {
 private:
  struct Slot;
  using Slots = std::map<Key, Slot>;
  using Used = std::list<Slots::iterator>;
  struct Slot {
    Object warm{};                     // Null: packed alone
    std::unique_ptr<char[]> packed{};  // null: not packed since it was put
    Used::iterator place{};            // among the warm ones, where those are bounded
    std::uint32_t listed = 0;          // the last list that had it
    std::uint16_t minute = 0;          // when it was used last; 0: never
    std::uint8_t faults = 0;           // how often it was missed soon after
    bool linked = false;               // `place` is one
  };

 public:
  static constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

  // Keeps up to `warm` objects unpacked, and beyond these the ones that are used again and again.
  explicit KeptObjects(std::size_t warm = kAll);
  KeptObjects(KeptObjects&&) noexcept;
  KeptObjects& operator=(KeptObjects&&) = delete;
  ~KeptObjects();

  // Returns nullptr if there is none. Valid until the object is put or erased, or rest().
  [[nodiscard]] const Object* find(const Key& key) const;
  // Requires that the object is there.
  [[nodiscard]] const Object& at(const Key& key) const;
  void put(const Key& key, Object object);
  void erase(const Key& key);
  [[nodiscard]] std::size_t size() const { return slots_.size(); }

  // Visits keys in order; of one namespace, or of all when it is empty.
  void each_key(std::string_view ns, const std::function<void(const Key& key)>& visit) const;
  // Uses each object.
  void each(std::string_view ns,
            const std::function<void(const Key& key, const Object& object)>& visit) const;

  // Begins a list that comes in parts; until it is whole, nothing of it shows. Forgets what was
  // added of that namespace (empty: of all).
  void begin_list(std::string_view ns);
  // Adds an object of the list with this number, not 0; what is known in this version is not kept
  // twice.
  void add(Object object, std::uint32_t list);
  // Changes that a whole list brought.
  class Difference {
   public:
    [[nodiscard]] const Key& key() const { return *key_; }
    [[nodiscard]] bool is_new() const { return old_.empty(); }
    [[nodiscard]] bool is_gone() const { return gone_; }

   private:
    friend class KeptObjects;
    const Key* key_ = nullptr;
    Slots::node_type old_{};  // empty: it is new
    bool gone_ = false;
  };
  // Ends the list: objects that it does not name are gone. Those that are gone come first, each in
  // order of keys. Valid until anything is put or erased.
  std::vector<Difference> end_list(std::string_view ns, std::uint32_t list);
  // Returns the object before, respectively after; does not count as its use.
  [[nodiscard]] Object before(const Difference& difference) const;
  [[nodiscard]] Object after(const Difference& difference) const;

  // Packs what has not been used lately. Requires that no pointer into it is held.
  void rest(Instant now);

  // Returns the bytes of packed objects; warm() counts the unpacked ones.
  [[nodiscard]] std::size_t packed_bytes() const;
  [[nodiscard]] std::size_t warm() const { return bounded() ? used_.size() : slots_.size(); }

 private:
  [[nodiscard]] bool bounded() const { return most_warm_ != kAll; }
  const Object& use(Slots::iterator at) const;
  void link(Slots::iterator at) const;
  void unlink(Slot& slot) const;
  void pack(Slot& slot) const;
  [[nodiscard]] Object unpacked(const Slot& slot) const;
  [[nodiscard]] bool is_recent(const Slot& slot) const;
  static Slots::iterator lower_bound(Slots& slots, std::string_view ns);
  void forget_unused(Instant now);

  // By what a key is called. Points to the keys of `slots_`.
  struct KeyHash {
    std::size_t operator()(const Key* key) const {  // may throw: so the numbers are kept
      return hash_of(*key);
    }
  };
  struct SameKey {
    bool operator()(const Key* a, const Key* b) const { return *a == *b; }
  };
  using ByName = std::unordered_map<const Key*, Slots::iterator, KeyHash, SameKey>;
  [[nodiscard]] Slots::iterator place_of(const Key& key) const;
  void note(Slots::iterator at);    // is there from now on
  void forget(Slots::iterator at);  // is about to go

  // Changed by reading, too: what is used becomes warm.
  mutable Slots slots_{};
  // The same, where all stay as they are: there time counts more than memory.
  ByName by_name_{};
  mutable Used used_{};  // the warm ones, last used last
  mutable std::size_t most_now_ = 0;
  Slots fresh_{};               // of a list under way
  std::size_t fresh_warm_ = 0;  // of these, how many are not packed
  mutable std::unique_ptr<Packer> packer_{};
  std::size_t most_warm_;
  std::uint16_t minute_ = 1;
  Instant next_minute_{};
};

}  // namespace athanor::runtime
