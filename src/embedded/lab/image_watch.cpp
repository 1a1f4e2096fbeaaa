// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/image_watch.hpp"

#include <utility>

namespace athanor::lab {

Value ImageWatch::all() const {
  Value items = Value::list();
  for (Value& image : folder_.list()) {
    items.push_back(std::move(image));
  }
  return Value::object({{"items", std::move(items)}});
}

std::optional<Value> ImageWatch::news() {
  const std::int64_t changed = folder_.changed();
  const MutexLock lock(mutex_);
  if (changed == changed_) {
    return std::nullopt;
  }
  changed_ = changed;
  Value now = all();
  if (now == last_) {
    return std::nullopt;
  }
  last_ = now;
  return now;
}

}  // namespace athanor::lab
