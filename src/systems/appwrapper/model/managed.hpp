// SPDX-License-Identifier: Apache-2.0
// Which AppWrappers Kueue's side takes care of (docs/spec/appwrapper.md 4.2, 4.8). Pure.
#pragma once

#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/appwrapper/model/settings.hpp"

namespace athanor::appwrapper {

// Returns what holds now: kueueJobReconciller where Kueue's side is ours to integrate, else Kueue's
// own configuration, of the start and of its ConfigMap, which is read.
Queueing queueing_of(const View& view, const Settings& settings);
// Returns true if an AppWrapper waits for quota: by its queue's name, or because in its namespace
// all of them do.
bool is_queued(const View& view, const Value& app, const Queueing& queueing);
// Returns true if the local AppWrapper controller is the one that spec.managedBy means.
bool is_managed_here(const AppWrapper& app);
// Returns true if Kueue makes a Workload of it: of ours, and of what MultiKueue runs elsewhere.
bool has_workload(const AppWrapper& app);
// Returns the name of a Workload that another controller made for it; empty: none.
std::string prebuilt_workload(const Object& app);

}  // namespace athanor::appwrapper
