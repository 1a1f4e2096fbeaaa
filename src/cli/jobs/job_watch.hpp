// SPDX-License-Identifier: Apache-2.0
// JobWatch: athanor jobs -w. Rows of jobs, and the live list, which outlives a restart of the API
// server.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "cli/jobs/live_list.hpp"
#include "cli/output/filter.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/session.hpp"
#include "views/job_view.hpp"

namespace athanor::cli {

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
  // Watches the jobs of the namespace `ns`; empty: of every namespace.
  JobWatch(Session& session, std::string ns, const JobsOptions& options, ListFilter filter,
           WatchPatience patience = {});

  // Prints a line per change, from the state now on, until Ctrl-C or a refusal; the exit code.
  int run();

 private:
  void show(const Object& job);
  void show_gone(const Key& job);
  void report_unseen(Instant now);
  void print_row(const std::vector<std::string>& cells) const;
  [[nodiscard]] std::string cause_of(const Object& job);

  Session& session_;
  const JobsOptions& options_;
  ListFilter filter_;
  views::JobColumns columns_;
  LiveTable table_;
  WatchPatience patience_;
  Terminal out_;
  LiveList list_;
  std::set<Key> shown_{};
  std::map<Key, Object> unseen_{};  // without a phase, not yet reported
};

}  // namespace athanor::cli
