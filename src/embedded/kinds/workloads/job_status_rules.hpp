// SPDX-License-Identifier: Apache-2.0
// The rules of a Job's status (docs/spec/apiserver.md 14.4): other controllers than the built-in
// one write it, too, and none may make a finished Job run again.
#pragma once

#include "embedded/kinds/checks.hpp"

namespace athanor::apiserver {

// Returns the errors of a written Job status. Rules about a field count from its change on.
FieldErrors validate_job_status(const Value& job, const Value& old_job);

}  // namespace athanor::apiserver
