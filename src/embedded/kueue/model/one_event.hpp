// SPDX-License-Identifier: Apache-2.0
// An Event that is written once: its name is fixed, so that a repetition changes nothing.
#pragma once

#include <string>
#include <string_view>

#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/plan.hpp"

namespace athanor::kueue {

// Creates a Warning named "OBJECT.NAME".
Create one_event(const Ref& about, const Object& object, std::string_view name,
                 std::string_view reason, const std::string& message, Instant now);

}  // namespace athanor::kueue
