// SPDX-License-Identifier: Apache-2.0
// The controllers of AppWrapper (docs/spec/appwrapper.md). Settings come from
// view.config("appwrapper"), see settings.hpp.
#pragma once

#include "runtime/view/operator.hpp"

namespace athanor::appwrapper {

// Handles one AppWrapper: creates, watches, resets and removes its objects (sections 5 to 7).
const Operator& appwrapper_operator();
// Runs for each change of a node (7.3) where appwrapper.autopilot.monitorNodes is true.
const Operator& node_monitor_operator();
// Sets the slack ClusterQueue's lending limit (7.4); runs where appwrapper.slackQueueName is set.
const Operator& slack_queue_operator();
// Handles the Workload of an AppWrapper: queues, starts and stops it (section 4).
const Operator& workload_operator();
// Handles the same in the place of Kueue's integration: reads no configuration of Kueue.
const Operator& integrated_workload_operator();
// Releases Workloads whose AppWrapper is gone.
const Operator& workload_release_operator();

}  // namespace athanor::appwrapper
