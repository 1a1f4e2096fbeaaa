// SPDX-License-Identifier: Apache-2.0
// Follower: watches one job, its Workload and its pods, and prints what a person wants to see of
// them. It outlives a restart of the API server.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "cli/jobs/log_lines.hpp"
#include "cli/jobs/log_source.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/reconnection.hpp"
#include "cli/session/session.hpp"
#include "views/queue_view.hpp"

namespace athanor::cli {

// What a Follower prints, and how long it waits.
struct FollowOptions {
  bool progress = true;     // phases and queue position, not the log lines alone
  bool follow_logs = true;  // stay until the job is over; else print what there is, and end
  LogChoice logs{};         // which logs, and how much of them
  std::vector<std::string> tasks{};  // in the order of their logs, where they start in one second
  std::string since{};  // changes of the job after this version; empty: from its state now
  Duration patience = std::chrono::seconds(60);  // with an API server that is away
  Duration unseen = std::chrono::seconds(5);     // without a phase, until a cause is named
};

// How following a job ended.
struct Followed {
  enum class End : std::uint8_t { Over, Deleted, Unknown, Interrupted };
  End end = End::Over;
  std::string phase{};
  std::string message{};
  std::size_t logs = 0;   // of containers that were printed
  std::size_t lines = 0;  // of these logs
};

// Follows one job, or another workload. Not thread-safe; the session outlives it.
class Follower {
 public:
  Follower(Session& session, std::string ns, std::string name, FollowOptions options);
  Follower(Session& session, LogSource source, FollowOptions options);

  // Runs until the job is in a terminal phase and its logs are printed, the job is gone, the API
  // server is away for too long, or Ctrl-C. Errors are refusals.
  Result<Followed> run();

  // Begins a pass: some time for the connection and end_pass() follow, until it has ended.
  void begin_pass(Instant now);
  void end_pass(Instant now);
  void interrupt() { left_ = Followed::End::Interrupted; }
  [[nodiscard]] bool ended() const;
  // Returns what run() returns; called once it has ended.
  [[nodiscard]] Result<Followed> outcome() const;

 private:
  // What a container has written, and how much of it was printed.
  struct Log {
    StartedContainer container{};
    std::string pod{};
    std::string prefix{};
    std::size_t task = 0;  // its place among the tasks
    enum class State : std::uint8_t { Waiting, Open, Printed } state = State::Waiting;
    bool cut = false;  // ended while its container ran
    LogProgress progress{};
    Instant not_before{};  // when it is opened again
    int failures = 0;      // while the API server answered otherwise
    std::shared_ptr<void> stream{};
  };

  void connect(Instant now);
  void sync_job(Instant now);
  void watch_job();
  void sync_pods(Instant now);
  void watch_pods();
  void refused(const Error& error, Instant now);
  void on_job(const Object& job);
  void on_pod(const Object& pod);
  void open_logs(Instant now);
  void open_log(Log& log);
  void read_final_state(Instant now);
  void report_queue();
  void report_unseen(Instant now);
  void say(std::string_view text, Colour colour);
  [[nodiscard]] bool over() const;
  [[nodiscard]] bool finished() const;

  Session& session_;
  LogSource source_;
  FollowOptions options_;
  Terminal out_;
  Reconnection reconnection_;
  Instant started_;
  std::string uid_{};
  std::string phase_{};
  std::string message_{};
  std::optional<views::Queues> queues_{};  // as they were at the first question
  std::optional<std::size_t> position_{};
  std::optional<Error> error_{};
  std::optional<Followed::End> left_{};  // before the job's end
  std::string pods_version_{};
  bool gone_ = false;
  bool job_stale_ = false;
  bool pods_listed_ = false;
  bool looked_once_more_ = false;
  bool unseen_reported_ = false;
  // Streams end before what their handlers use: declared last, destroyed first.
  std::map<std::string, Log> logs_{};
  std::shared_ptr<void> job_stream_{};
  std::shared_ptr<void> pod_stream_{};
  bool job_open_ = false;
  bool pods_open_ = false;
};

// Runs these followers of one session side by side until each has ended; returns their outcomes in
// their order.
std::vector<Result<Followed>> follow_together(Session& session,
                                              std::span<Follower* const> followers);

// Reports on stderr why following a workload ended before the workload did; returns the exit code.
int explain_end(const Followed& followed, const LogSource& source);

}  // namespace athanor::cli
