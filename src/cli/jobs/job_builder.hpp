// SPDX-License-Identifier: Apache-2.0
// A FournosJob from the flags of `athanor submit`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/flags/options.hpp"
#include "kube/value/value.hpp"

namespace athanor::cli {

// Builds the job. Errors name the flag and the form it wants. `user` owns it without --owner.
Result<Value> build_job(const SubmitOptions& options, const std::string& user);
// Sets what the flags say over what is in the job. Errors: see build_job().
Result<void> override_job(Value& job, const SubmitOptions& options);
// A job and where it was read.
struct PlacedJob {
  Value job{};
  std::string place{};  // "file, document 3"
};
// Jobs of manifests, and what is wrong with their other documents.
struct JobBatch {
  std::vector<PlacedJob> jobs{};
  std::vector<std::string> problems{};  // one line each, with its place
};
// Parses a manifest as read_jobs() does; a document that is none keeps no other back.
JobBatch read_job_documents(std::string_view text, std::string_view name);

// Parses and checks a manifest: FournosJobs in documents or Lists, YAML or JSON, without what an
// API server has written into them. A copy of a stored job gets a new name. Errors name every
// document that is no FournosJob.
Result<std::vector<Value>> read_jobs(std::string_view text, std::string_view name);

}  // namespace athanor::cli
