// SPDX-License-Identifier: Apache-2.0
// The rules of Jobs and CronJobs (docs/spec/apiserver.md 14.4).
#pragma once

#include "embedded/kinds/checks.hpp"
#include "embedded/kinds/kind_behaviour.hpp"

namespace athanor::apiserver {

// Returns the errors of a Job at create; empty: valid, here and below.
FieldErrors validate_job(const Value& object, const KindContext& context);
// Returns the errors of a Job at update, of its status where `context` names that subresource.
FieldErrors validate_job_update(const Value& object, const Value& old_object,
                                const KindContext& context);
// Returns the errors of a CronJob at create.
FieldErrors validate_cron_job(const Value& object, const KindContext& context);
// Returns the errors of a CronJob at update of its spec.
FieldErrors validate_cron_job_update(const Value& object, const Value& old_object,
                                     const KindContext& context);

// What selects a Job's pods.
inline constexpr std::string_view kControllerUidLabel = "batch.kubernetes.io/controller-uid";

}  // namespace athanor::apiserver
