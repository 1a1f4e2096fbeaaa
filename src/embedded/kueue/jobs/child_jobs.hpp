// SPDX-License-Identifier: Apache-2.0
// Jobs below AppWrappers, which run only while the Workload of the AppWrapper is admitted
// (docs/spec/appwrapper.md 4.7). Pure.
#pragma once

#include "base/time.hpp"
#include "embedded/kueue/jobs/adapter.hpp"
#include "embedded/kueue/jobs/managed.hpp"
#include "kube/value/object.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue::jobs {

// Suspends a job that runs below a suspended AppWrapper whose Workload is not admitted. The API
// server confirms it first: nothing resumes a child that an old cache suspended. Other jobs get an
// empty plan.
Plan suspend_child(const View& view, const Adapter& adapter, const Integrations& settings,
                   const Object& job, Instant now);

}  // namespace athanor::kueue::jobs
