// SPDX-License-Identifier: Apache-2.0
// A packed object is its size, four bytes, and what the packer made.
#include "runtime/cache/kept_objects.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/check.hpp"
#include "base/memory.hpp"
#include "kube/value/packer.hpp"

namespace athanor::runtime {
namespace {

constexpr Duration kMinute = std::chrono::minutes(1);
// An object that is missed so often, each time within so many minutes of its last use, is needed
// all the time: one more is kept.
constexpr std::uint8_t kFaults = 2;
constexpr int kSoon = 2;
// Packing so many at once frees enough to give it back to the system.
constexpr std::size_t kMany = 10'000;

std::uint32_t size_of(const char* packed) {
  std::uint32_t size = 0;
  std::memcpy(&size, packed, sizeof(size));
  return size;
}

}  // namespace

KeptObjects::KeptObjects(std::size_t warm) : most_now_(warm), most_warm_(warm) {}
KeptObjects::KeptObjects(KeptObjects&&) noexcept = default;
KeptObjects::~KeptObjects() = default;

Object KeptObjects::unpacked(const Slot& slot) const {
  if (slot.packed == nullptr || !slot.warm.body().is_null()) {
    return slot.warm;
  }
  const char* const packed = slot.packed.get();
  return Object(packer_->unpack({packed + sizeof(std::uint32_t), size_of(packed)}));
}

void KeptObjects::link(Slots::iterator at) const {
  Slot& slot = at->second;
  if (!bounded()) {
    return;
  }
  if (slot.linked) {
    used_.splice(used_.end(), used_, slot.place);
  } else {
    slot.place = used_.insert(used_.end(), at);
    slot.linked = true;
  }
}

void KeptObjects::unlink(Slot& slot) const {
  if (slot.linked) {
    used_.erase(slot.place);
    slot.linked = false;
  }
}

// An object that is not in use any more.
void KeptObjects::pack(Slot& slot) const {
  if (slot.packed == nullptr) {
    if (packer_ == nullptr) {
      packer_ = std::make_unique<Packer>();
    }
    const std::string_view bytes = packer_->pack(slot.warm.body());
    const auto size = static_cast<std::uint32_t>(bytes.size());
    slot.packed = std::make_unique_for_overwrite<char[]>(sizeof(size) + bytes.size());
    std::memcpy(slot.packed.get(), &size, sizeof(size));
    std::memcpy(slot.packed.get() + sizeof(size), bytes.data(), bytes.size());
  }
  slot.warm = Object();
}

const Object& KeptObjects::use(Slots::iterator at) const {
  Slot& slot = at->second;
  if (!bounded()) {
    return slot.warm;
  }
  if (slot.warm.body().is_null() && slot.packed != nullptr) {
    slot.warm = unpacked(slot);
    slot.faults =
        is_recent(slot) ? static_cast<std::uint8_t>(std::min(slot.faults + 1, int{kFaults})) : 0;
    most_now_ += slot.faults == kFaults ? 1 : 0;
  }
  slot.minute = minute_;
  link(at);
  return slot.warm;
}

KeptObjects::Slots::iterator KeptObjects::place_of(const Key& key) const {
  if (bounded()) {
    return slots_.find(key);
  }
  const auto found = by_name_.find(&key);
  return found == by_name_.end() ? slots_.end() : found->second;
}

void KeptObjects::note(Slots::iterator at) {
  if (!bounded()) {
    by_name_.emplace(&at->first, at);
  }
}

void KeptObjects::forget(Slots::iterator at) {
  if (!bounded()) {
    by_name_.erase(&at->first);
  }
}

const Object* KeptObjects::find(const Key& key) const {
  const auto found = place_of(key);
  return found == slots_.end() ? nullptr : &use(found);
}

const Object& KeptObjects::at(const Key& key) const {
  const Object* object = find(key);
  ATHANOR_CHECK(object != nullptr, "an index names objects that are there");
  return *object;
}

void KeptObjects::put(const Key& key, Object object) {
  auto at = place_of(key);
  if (at == slots_.end()) {
    at = slots_.try_emplace(key).first;
    note(at);
  }
  Slot& slot = at->second;
  slot.warm = std::move(object);
  slot.packed.reset();
  slot.listed = 0;
  slot.minute = 0;
  slot.faults = 0;
  link(at);
}

void KeptObjects::erase(const Key& key) {
  const auto found = place_of(key);
  if (found != slots_.end()) {
    unlink(found->second);
    forget(found);
    slots_.erase(found);
  }
}

KeptObjects::Slots::iterator KeptObjects::lower_bound(Slots& slots, std::string_view ns) {
  return slots.lower_bound(Key{std::string(ns), ""});
}

void KeptObjects::each_key(std::string_view ns,
                           const std::function<void(const Key& key)>& visit) const {
  for (auto at = lower_bound(slots_, ns); at != slots_.end() && (ns.empty() || at->first.ns == ns);
       ++at) {
    visit(at->first);
  }
}

void KeptObjects::each(
    std::string_view ns,
    const std::function<void(const Key& key, const Object& object)>& visit) const {
  for (auto at = lower_bound(slots_, ns); at != slots_.end() && (ns.empty() || at->first.ns == ns);
       ++at) {
    visit(at->first, use(at));
  }
}

// ---- lists

void KeptObjects::begin_list(std::string_view ns) {
  for (auto at = lower_bound(fresh_, ns);
       at != fresh_.end() && (ns.empty() || at->first.ns == ns);) {
    fresh_warm_ -= at->second.packed == nullptr ? 1 : 0;
    at = fresh_.erase(at);
  }
}

void KeptObjects::add(Object object, std::uint32_t list) {
  Key key = object.key();
  const auto known = slots_.empty() ? slots_.end() : slots_.find(key);
  if (known != slots_.end() &&
      unpacked(known->second).resource_version() == object.resource_version()) {
    known->second.listed = list;
    return;
  }
  // Lists are in order.
  Slot& slot = fresh_.try_emplace(fresh_.end(), std::move(key))->second;
  const bool counted = !slot.warm.body().is_null();
  fresh_warm_ += counted ? 0 : 1;
  slot.packed.reset();
  slot.warm = std::move(object);
  slot.listed = list;
  if (fresh_warm_ > most_warm_) {
    pack(slot);
    --fresh_warm_;
  }
}

// Both are in order: one walk, whatever the share of the new.
std::vector<KeptObjects::Difference> KeptObjects::end_list(std::string_view ns,
                                                           std::uint32_t list) {
  std::vector<Difference> gone;
  std::vector<Difference> changed;
  const auto is_of = [&](const Slots& slots, Slots::iterator at) {
    return at != slots.end() && (ns.empty() || at->first.ns == ns);
  };
  auto old = lower_bound(slots_, ns);
  auto fresh = lower_bound(fresh_, ns);
  const auto take_old = [&](Difference& into) {
    unlink(old->second);
    forget(old);
    into.old_ = slots_.extract(old++);
  };
  while (is_of(slots_, old) || is_of(fresh_, fresh)) {
    if (!is_of(fresh_, fresh) || (is_of(slots_, old) && old->first < fresh->first)) {
      if (old->second.listed == list) {
        ++old;
        continue;
      }
      Difference& one = gone.emplace_back();
      take_old(one);
      one.key_ = &one.old_.key();
      one.gone_ = true;
      continue;
    }
    Difference& one = changed.emplace_back();
    if (is_of(slots_, old) && old->first == fresh->first) {
      take_old(one);
    }
    const auto now = slots_.insert(old, fresh_.extract(fresh++));
    one.key_ = &now->first;
    note(now);
    if (now->second.packed == nullptr) {
      --fresh_warm_;
      link(now);
    }
  }
  if (gone.empty()) {
    return changed;
  }
  gone.insert(gone.end(), std::make_move_iterator(changed.begin()),
              std::make_move_iterator(changed.end()));
  return gone;
}

Object KeptObjects::before(const Difference& difference) const {
  return unpacked(difference.old_.mapped());
}

Object KeptObjects::after(const Difference& difference) const {
  return unpacked(slots_.at(difference.key()));
}

// ---- packing

// The count of minutes starts over after a few weeks.
bool KeptObjects::is_recent(const Slot& slot) const {
  return slot.minute != 0 && static_cast<std::uint16_t>(minute_ - slot.minute) <= kSoon;
}

// Once a minute: how many have been in use lately is how many stay.
void KeptObjects::forget_unused(Instant now) {
  const auto passed = (now - next_minute_) / kMinute + 1;
  const int minutes = static_cast<int>(std::clamp<std::int64_t>(passed, 1, kSoon + 1));
  next_minute_ = now + kMinute;
  minute_ = static_cast<std::uint16_t>(minute_ + minutes);
  minute_ = minute_ == 0 ? std::uint16_t{1} : minute_;
  std::size_t lately = 0;
  for (auto at = used_.rbegin(); at != used_.rend() && lately < most_now_; ++at) {
    if (!is_recent((*at)->second)) {
      break;
    }
    ++lately;
  }
  most_now_ = std::max(most_warm_, lately);
}

void KeptObjects::rest(Instant now) {
  if (!bounded()) {
    return;
  }
  // A clock that was set back must not keep it from looking.
  if (now >= next_minute_ || next_minute_ - now > kMinute) {
    forget_unused(now);
  }
  std::size_t packed = 0;
  for (; used_.size() > most_now_; ++packed) {
    Slot& slot = used_.front()->second;
    unlink(slot);
    pack(slot);
  }
  if (packed > kMany) {
    memory::give_back();
  }
}

std::size_t KeptObjects::packed_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [key, slot] : slots_) {
    bytes += slot.packed == nullptr ? 0 : sizeof(std::uint32_t) + size_of(slot.packed.get());
  }
  return bytes;
}

}  // namespace athanor::runtime
