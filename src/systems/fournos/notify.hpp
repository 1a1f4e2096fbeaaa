// SPDX-License-Identifier: Apache-2.0
// Notification of a job's end (docs/fournos.md, Notifications): one POST to a webhook, tried again
// until it is taken.
#pragma once

#include <optional>
#include <string_view>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/operator.hpp"
#include "systems/fournos/settings.hpp"

namespace athanor::fournos {

// The observation "notify:<JSON>" is the webhook's answer to {url, contentType, body}.
inline constexpr std::string_view kNotifyProbe = "notify";
// Of a job whose end was announced, or was not: "2026-01-31T08:00:05Z", "failed: ...".
inline constexpr std::string_view kNotified = "fournos.dev/notified";

// Posts the end of each job and records it in an annotation.
const Operator& notify_operator();

// Returns the body and its type for a job that is over. Pure; the same for each attempt.
struct Notification {
  std::string_view content_type{};
  Value body{};
};
Notification notification_of(const Object& job, Instant end, NotifyFormat format);
// Returns the time between an attempt and the next one: as long as attempts have lasted, from 1 s
// to 5 min.
Duration notify_pause(Duration since_end);

}  // namespace athanor::fournos
