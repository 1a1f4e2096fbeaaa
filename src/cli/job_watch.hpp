// SPDX-License-Identifier: Apache-2.0
// JobWatch: athanor jobs -w. Rows of jobs, and the live list, which outlives a restart of the API
// server.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "cli/jobs/live_list.hpp"
#include "cli/session.hpp"
#include "cli/terminal.hpp"

namespace athanor::cli {

// Returns the titles of the columns that job_row() fills.
std::vector<std::string> job_header(bool with_namespace);
// `wide`: the job's message as it is, not in short.
std::vector<std::string> job_row(const Object& job, bool with_namespace, bool wide);
// Returns the object's age now, as kubectl prints it; "<unknown>" without a creation time.
std::string age_of(const Object& object);

// How long a JobWatch waits before it gives up or warns.
struct WatchPatience {
  Duration away = std::chrono::seconds(60);   // with an API server that does not answer
  Duration unseen = std::chrono::seconds(5);  // with a job without a phase
};

// Prints jobs as they change. The session outlives it.
class JobWatch {
 public:
  // An empty `ns`: every namespace.
  JobWatch(Session& session, std::string ns, const JobsOptions& options,
           WatchPatience patience = {});

  // Prints a line per change, from the state now on, until Ctrl-C or a refusal; the exit code.
  int run();

 private:
  void show(const Object& job);
  void show_gone(const Key& job);
  void report_unseen(Instant now);
  [[nodiscard]] bool shows_table() const;

  Session& session_;
  const JobsOptions& options_;
  WatchPatience patience_;
  Terminal out_;
  LiveList list_;
  std::map<Key, Object> unseen_{};  // without a phase, not yet reported
};

}  // namespace athanor::cli
