// SPDX-License-Identifier: Apache-2.0
// The rules of Jobs and CronJobs (docs/spec/apiserver.md 14.4).
#pragma once

#include "embedded/kinds/checks.hpp"
#include "embedded/kinds/kind_behaviour.hpp"

namespace athanor::apiserver {

// Return the errors of a Job and of a CronJob, at create and at update (of a Job also of its
// status); empty: valid.
FieldErrors validate_job(const Value& object, const KindContext& context);
FieldErrors validate_job_update(const Value& object, const Value& old_object,
                                const KindContext& context);
FieldErrors validate_cron_job(const Value& object, const KindContext& context);
FieldErrors validate_cron_job_update(const Value& object, const Value& old_object,
                                     const KindContext& context);

// What selects a Job's pods.
inline constexpr std::string_view kControllerUidLabel = "batch.kubernetes.io/controller-uid";

}  // namespace athanor::apiserver
