// SPDX-License-Identifier: Apache-2.0
// QueueWatch: athanor queue -w. A line for every Workload whose place, or reason to wait, changes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/jobs/live_list.hpp"
#include "cli/output/filter.hpp"
#include "cli/output/terminal.hpp"
#include "views/queue_view.hpp"

namespace athanor::cli {

// Reads the queues and Kueue's settings; empty where they cannot be read.
views::Queues read_queues(Session& session);

// Owners of the FournosJobs that Workloads are of. Requires that the session outlives it.
class JobOwners {
 public:
  JobOwners(Session& session, const std::string& ns, const ListOptions& list);
  // Returns "" for Workloads of other kinds, and where the list has no --owner.
  std::string of(const Object& workload);

 private:
  Session& session_;
  bool asked_ = false;
  std::map<Key, std::string> known_{};
};

// Prints Workloads as their rows change.
class QueueWatch {
 public:
  // Requires that session and options outlive it. An empty `ns`: every namespace.
  QueueWatch(Session& session, std::string ns, const QueueOptions& options, ListFilter filter,
             Duration patience = std::chrono::seconds(60));

  // Prints a line per change, from the state now on, until Ctrl-C or a refusal; the exit code.
  int run();

 private:
  void show(const Object& workload);
  void show_gone(const Key& workload);
  // Prints the rows that changed: one workload may move many others.
  void print_changed();
  void print_row(const std::vector<std::string>& cells) const;

  const QueueOptions& options_;
  ListFilter filter_;
  LiveTable table_;
  views::Queues queues_{};  // as they were at the start
  JobOwners owners_;
  Terminal out_;
  std::map<Key, Object> workloads_{};
  std::map<Key, std::vector<std::string>> printed_{};  // as they stand in the list
  bool changed_ = false;
  LiveList list_;
};

}  // namespace athanor::cli
