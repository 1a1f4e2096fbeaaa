// SPDX-License-Identifier: Apache-2.0
// JobWatch: athanor jobs -w. Rows of jobs, and the live list, which outlives a restart of the API
// server.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "cli/interrupt.hpp"
#include "cli/reconnection.hpp"
#include "cli/session.hpp"
#include "cli/terminal.hpp"

namespace athanor::cli {

std::vector<std::string> job_header(bool with_namespace);
// `wide`: the job's message as it is, not in short.
std::vector<std::string> job_row(const Object& job, bool with_namespace, bool wide);
std::string age_of(const Object& object);

struct WatchPatience {
  Duration away = std::chrono::seconds(60);   // with an API server that does not answer
  Duration unseen = std::chrono::seconds(5);  // with a job without a phase
};

class JobWatch {
 public:
  // An empty `ns`: every namespace.
  JobWatch(Session& session, std::string ns, const JobsOptions& options,
           WatchPatience patience = {});

  // Prints a line per change, from the state now on, until Ctrl-C or a refusal; the exit code.
  int run();

 private:
  void connect(Instant now);
  void open();
  void refused(const Error& error, Instant now);
  void on_line(std::string_view line);
  void show(const Object& job);
  void show_gone(const Object& job);
  void report_unseen(Instant now);
  [[nodiscard]] std::string path() const;
  [[nodiscard]] bool shows_table() const;

  Session& session_;
  std::string ns_;
  const JobsOptions& options_;
  WatchPatience patience_;
  Terminal out_;
  Interrupt interrupt_{};
  Reconnection reconnection_;
  std::string version_{};  // empty: the list is read first
  std::optional<Error> error_{};
  std::map<std::string, std::string> shown_{};  // by key: the version that was printed
  std::map<std::string, Object> unseen_{};      // by key: without a phase, not yet reported
  bool open_ = false;
  std::shared_ptr<void> stream_{};
};

}  // namespace athanor::cli
