// SPDX-License-Identifier: Apache-2.0
// The integrations' webhooks (docs/spec/kueue.md 5, 10).
#pragma once

#include <span>

#include "runtime/view/admission.hpp"

namespace athanor::kueue::jobs {

// Returns the webhooks of all integrated kinds, named as Kueue names its own.
std::span<const Webhook> webhooks();

}  // namespace athanor::kueue::jobs
