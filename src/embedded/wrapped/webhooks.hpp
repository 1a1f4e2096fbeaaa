// SPDX-License-Identifier: Apache-2.0
// Admission of wrapped kinds in a lab: refuses nothing, and warns of fields without effect, of the
// objects and of templates in AppWrappers.
#pragma once

#include <span>

#include "runtime/view/admission.hpp"

namespace athanor::wrapped {

// Returns the webhooks of these kinds.
std::span<const Webhook> webhooks();

}  // namespace athanor::wrapped
