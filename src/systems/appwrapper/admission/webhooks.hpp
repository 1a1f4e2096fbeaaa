// SPDX-License-Identifier: Apache-2.0
// The admission rules as webhooks: this system's own, then those that Kueue has for its kind
// (docs/spec/appwrapper.md 3.1, 3.7).
#pragma once

#include <span>

#include "runtime/view/admission.hpp"

namespace athanor::appwrapper {

// Rights are asked for under "subject-access:<spec of a SubjectAccessReview>".
std::span<const Webhook> webhooks();
// Returns Kueue's webhooks, for a queueing engine that does not bring them.
std::span<const Webhook> kueue_webhooks();

}  // namespace athanor::appwrapper
