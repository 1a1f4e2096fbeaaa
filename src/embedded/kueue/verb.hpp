// SPDX-License-Identifier: Apache-2.0
// athanor queues: quota and use of every queue, and why a job waits.
#pragma once

#include <string>

#include "embedded/kueue/explain/explain.hpp"
#include "runtime/view/verb.hpp"

namespace athanor::kueue {

// Returns why the Workload of that name, or of the object of that name, waits; the newest of
// several. Errors: no such Workload in the namespace, or queues that cannot be read.
Result<Explanation> explain_named(VerbContext& context, const Key& key,
                                  const Audience& viewer = {});

// Returns the command `athanor queues` with its flags and help.
Verb queues_verb();

}  // namespace athanor::kueue
