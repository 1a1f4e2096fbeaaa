// SPDX-License-Identifier: Apache-2.0
// LogSource: a workload whose pods' logs are read: a FournosJob, a PipelineRun, a Job, a JobSet, a
// pod, and whatever else makes pods.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/session/session.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"

namespace athanor::cli {

// One workload and the selector of its pods.
struct LogSource {
  const Kind* kind = nullptr;
  std::string ns{};
  std::string name{};
  std::string selector{};  // labels of its pods; empty: the pod `name`

  [[nodiscard]] bool is_job() const;
  // Returns "the job"; of other kinds "the pod", "the jobset".
  [[nodiscard]] std::string noun() const;
  // Returns "fournosjob", "pod".
  [[nodiscard]] std::string kind_word() const;
  // Returns "jobset/NAME", as the command line takes it.
  [[nodiscard]] std::string text() const;
  // Returns "labelSelector=...", percent-encoded.
  [[nodiscard]] std::string pods_query() const;
  Result<std::vector<Object>> pods(Session& session) const;
};

// Returns the source of a FournosJob's logs; asks nothing.
LogSource source_of_job(std::string ns, std::string name);

// Finds the workload that "KIND/NAME", "KIND NAME" or "NAME" means. A name alone is a FournosJob,
// else a PipelineRun, Job, AppWrapper, JobSet or pod of that name. A Workload stands for its owner.
// Errors: an unknown kind (wrong usage), no such object.
Result<LogSource> find_log_source(Session& session, const std::vector<std::string>& words);

// Finds the workloads that several words mean: KIND/NAME or NAME each, or "KIND NAME". With labels:
// all objects of the kind that the word names; without one the FournosJobs with the labels, else
// the pods. Those with labels come the oldest first. Errors: as above, and where none has the
// labels.
Result<std::vector<LogSource>> find_log_sources(Session& session,
                                                const std::vector<std::string>& words,
                                                const std::string& labels);

// Returns the phase of a workload; "Succeeded", "Failed" and "Stopped" are its end.
std::string phase_of_source(const Kind& kind, const Object& object);
bool is_end_phase(std::string_view phase);

}  // namespace athanor::cli
