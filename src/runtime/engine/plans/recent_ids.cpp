// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/plans/recent_ids.hpp"

#include <cstring>
#include <utility>

#include "base/digest.hpp"

namespace athanor::runtime {
namespace {

constexpr std::size_t kFirstSlots = 64;

}  // namespace

std::size_t RecentIds::Table::slot_of(const Digest& digest) const {
  std::size_t at = digest[0] & (slots.size() - 1);
  while (slots[at] != Digest{} && slots[at] != digest) {
    at = (at + 1) & (slots.size() - 1);
  }
  return at;
}

bool RecentIds::Table::contains(const Digest& digest) const {
  return !slots.empty() && slots[slot_of(digest)] == digest;
}

void RecentIds::Table::insert(const Digest& digest) {
  if (2 * (used + 1) > slots.size()) {
    const std::vector<Digest> old =
        std::exchange(slots, std::vector<Digest>(slots.empty() ? kFirstSlots : 2 * slots.size()));
    for (const Digest& one : old) {
      if (one != Digest{}) {
        slots[slot_of(one)] = one;
      }
    }
  }
  slots[slot_of(digest)] = digest;
  ++used;
}

RecentIds::RecentIds(std::size_t count) : count_(count) {}

bool RecentIds::insert(std::string_view id) {
  Digest digest{};
  std::memcpy(digest.data(), sha256(id).data(), sizeof(digest));
  if (newer_.contains(digest) || older_.contains(digest)) {
    return false;
  }
  if (newer_.used == count_) {
    older_ = std::exchange(newer_, {});
  }
  newer_.insert(digest);
  return true;
}

}  // namespace athanor::runtime
