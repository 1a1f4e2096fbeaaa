// SPDX-License-Identifier: Apache-2.0
// Schedules that are paused until a time (docs/spec/dashboard.md B4.10): the controller resumes
// them, with or without a console.
#pragma once

#include <string_view>

#include "runtime/view/operator.hpp"

namespace athanor::fournos {

// Annotation of a suspended CronJob: when it goes on, RFC 3339.
inline constexpr std::string_view kPausedUntil = "fournos-launcher/paused-until";

// Resumes a managed CronJob when its time has come; takes the annotation off one that is resumed by
// hand, so that a later pause without an end has none.
const Operator& resume_operator();

}  // namespace athanor::fournos
