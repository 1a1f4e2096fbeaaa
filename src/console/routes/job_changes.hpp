// SPDX-License-Identifier: Apache-2.0
// Changes of jobs that several routes make.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "console/routes/exchange.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// A job: the live object, else the newest entry of the history. `uid`: that one alone.
struct FoundJob {
  Object object{};
  bool archived = false;
};
// Finds a job. Errors: 404; 403 where the viewer may not see it.
Result<FoundJob> find_job(Exchange& exchange, const Key& key, std::string_view uid = {});
// Finds the job of that name in any namespace that is shown, the jobs' namespace first.
Result<FoundJob> find_named_job(Exchange& exchange, std::string_view name);

// Sets spec.shutdown. Errors: the API server's.
Result<void> stop_job(Exchange& exchange, const Key& key, std::string_view how);
// Creates a job anew from a live or archived one; `merge` is merged into its spec. Returns it.
Result<Object> rerun_job(Exchange& exchange, const FoundJob& job, const Value& merge);

// Returns a job's manifest from the fields of docs/spec/dashboard.md A6. Error 422: a required
// field is missing; the message begins with its name.
Result<Value> job_of_form(const std::map<std::string, std::string, std::less<>>& form,
                          const std::string& ns, Instant now);
// Creates a job; on a collision of names with a suffix. `dry_run`: validates alone.
Result<Object> create_job(Exchange& exchange, Value job, bool dry_run);

// Returns "forge-llm-20260101-000000", within the rules for names.
std::string job_name_of(std::string_view project, Instant now);

}  // namespace athanor::console
