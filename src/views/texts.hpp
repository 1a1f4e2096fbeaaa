// SPDX-License-Identifier: Apache-2.0
// Words that several views share. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/time.hpp"
#include "kube/value/object.hpp"

namespace athanor::views {

// Of the resources that stand for GPUs of a cluster: "fournos/gpu-a100".
inline constexpr std::string_view kGpuPrefix = "fournos/gpu-";

// Returns the text, or "-" for an empty one: a cell of a list is never blank.
std::string or_dash(std::string text);

// Returns an object's age as kubectl prints it; "<unknown>" without a creation time.
std::string age_text(const Object& object, Instant now);

}  // namespace athanor::views
