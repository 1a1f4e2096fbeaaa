// SPDX-License-Identifier: Apache-2.0
// Ranks: keys of objects in the groups and the order of a Ranking.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/object.hpp"
#include "runtime/view/view.hpp"

namespace athanor {

// Holds keys, not objects. An object must be erased as it was when it was inserted.
class Ranks {
 public:
  explicit Ranks(const Ranking& ranking) : ranking_(ranking) {}

  [[nodiscard]] const Ranking& ranking() const { return ranking_; }
  // O(log n).
  void insert(const Object& object);
  void erase(const Object& object);
  // By name; O(groups).
  [[nodiscard]] std::vector<Group> groups() const;
  // At most `limit` keys of a group, behind the place of `after`; O(log n + limit).
  [[nodiscard]] std::vector<Key> keys(std::string_view group, const Object* after,
                                      std::size_t limit) const;

 private:
  using Place = std::pair<std::string, Key>;
  Ranking ranking_;
  std::map<std::string, std::set<Place>, std::less<>> groups_{};
};

}  // namespace athanor
