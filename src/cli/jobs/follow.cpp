// SPDX-License-Identifier: Apache-2.0
// Following one job until it is over.
#include "cli/jobs/follow.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "base/clock.hpp"
#include "cli/jobs/queue_view.hpp"
#include "cli/verbs.hpp"
#include "kube/text/json.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::cli {
namespace {

constexpr Duration kPoll = std::chrono::milliseconds(500);

bool terminal_phase(std::string_view phase) {
  return phase == "Succeeded" || phase == "Failed" || phase == "Stopped";
}

// Whether the container has output to read: it runs, or it ran.
bool has_started(const Object& pod, const std::string& container) {
  for (const Value& status : pod.status()["containerStatuses"].items()) {
    if (status["name"].as_string() == container) {
      return status["state"].contains("running") || status["state"].contains("terminated");
    }
  }
  return false;
}

}  // namespace

Follower::Follower(Session& session, std::string ns, std::string name, FollowOptions options)
    : session_(session),
      ns_(std::move(ns)),
      name_(std::move(name)),
      options_(std::move(options)),
      out_(STDOUT_FILENO),
      started_(wall_clock()->now()) {}

void Follower::say(std::string_view text, Colour colour) {
  const std::string elapsed = format_age(wall_clock()->now() - started_);
  out_.print(fmt::format("{} {}\n", out_.paint(fmt::format("{:>5}", elapsed), Colour::Grey),
                         out_.paint(text, colour)));
}

Result<std::string> Follower::run() {
  watch_job();
  watch_pods();
  while (!error_ && !gone_ && !finished()) {
    session_.connection().run(kPoll);
    if (!job_stream_open_ && !error_ && !gone_) {
      watch_job();  // a watch may end at any time: take it up again
    }
    if (!pod_stream_open_ && !error_ && !gone_) {
      watch_pods();
    }
    if (over() && pods_listed_ && !looked_once_more_ && !error_ && !gone_) {
      look_once_more();
    }
    if (options_.progress && phase_ == "Pending") {
      report_queue();
    }
  }
  if (error_) {
    return *error_;
  }
  if (gone_) {
    return Error::not_found(fmt::format("fournosjob \"{}\" was deleted", name_));
  }
  return phase_;
}

bool Follower::over() const {
  return terminal_phase(phase_) || (!options_.follow_logs && !phase_.empty());
}

bool Follower::finished() const {
  return over() && looked_once_more_ &&
         std::ranges::none_of(log_open_, [](const auto& log) { return log.second; });
}

void Follower::watch_job() {
  job_stream_open_ = true;
  job_stream_ = session_.connection().stream(
      Session::path(api::kFournosJob, ns_) +
          fmt::format("?watch=true&fieldSelector={}&resourceVersion={}",
                      client::escape("metadata.name=" + name_), options_.since),
      {.line =
           [this](std::string_view line) {
             const auto event = json::parse(line);
             if (!event.ok()) {
               return;
             }
             const std::string_view type = (*event)["type"].as_string();
             gone_ = type == "DELETED";
             // A watch taken up again goes on where this one ended, unless that is too long ago.
             options_.since = (*event)["object"]["metadata"]["resourceVersion"].str();
             if (type == "ADDED" || type == "MODIFIED") {
               on_job(Object((*event)["object"]));
             }
           },
       .ended =
           [this](const Result<void>& outcome) {
             job_stream_open_ = false;
             if (!outcome.ok()) {
               error_ = outcome.error();
             }
           }});
}

void Follower::watch_pods() {
  pod_stream_open_ = true;
  pod_stream_ = session_.connection().stream(
      Session::path(api::kPod, ns_) +
          "?watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch="
          "NotOlderThan&labelSelector=" +
          client::escape(fmt::format("{}={}", kJobNameLabel, name_)),
      {.line =
           [this](std::string_view line) {
             const auto event = json::parse(line);
             if (!event.ok()) {
               return;
             }
             const std::string_view type = (*event)["type"].as_string();
             if (type == "BOOKMARK") {
               pods_listed_ = true;  // the end of the initial events
             } else if (type == "ADDED" || type == "MODIFIED") {
               on_pod(Object((*event)["object"]));
             }
           },
       .ended =
           [this](const Result<void>& outcome) {
             pod_stream_open_ = false;
             if (!outcome.ok()) {
               error_ = outcome.error();
             }
           }});
}

