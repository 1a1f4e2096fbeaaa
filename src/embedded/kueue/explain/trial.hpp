// SPDX-License-Identifier: Apache-2.0
// A Workload that exists nowhere: "would this fit?" without creating anything
// (docs/spec/kueue.md 17). Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/object.hpp"

namespace athanor::kueue {

// Name and uid of a trial's Workload.
inline constexpr std::string_view kTrialName = "trial";

// Arguments of `athanor queues --fits`.
struct Trial {
  Key local_queue{};
  std::string requests{};  // "cpu=4,nvidia.com/gpu=8", of one pod
  std::string count{};     // of pods; empty: 1
  std::string priority{};  // empty: 0
};

// Returns the Workload that asks for this, created now. Errors name the part that is wrong.
Result<Object> trial_workload(const Trial& trial, Instant now);

}  // namespace athanor::kueue
