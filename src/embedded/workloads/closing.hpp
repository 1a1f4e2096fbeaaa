// SPDX-License-Identifier: Apache-2.0
// Closing: what a run keeps for the end of its plan.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/view/step.hpp"

namespace athanor::workloads {

// Events about one object, written once everything else is done; and a write that the server
// refused before, tried again last: should it fail again, the rest has happened all the same.
class Closing {
 public:
  Closing(const Kind& kind, const Object& about) : about_{&kind, about.key()}, uid_(about.uid()) {}

  void emit(const char* type, std::string reason, std::string note) {
    events_.push_back({.about = about_,
                       .about_uid = uid_,
                       .type = type,
                       .reason = std::move(reason),
                       .note = std::move(note)});
  }
  void retry_last(Step step) { refused_ = std::move(step); }
  [[nodiscard]] bool retries() const { return refused_.has_value(); }

  void tell(Plan& plan) {
    for (Emit& event : events_) {
      plan.then(std::move(event));
    }
    events_.clear();
  }
  void finish(Plan& plan) {
    tell(plan);
    if (refused_) {
      plan.then(*std::exchange(refused_, std::nullopt));
    }
  }

 private:
  Ref about_;
  std::string uid_;
  std::vector<Emit> events_{};
  std::optional<Step> refused_{};
};

}  // namespace athanor::workloads
