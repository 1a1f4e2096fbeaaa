// SPDX-License-Identifier: Apache-2.0
// Which objects name a uid among their owner references. Not thread-safe: the store owns it.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/text_hash.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/value.hpp"

namespace athanor::store {

// An index of metadata.ownerReferences[].uid.
class OwnerIndex {
 public:
  using Entry = std::pair<std::string, Key>;  // resource, key

  // Moves one object from the owners of `before` to those of `after`; Null means "no object".
  void update(std::string_view resource, const Key& key, const Value& before, const Value& after);
  // Returns the objects owned by `uid`, ordered by resource and key; nullptr: there are none.
  [[nodiscard]] const std::set<Entry>* find(std::string_view uid) const;

 private:
  struct UidHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view uid) const { return hash_text(uid); }
  };
  std::unordered_map<std::string, std::set<Entry>, UidHash, std::equal_to<>> by_uid_{};
};

}  // namespace athanor::store
