// SPDX-License-Identifier: Apache-2.0
// Labels, annotations and texts of recurring jobs (docs/spec/fournos.md 19). The texts of other
// jobs are in messages.hpp.
#pragma once

#include <string_view>

namespace athanor::fournos {

namespace name {
// Recurring jobs and their children: the parent, the time or request that started a child, the
// request for a child at once, the child of the latest one, and until when no time starts one.
inline constexpr std::string_view kRecurringParent = "fournos.dev/recurring-parent";
inline constexpr std::string_view kStartCause = "fournos.dev/recurring-start";
inline constexpr std::string_view kTriggerNow = "fournos.dev/trigger-now";
inline constexpr std::string_view kLastTriggered = "fournos.dev/last-triggered";
inline constexpr std::string_view kRecurringPause = "fournos.dev/paused-until";
// Value of the pause that has no end.
inline constexpr std::string_view kForever = "forever";
}  // namespace name

namespace text {
inline constexpr std::string_view kInvalidCron = "Invalid cron expression: {}";
inline constexpr std::string_view kScheduleConflict =
    "'schedule' and 'scheduledStartTime' are mutually exclusive";
inline constexpr std::string_view kRecurringSchedule = "Recurring schedule: {}";
inline constexpr std::string_view kRecurringLast = "Recurring schedule: {} (last child: {})";
inline constexpr std::string_view kRecurringPaused = "Recurring schedule: {} (paused)";
inline constexpr std::string_view kNoSchedule = "Recurring schedule: none, spec.schedule is empty";
inline constexpr std::string_view kCreateChildStart = "Failed to create child job: ";
inline constexpr std::string_view kCreateChild = "Failed to create child job: {}";
}  // namespace text

}  // namespace athanor::fournos
