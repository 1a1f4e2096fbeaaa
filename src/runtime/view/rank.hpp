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

#include "kube/value/object.hpp"
#include "runtime/view/view.hpp"

namespace athanor {

// Holds keys, not objects.
class Ranks {
 public:
  explicit Ranks(const Ranking& ranking) : ranking_(ranking) {}
  Ranks(const Ranks&) = delete;  // its parts point to each other
  Ranks& operator=(const Ranks&) = delete;
  Ranks(Ranks&&) = default;
  Ranks& operator=(Ranks&&) = default;
  ~Ranks() = default;

  [[nodiscard]] const Ranking& ranking() const { return ranking_; }
  // Inserts in O(log n). Requires one object of a key at a time.
  void insert(const Object& object);
  void erase(const Key& key);
  // Returns the groups by name; O(groups).
  [[nodiscard]] std::vector<Group> groups() const;
  // Returns at most `limit` keys of a group, behind the place of `after`; O(log n + limit).
  [[nodiscard]] std::vector<Key> keys(std::string_view group, const Object* after,
                                      std::size_t limit) const;

 private:
  using Places = std::set<std::pair<std::string, Key>>;
  using Groups = std::map<std::string, Places, std::less<>>;
  // What a ranking says of an object may cost more than its place in all orders.
  struct Where {
    Groups::iterator group{};
    Places::iterator place{};
  };
  Ranking ranking_;
  Groups groups_{};
  std::map<Key, Where> known_{};
};

}  // namespace athanor
