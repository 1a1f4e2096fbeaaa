// SPDX-License-Identifier: Apache-2.0
// CloudEvents about runs, in Tekton's format "tektonv1": one for each change of a run's condition,
// posted to the sink of ConfigMap config-events (docs/tekton.md, CloudEvents).
#pragma once

#include <string>

#include "base/time.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "embedded/tekton/model/settings.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/view/view.hpp"

namespace athanor::tekton {

// Returns the last part of an event's type: "started", "running", "unknown", "successful",
// "failed". `condition` may be Null: a CustomRun that its controller has not begun.
std::string event_stage(const Object& run, const Value& condition);

// Plans the event of a run as it is; nothing without a sink. Each stage of a run is announced
// once, and "unknown" once for each reason and message. Plans the Event CloudEventFailed once the
// sink has refused it.
void announce(const View& view, Plan& plan, const Object& run, const Settings& settings,
              Instant now);
// Plans the event of a run that is taken up, before its first condition.
void announce_start(const View& view, Plan& plan, const Object& run, const Settings& settings,
                    Instant now);
// Plans the event of a run whose status shall get these keys.
void announce_status(const View& view, Plan& plan, const Object& run, const Value& status,
                     const Settings& settings, Instant now);

// Plans an Event CloudEventFailed for each CloudEvent that the sink refused: of the stages
// "started" and "running", and the latest one. An earlier one of the stage "unknown" is not
// reported, as its id depends on a reason and message that the run no longer has.
void report_undelivered(const View& view, Plan& plan, const Object& run, const Settings& settings);

}  // namespace athanor::tekton
