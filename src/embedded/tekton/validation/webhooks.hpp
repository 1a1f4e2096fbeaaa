// SPDX-License-Identifier: Apache-2.0
// Tekton's webhooks where the pipelines run on a cluster: what the embedded server does in its
// admission, asked over HTTPS (docs/spec/tekton.md 4, 5).
#pragma once

#include <span>

#include "runtime/view/admission.hpp"

namespace athanor::tekton {

// Returns the mutating and validating webhooks of Tekton's kinds.
std::span<const Webhook> webhooks();

}  // namespace athanor::tekton
