// SPDX-License-Identifier: Apache-2.0
// ImageWatch: the images in a lab's data folder, of which others (`athanor images`) bring more
// while the lab runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/mutex.hpp"
#include "embedded/nodes/images/image_folder.hpp"
#include "kube/value/value.hpp"

namespace athanor::lab {

// Thread-safe.
class ImageWatch {
 public:
  explicit ImageWatch(const std::string& data) : folder_(data) {}

  // Returns {items: [image...]} (nodes/images/image_folder.hpp).
  [[nodiscard]] Value all() const;
  // Returns the same if it is another one than at the call before; nullopt: it is not. Reads the
  // folder only when something was added or removed.
  std::optional<Value> news();

 private:
  nodes::ImageFolder folder_;
  Mutex mutex_{};
  std::int64_t changed_ ATHANOR_GUARDED_BY(mutex_) = 0;  // when the folder was, as it says
  Value last_ ATHANOR_GUARDED_BY(mutex_){};
};

}  // namespace athanor::lab
