// SPDX-License-Identifier: Apache-2.0
// PackedObjects: those objects of a resource that stay packed until they are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "embedded/store/pack.hpp"
#include "embedded/store/store.hpp"

namespace athanor::store {

// Not thread-safe: the table owns it.
class PackedObjects {
 public:
  // One packed object, in the order of keys.
  struct Entry {
    std::uint32_t pack = 0;
    std::uint32_t index = 0;
  };

  [[nodiscard]] std::size_t size() const { return entries_.size() - gone_; }
  // Returns the object; nullptr when it is not here.
  [[nodiscard]] StoredPtr get(const KeyView& key) const;
  // Takes those objects of the pack: their indices in the order of keys, none of them here yet.
  void add(std::shared_ptr<const Pack> pack, const std::vector<std::uint32_t>& indices);
  // Returns true if it was here.
  bool erase(const KeyView& key);

  // Walks in order: entries from `position` on, without the removed ones.
  [[nodiscard]] std::size_t lower_bound(const KeyView& key) const;
  [[nodiscard]] std::size_t upper_bound(const KeyView& key) const;
  [[nodiscard]] std::size_t skip_gone(std::size_t position) const;
  [[nodiscard]] std::size_t end() const { return entries_.size(); }
  [[nodiscard]] KeyView key(std::size_t position) const;
  [[nodiscard]] Revision revision(std::size_t position) const;
  [[nodiscard]] StoredPtr unpack(std::size_t position) const;

 private:
  static constexpr std::uint32_t kGone = 0x8000'0000;  // in Entry::index
  struct Place {
    std::shared_ptr<const Pack> pack{};
    std::size_t live = 0;  // objects of it that are still here
  };

  [[nodiscard]] bool is_gone(const Entry& entry) const { return (entry.index & kGone) != 0; }
  [[nodiscard]] KeyView key_of(const Entry& entry) const;
  // Removes deleted entries, and packs without entries.
  void sweep();

  std::vector<Entry> entries_{};
  std::vector<Place> places_{};
  std::size_t gone_ = 0;
};

}  // namespace athanor::store
