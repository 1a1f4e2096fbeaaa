// SPDX-License-Identifier: Apache-2.0
// The admission webhook of pods (docs/spec/das.md 5).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/admission.hpp"

namespace athanor::das {

// A pod rewritten to MIG resources (rules R1 to R7 and W-B2 to W-B9).
struct Rewritten {
  Value pod{};
  bool marked = false;                  // it asks for slices
  std::vector<std::string> profiles{};  // in order of bytes, each once
};
// Rewrites a pod. Errors (422) name the profile and the container. `whole`: the profile that takes
// the place of nvidia.com/gpu (W-B4); empty: that resource is left alone.
Result<Rewritten> rewrite_pod(const Value& pod, std::string_view whole = {});

// Answers the webhook: the pod rewritten, allowed unchanged, or denied with rewrite_pod()'s error.
Verdict mutate_pod(const View& view, const AdmissionRequest& request, Instant now);

// Returns the one webhook, for pods on CREATE.
std::span<const Webhook> das_webhooks();

}  // namespace athanor::das
