// SPDX-License-Identifier: Apache-2.0
// OwnNews: what a plan's own writes look like when the watch tells of them. A plan that settles
// (Plan::settles) need not run again for these.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "kube/kind.hpp"
#include "kube/object.hpp"
#include "runtime/view/step.hpp"
#include "runtime/write_request.hpp"

namespace athanor::runtime {

// The writes of one plan and the changes of their targets meanwhile, in either order.
class OwnNews {
 public:
  void sent(const WriteRequest& request);
  // What a write returned. Only creations and merge patches are known by it.
  void written(const Ref& ref, const Object& object);
  // The watch told of one of them.
  void changed(const Ref& ref, const std::optional<Object>& before,
               const std::optional<Object>& after);

  [[nodiscard]] bool writes(const Ref& ref) const { return parts_.contains(ref); }
  [[nodiscard]] bool any() const;
  // Whether all that changed is what was written, with nobody else's changes among it.
  [[nodiscard]] bool all_own() const;

 private:
  struct Part {
    bool known = true;  // what the writes come to can be told
    bool created = false;
    std::vector<Value> patches{};
    std::optional<Object> written{};
    bool changed = false;
    std::optional<Object> before{};
    std::optional<Object> after{};
  };
  [[nodiscard]] static bool is_own(const Part& part);

  std::map<Ref, Part, RefOrder> parts_{};
};

}  // namespace athanor::runtime
