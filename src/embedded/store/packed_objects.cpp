// SPDX-License-Identifier: Apache-2.0
#include "embedded/store/cold.hpp"

#include <algorithm>
#include <utility>

namespace athanor::store {

KeyView ColdObjects::key_of(const Entry& entry) const {
  return places_[entry.pack].pack->key(entry.index & ~kGone);
}

KeyView ColdObjects::key(std::size_t position) const {
  return key_of(entries_[position]);
}

Revision ColdObjects::revision(std::size_t position) const {
  const Entry& entry = entries_[position];
  return places_[entry.pack].pack->revision(entry.index);
}

StoredPtr ColdObjects::unpack(std::size_t position) const {
  const Entry& entry = entries_[position];
  return places_[entry.pack].pack->unpack(entry.index);
}

std::size_t ColdObjects::lower_bound(const KeyView& key) const {
  const auto at = std::lower_bound(
      entries_.begin(), entries_.end(), key,
      [this](const Entry& entry, const KeyView& wanted) { return key_of(entry) < wanted; });
  return static_cast<std::size_t>(at - entries_.begin());
}

std::size_t ColdObjects::upper_bound(const KeyView& key) const {
  const auto at = std::upper_bound(
      entries_.begin(), entries_.end(), key,
      [this](const KeyView& wanted, const Entry& entry) { return wanted < key_of(entry); });
  return static_cast<std::size_t>(at - entries_.begin());
}

std::size_t ColdObjects::skip_gone(std::size_t position) const {
  while (position < entries_.size() && is_gone(entries_[position])) {
    ++position;
  }
  return position;
}

StoredPtr ColdObjects::get(const KeyView& wanted) const {
  const std::size_t position = skip_gone(lower_bound(wanted));
  return position < end() && key(position) == wanted ? unpack(position) : nullptr;
}

void ColdObjects::add(std::shared_ptr<const Pack> pack, const std::vector<std::uint32_t>& indices) {
  if (indices.empty()) {
    return;
  }
  sweep();
  const auto place = static_cast<std::uint32_t>(places_.size());
  places_.push_back({.pack = std::move(pack), .live = indices.size()});
  const auto old = static_cast<std::ptrdiff_t>(entries_.size());
  for (const std::uint32_t index : indices) {
    entries_.push_back({.pack = place, .index = index});
  }
  std::inplace_merge(entries_.begin(), entries_.begin() + old, entries_.end(),
                     [this](const Entry& a, const Entry& b) { return key_of(a) < key_of(b); });
}

bool ColdObjects::erase(const KeyView& wanted) {
  const std::size_t position = skip_gone(lower_bound(wanted));
  if (position == end() || key(position) != wanted) {
    return false;
  }
  Entry& entry = entries_[position];
  entry.index |= kGone;
  ++gone_;
  if (--places_[entry.pack].live == 0 || gone_ > entries_.size() / 2) {
    sweep();
  }
  return true;
}

void ColdObjects::sweep() {
  if (gone_ == 0) {
    return;
  }
  std::erase_if(entries_, [this](const Entry& entry) { return is_gone(entry); });
  gone_ = 0;
  std::vector<std::uint32_t> moved(places_.size());
  std::vector<Place> kept;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    moved[i] = static_cast<std::uint32_t>(kept.size());
    if (places_[i].live != 0) {
      kept.push_back(std::move(places_[i]));
    }
  }
  if (kept.size() == places_.size()) {
    places_ = std::move(kept);
    return;
  }
  places_ = std::move(kept);
  for (Entry& entry : entries_) {
    entry.pack = moved[entry.pack];
  }
}

}  // namespace athanor::store
