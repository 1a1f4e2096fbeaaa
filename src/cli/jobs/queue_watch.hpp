// SPDX-License-Identifier: Apache-2.0
// QueueWatch: athanor queue -w. A line for every Workload whose place, or reason to wait, changes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/jobs/live_list.hpp"
#include "cli/jobs/queue_view.hpp"
#include "cli/terminal.hpp"

namespace athanor::cli {

// Returns the titles of the columns that queue_row() fills.
std::vector<std::string> queue_header();
// `wide`: what the queueing says as it is, not in short.
std::vector<std::string> queue_row(const QueueEntry& entry, bool with_namespace, bool wide);

// Prints Workloads as their rows change.
class QueueWatch {
 public:
  // Both must outlive it. An empty `ns`: every namespace.
  QueueWatch(Session& session, std::string ns, const QueueOptions& options,
             Duration patience = std::chrono::seconds(60));

  // Prints a line per change, from the state now on, until Ctrl-C or a refusal; the exit code.
  int run();

 private:
  void show(const Object& workload);
  void show_gone(const Key& workload);
  // Prints the rows that changed: one workload may move many others.
  void print_changed();
  [[nodiscard]] bool shows_table() const;

  const QueueOptions& options_;
  Terminal out_;
  std::map<Key, Object> workloads_{};
  std::map<Key, std::vector<std::string>> printed_{};  // as they stand in the list
  bool changed_ = false;
  LiveList list_;
};

}  // namespace athanor::cli
