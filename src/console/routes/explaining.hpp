// SPDX-License-Identifier: Apache-2.0
// Explanations of waits as one viewer may see them (docs/spec/dashboard.md B4.4, X2).
#pragma once

#include "base/result.hpp"
#include "console/routes/exchange.hpp"
#include "console/world/cached_context.hpp"
#include "embedded/kueue/explain/explain.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// Returns why the Workload of that name, or of the object of that name, waits, as far as the viewer
// may see it. Errors as explain_named()'s.
Result<kueue::Explanation> explain_for_viewer(Exchange& exchange, CachedContext& context,
                                              const Key& key);
// Returns an explanation as JSON with its text; holders of FournosJobs have the `person`, and a job
// whose cluster is locked has the `lock`.
Value explanation_value(Exchange& exchange, const kueue::Explanation& why);

}  // namespace athanor::console
