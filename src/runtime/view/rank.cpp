// SPDX-License-Identifier: Apache-2.0
// Keeping keys in order.
#include "runtime/view/rank.hpp"

#include <utility>

#include "base/contain.hpp"

namespace athanor {

void Ranks::insert(const Object& object) {
  Key key = object.key();
  std::string group_name;
  std::string place_text;
  // One that cannot be ranked is first in a group without a name.
  static_cast<void>(contain([&] {
    group_name = ranking_.group(object);
    place_text = ranking_.place(object);
  }));
  const auto group = groups_.try_emplace(std::move(group_name)).first;
  const auto place = group->second.emplace(std::move(place_text), key).first;
  known_.insert_or_assign(std::move(key), Where{.group = group, .place = place});
}

void Ranks::erase(const Key& key) {
  const auto known = known_.find(key);
  if (known == known_.end()) {
    return;
  }
  const auto [group, place] = known->second;
  known_.erase(known);
  group->second.erase(place);
  if (group->second.empty()) {
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
  const Places& places = found->second;
  auto at = after == nullptr ? places.begin()
                             : places.upper_bound({ranking_.place(*after), after->key()});
  for (; at != places.end() && result.size() < limit; ++at) {
    result.push_back(at->second);
  }
  return result;
}

}  // namespace athanor