void Follower::on_job(const Object& job) {
  const std::string phase = job.status()["phase"].str();
  const std::string message = job.status()["message"].str();
  url_ = job.status()["dashboardURL"].str();
  if (options_.progress && (phase != phase_ || message != message_) && !phase.empty()) {
    const std::string cluster = job.status()["cluster"].str();
    say(fmt::format("{}{}: {}", phase,
                    phase != phase_ && !cluster.empty() ? fmt::format(" ({})", cluster) : "",
                    message),
        phase_colour(phase));
  }
  phase_ = phase;
  message_ = message;
}

void Follower::on_pod(const Object& pod) {
  const std::string task(pod.label(kPipelineTaskLabel));
  if (!options_.task.empty() && task != options_.task) {
    return;
  }
  for (const Value& container : pod.spec()["containers"].items()) {
    const std::string name = container["name"].str();
    if (has_started(pod, name) && !log_open_.contains(fmt::format("{}/{}", pod.name(), name))) {
      open_log(pod, name);
    }
  }
}

void Follower::open_log(const Object& pod, const std::string& container) {
  const std::string id = fmt::format("{}/{}", pod.name(), container);
  const std::string task(pod.label(kPipelineTaskLabel));
  const std::string step = container.rfind("step-", 0) == 0 ? container.substr(5) : container;
  const std::string prefix = out_.paint(
      fmt::format("[{}/{}]", task.empty() ? std::string(pod.name()) : task, step), Colour::Blue);
  log_open_[id] = true;
  logs_[id] = session_.connection().stream(
      Session::path(api::kPod, ns_, std::string(pod.name())) +
          fmt::format("/log?container={}{}", client::escape(container),
                      options_.follow_logs ? "&follow=true" : ""),
      {.line =
           [this, prefix](std::string_view line) {
             out_.print(fmt::format("      {} {}\n", prefix, line));
           },
       .ended =
           [this, id](const Result<void>& outcome) {
             log_open_[id] = false;
             if (!outcome.ok()) {
               say(fmt::format("no log of {}: {}", id, outcome.error().message), Colour::Yellow);
             }
           }});
}

// The job's stream and the pods' are two: the job's end may come before word of its last pods.
void Follower::look_once_more() {
  const auto pods = session_.list(api::kPod, ns_, fmt::format("{}={}", kJobNameLabel, name_));
  if (!pods.ok()) {
    error_ = pods.error();
    return;
  }
  for (const Object& pod : *pods) {
    on_pod(pod);
  }
  looked_once_more_ = true;
}

void Follower::report_queue() {
  const auto workloads = session_.list(api::kueue::kWorkload, ns_);
  if (!workloads.ok()) {
    return;  // the phase lines go on without it
  }
  const std::vector<QueueEntry> entries = queue_entries(*workloads);
  const auto position = queue_position(entries, ns_, name_);
  if (position && position != position_) {
    const auto waiting =
        std::ranges::count_if(entries, [](const QueueEntry& e) { return !e.admitted; });
    say(fmt::format("in the queue: place {} of {}", *position, waiting), Colour::Yellow);
    position_ = position;
  }
}

int follow_job(Session& session, const Object& created) {
  const std::string ns(created.ns());
  const std::string name(created.name());
  // From its creation on: a quick job must not have passed its first phases unseen.
  Follower follower(session, ns, name, {.since = std::string(created.resource_version())});
  const auto phase = follower.run();
  if (!phase.ok()) {
    return fail(phase.error());
  }
  const Terminal out(STDOUT_FILENO);
  if (const auto summary = job_summary(session, ns, name); summary.ok()) {
    out.print("\n" + *summary);
  }
  return *phase == "Succeeded" ? 0 : 1;
}

int run(const LogsOptions& options) {
  auto session = Session::open(options.target);
  if (!session.ok()) {
    return fail(session.error());
  }
  // A job that does not exist would leave the watches silent.
  if (const auto job = session->get(api::kFournosJob, session->ns(), options.name); !job.ok()) {
    return fail(job.error());
  }
  Follower follower(*session, session->ns(), options.name,
                    {.progress = false, .follow_logs = options.follow, .task = options.task});
  const auto phase = follower.run();
  return phase.ok() ? 0 : fail(phase.error());
}

}  // namespace athanor::cli
