// SPDX-License-Identifier: Apache-2.0
// Finds members of wide objects by a table, so that n lookups in n members take n steps; for
// value_node.hpp only.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "kube/value/value.hpp"

namespace athanor {

// Indices of members by name, with linear probing. At most half of the slots are used. Owns no
// memory.
class NameTable {
 public:
  // From here on an object is wide: space for a table is kept behind its members.
  static constexpr std::size_t kWide = 64;
  // States of a node's table: the number of searches so far, then these. One lookup is cheaper
  // without a table.
  static constexpr std::uint32_t kFewSearches = 8;
  static constexpr std::uint32_t kBuilding = kFewSearches + 1;
  static constexpr std::uint32_t kBuilt = kBuilding + 1;

  // Returns a power of two; 0 for an object that is not wide.
  static constexpr std::size_t slots_for(std::size_t capacity) noexcept {
    return capacity < kWide ? 0 : std::bit_ceil(capacity * 2);
  }

  NameTable(std::uint32_t* slots, std::size_t count) noexcept : slots_(slots, count) {}

  void build(std::span<const Member> members) noexcept {
    std::ranges::fill(slots_, kEmpty);
    for (std::size_t i = 0; i < members.size(); ++i) {
      add(i, members);
    }
  }
  // Adds the member at `index`, whose name is not there yet.
  void add(std::size_t index, std::span<const Member> members) noexcept {
    slots_[slot_of(members[index].key(), members)] = static_cast<std::uint32_t>(index);
  }
  // Returns the member's index; the number of members if there is none of that name.
  [[nodiscard]] std::size_t find(std::string_view key,
                                 std::span<const Member> members) const noexcept {
    const std::uint32_t index = slots_[slot_of(key, members)];
    return index == kEmpty ? members.size() : index;
  }

 private:
  static constexpr std::uint32_t kEmpty = 0xffff'ffff;

  // Returns the slot that holds the member of that name, or the empty one where it belongs.
  [[nodiscard]] std::size_t slot_of(std::string_view key,
                                    std::span<const Member> members) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = std::hash<std::string_view>()(key) & mask;
    while (slots_[slot] != kEmpty && members[slots_[slot]].key() != key) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  std::span<std::uint32_t> slots_;
};

}  // namespace athanor
