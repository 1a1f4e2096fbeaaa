// SPDX-License-Identifier: Apache-2.0
// Look-ups in the objects of one moment.
#include <algorithm>

#include "console/world/world.hpp"

namespace athanor::console {

const KindObjects* Facts::state(const Kind& kind) const {
  const auto found = kinds_.find(&kind);
  return found == kinds_.end() ? nullptr : found->second.get();
}

const std::vector<Object>& Facts::all(const Kind& kind) const {
  static const std::vector<Object> kNone;
  const KindObjects* objects = state(kind);
  return objects == nullptr ? kNone : objects->objects;
}

const Object* Facts::find(const Kind& kind, const Key& key) const {
  const std::vector<Object>& objects = all(kind);
  const auto found = std::ranges::lower_bound(objects, key, {}, &Object::key);
  return found == objects.end() || found->key() != key ? nullptr : &*found;
}

bool Facts::has(const Kind& kind) const {
  const KindObjects* objects = state(kind);
  return objects != nullptr && objects->synced && !objects->error;
}

}  // namespace athanor::console
