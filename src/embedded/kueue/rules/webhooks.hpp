// SPDX-License-Identifier: Apache-2.0
// Kueue's webhooks where the engine runs on a cluster: what the embedded server does in its
// admission, asked over HTTPS (docs/spec/kueue.md 5).
#pragma once

#include <span>

#include "runtime/view/admission.hpp"

namespace athanor::kueue {

// Returns the mutating and validating webhooks of Kueue's kinds and of its ConfigMap.
std::span<const Webhook> webhooks();

}  // namespace athanor::kueue
