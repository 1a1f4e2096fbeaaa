// SPDX-License-Identifier: Apache-2.0
// Keeping keys in order.
#include "runtime/view/rank.hpp"

namespace athanor {

void Ranks::insert(const Object& object) {
  groups_[ranking_.group(object)].emplace(ranking_.place(object), object.key());
}

void Ranks::erase(const Object& object) {
  const auto group = groups_.find(ranking_.group(object));
  if (group != groups_.end() && group->second.erase({ranking_.place(object), object.key()}) > 0 &&
      group->second.empty()) {
    groups_.erase(group);
  }
}

std::vector<Group> Ranks::groups() const {
  std::vector<Group> result;
  result.reserve(groups_.size());
  for (const auto& [name, places] : groups_) {
    result.push_back({.name = name, .size = places.size()});
  }
  return result;
}

std::vector<Key> Ranks::keys(std::string_view group, const Object* after, std::size_t limit) const {
  std::vector<Key> result;
  const auto found = groups_.find(group);
  if (found == groups_.end()) {
    return result;
  }
  const std::set<Place>& places = found->second;
  auto at = after == nullptr ? places.begin()
                             : places.upper_bound({ranking_.place(*after), after->key()});
  for (; at != places.end() && result.size() < limit; ++at) {
    result.push_back(at->second);
  }
  return result;
}

}  // namespace athanor
