// SPDX-License-Identifier: Apache-2.0
// What the webhooks of the integrated kinds default and refuse (docs/spec/kueue.md 5.1, 10). Pure.
#pragma once

#include <string>
#include <vector>

#include "embedded/kueue/jobs/adapter.hpp"
#include "embedded/kueue/jobs/managed.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue::jobs {

using FieldTexts = std::vector<std::string>;  // one error each: "<path>: <Type>: <value>: <detail>"
// Returns "e", or "[e1, e2]".
std::string joined(const FieldTexts& errors);

// Adds, at create, the default queue, and suspend where it is managed.
Value with_job_defaults(const View& view, const Integrations& settings, const Adapter& adapter,
                        const Value& object);
// Checks labels and partial admission of a job at create; empty: valid.
FieldTexts validate_new_job(const Adapter& adapter, const Value& object);
// Checks an update of a job: its queue, time limit and priority class may change only while it is
// suspended. Empty: valid.
FieldTexts validate_job_update(const Adapter& adapter, const Value& object, const Value& old_object,
                               bool has_default_queue);

// Adds, at create, the default queue, and gate, label and finalizer where it is managed.
Value with_pod_defaults(const View& view, const Integrations& settings, const Value& object);
// Checks labels and group of a managed pod; at update also that they are unchanged. `old_object`:
// Null at create. Empty: valid.
FieldTexts validate_pod(const Value& object, const Value& old_object);

}  // namespace athanor::kueue::jobs
