// SPDX-License-Identifier: Apache-2.0
// The owner index follows metadata.ownerReferences[*].uid.
#include "embedded/store/owner_index.hpp"

namespace athanor::store {

void OwnerIndex::update(std::string_view resource, const Key& key, const Value& before,
                        const Value& after) {
  const Value& old_owners = before["metadata"]["ownerReferences"];
  const Value& new_owners = after["metadata"]["ownerReferences"];
  if (old_owners == new_owners) {
    return;
  }
  const Entry entry(std::string(resource), key);
  for (const Value& owner : old_owners.items()) {
    const auto owned = by_uid_.find(owner["uid"].as_string());
    if (owned == by_uid_.end()) {
      continue;
    }
    owned->second.erase(entry);
    if (owned->second.empty()) {
      by_uid_.erase(owned);
    }
  }
  for (const Value& owner : new_owners.items()) {
    if (!owner["uid"].as_string().empty()) {
      by_uid_[owner["uid"].str()].insert(entry);
    }
  }
}

const std::set<OwnerIndex::Entry>* OwnerIndex::find(std::string_view uid) const {
  const auto owned = by_uid_.find(uid);
  return owned == by_uid_.end() ? nullptr : &owned->second;
}

}  // namespace athanor::store
