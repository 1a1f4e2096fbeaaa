// SPDX-License-Identifier: Apache-2.0
// NarrowWatch: which objects of a kind a watch with selectors shows.
#pragma once

#include <vector>

#include "client/reflector.hpp"
#include "kube/names/selector.hpp"
#include "kube/value/object.hpp"

namespace athanor::cluster {

// Immutable; any thread. A selector that does not parse hides nothing: the server refuses it.
class NarrowWatch {
 public:
  explicit NarrowWatch(const client::FeedScope& scope);
  // Returns true if a selector may hide objects.
  [[nodiscard]] bool hides_some() const { return !labels_.empty() || !fields_.empty(); }
  // Returns true if the watch shows this object.
  [[nodiscard]] bool shows(const Object& object) const;

 private:
  LabelSelector labels_{};
  std::vector<FieldRequirement> fields_{};
};

}  // namespace athanor::cluster
