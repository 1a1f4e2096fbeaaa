// SPDX-License-Identifier: Apache-2.0
// Follower: watches one job, its Workload and its pods, and prints what a person wants to see of
// them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.hpp"
#include "cli/session.hpp"
#include "cli/terminal.hpp"

namespace athanor::cli {

struct FollowOptions {
  bool progress = true;     // phases and queue position, not the log lines alone
  bool follow_logs = true;  // stay until the job is over
  std::string task{};       // this pipeline task alone
  std::string since{};      // changes of the job after this version; empty: from its state now
};

class Follower {
 public:
  Follower(Session& session, std::string ns, std::string name, FollowOptions options);

  // Until the job is in a terminal phase and its logs are printed, or the job is gone. Returns the
  // last phase.
  Result<std::string> run();

 private:
  void watch_job();
  void watch_pods();
  void on_job(const Object& job);
  void on_pod(const Object& pod);
  void open_log(const Object& pod, const std::string& container);
  void look_once_more();
  void report_queue();
  void say(std::string_view text, Colour colour);
  [[nodiscard]] bool over() const;
  [[nodiscard]] bool finished() const;

  Session& session_;
  std::string ns_;
  std::string name_;
  FollowOptions options_;
  Terminal out_;
  Instant started_;
  std::string phase_{};
  std::string message_{};
  std::optional<std::size_t> position_{};
  std::optional<Error> error_{};
  bool gone_ = false;
  bool pods_listed_ = false;
  bool looked_once_more_ = false;
  std::string url_{};
  // Streams end before the session they belong to: declared last, destroyed first.
  std::map<std::string, bool> log_open_{};
  std::map<std::string, std::shared_ptr<void>> logs_{};
  std::shared_ptr<void> job_stream_{};
  std::shared_ptr<void> pod_stream_{};
  bool job_stream_open_ = false;
  bool pod_stream_open_ = false;
};

}  // namespace athanor::cli
