// SPDX-License-Identifier: Apache-2.0
// The object that a node's agent publishes its GPUs in, whichever agent it is.
#pragma once

#include <optional>
#include <string_view>

#include "kube/value/object.hpp"
#include "runtime/view/plan.hpp"
#include "systems/das/model/settings.hpp"

namespace athanor::das {

// Appends the step that creates the NodeAccelerator of `node`, or that corrects the type of the
// `known` one.
void keep_accelerator(const Object& node, const std::optional<Object>& known,
                      const Settings& settings, std::string_view type, Plan& plan);

}  // namespace athanor::das
