// SPDX-License-Identifier: Apache-2.0
// Following one job until it is over.
#include "cli/jobs/follow.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "base/clock.hpp"
#include "base/interrupt.hpp"
#include "cli/jobs/queue_watch.hpp"
#include "cli/session/unreconciled.hpp"
#include "cli/session/verbs.hpp"
#include "kube/text/json.hpp"
#include "views/job_labels.hpp"
#include "views/reasons.hpp"

namespace athanor::cli {
namespace {

constexpr Duration kPoll = std::chrono::milliseconds(250);
constexpr Duration kReopen = std::chrono::milliseconds(500);
constexpr int kNotFound = 404;
constexpr int kMostFailures = 3;  // of one log

Instant time_now() {
  return wall_clock()->now();
}

}  // namespace

Follower::Follower(Session& session, std::string ns, std::string name, FollowOptions options)
    : Follower(session, source_of_job(std::move(ns), std::move(name)), std::move(options)) {}

Follower::Follower(Session& session, LogSource source, FollowOptions options)
    : session_(session),
      source_(std::move(source)),
      options_(std::move(options)),
      out_(STDOUT_FILENO),
      reconnection_(source_.noun(), options_.patience),
      started_(time_now()),
      job_stale_(options_.since.empty()) {}

void Follower::say(std::string_view text, Colour colour) {
  const std::string elapsed = format_age(time_now() - started_);
  out_.print(fmt::format("{} {}\n", out_.paint(fmt::format("{:>5}", elapsed), Colour::Grey),
                         out_.paint(text, colour)));
}

Result<Followed> Follower::run() {
  Follower* const alone[] = {this};
  return std::move(follow_together(session_, alone).front());
}

void Follower::begin_pass(Instant now) {
  if (reconnection_.lost(now)) {
    left_ = Followed::End::Unknown;
  } else if (reconnection_.due(now)) {
    connect(now);
  }
}

void Follower::end_pass(Instant now) {
  open_logs(now);
  report_unseen(now);
  if (over() && pods_listed_ && !looked_once_more_ && !error_ && !gone_ && reconnection_.due(now)) {
    read_final_state(now);
  }
  if (options_.progress && phase_ == "Pending" && !reconnection_.away()) {
    report_queue();
  }
}

bool Follower::ended() const {
  return error_ || gone_ || left_ || finished();
}

Result<Followed> Follower::outcome() const {
  if (error_) {
    return *error_;
  }
  Followed followed{.end = gone_ ? Followed::End::Deleted : left_.value_or(Followed::End::Over),
                    .phase = phase_,
                    .message = message_,
                    .logs = logs_.size()};
  for (const auto& [id, log] : logs_) {
    followed.lines += log.progress.printed();
  }
  return followed;
}

std::vector<Result<Followed>> follow_together(Session& session,
                                              std::span<Follower* const> followers) {
  const Interrupt interrupt;
  std::vector<Follower*> left(followers.begin(), followers.end());
  const auto forget_ended = [&left] {
    std::erase_if(left, [](const Follower* one) { return one->ended(); });
  };
  for (forget_ended(); !left.empty(); forget_ended()) {
    const Instant now = time_now();
    for (Follower* one : left) {
      if (interrupt.came()) {
        one->interrupt();
      } else {
        one->begin_pass(now);
      }
    }
    if (interrupt.came()) {
      continue;
    }
    session.connection().run(kPoll);
    for (Follower* one : left) {
      one->end_pass(now);
    }
  }
  std::vector<Result<Followed>> outcomes;
  outcomes.reserve(followers.size());
  for (const Follower* one : followers) {
    outcomes.push_back(one->outcome());
  }
  return outcomes;
}

bool Follower::over() const {
  return is_end_phase(phase_) || (!options_.follow_logs && !job_stale_);
}

bool Follower::finished() const {
  return over() && looked_once_more_ && std::ranges::all_of(logs_, [](const auto& entry) {
           return entry.second.state == Log::State::Printed;
         });
}

// A watch may end at any time: it is taken up again.
void Follower::connect(Instant now) {
  if (!job_open_) {
    sync_job(now);
  }
  if (!pods_open_ && !job_stale_ && !error_ && !gone_) {
    sync_pods(now);
  }
}

void Follower::refused(const Error& error, Instant now) {
  if (reconnection_.is_final(error, now)) {
    error_ = error;
  }
}

// Where the watch cannot go on from the version that it knows, the job is read.
void Follower::sync_job(Instant now) {
  if (job_stale_) {
    const auto job = session_.get(*source_.kind, source_.ns, source_.name);
    if (!job.ok()) {
      gone_ = job.error().code == kNotFound;
      if (!gone_) {
        refused(job.error(), now);
      }
      return;
    }
    reconnection_.answered();
    if (!uid_.empty() && job->uid() != uid_) {
      gone_ = true;  // another job of the name
      return;
    }
    job_stale_ = false;
    options_.since = std::string(job->resource_version());
    for (auto& [id, log] : logs_) {
      if (log.cut) {  // perhaps by the server's end, not by the container's
        log.cut = false;
        log.state = Log::State::Waiting;
        log.progress.resume();
      }
    }
    on_job(*job);
  }
  watch_job();
}

void Follower::watch_job() {
  job_open_ = true;
  job_stream_ = session_.connection().stream(
      Session::path(*source_.kind, source_.ns) +
          fmt::format("?watch=true&fieldSelector={}&resourceVersion={}",
                      client::escape("metadata.name=" + source_.name), options_.since),
      {.line =
           [this](std::string_view line) {
             const auto event = json::parse(line);
             if (!event.ok()) {
               return;
             }
             const std::string_view type = (*event)["type"].as_string();
             const Object object((*event)["object"]);
             if (type == "ERROR") {
               job_stale_ = true;
               return;
             }
             reconnection_.answered();
             // A watch taken up again goes on where this one ended.
             options_.since = std::string(object.resource_version());
             gone_ = type == "DELETED";
             if (type == "ADDED" || type == "MODIFIED") {
               on_job(object);
             }
           },
       .ended =
           [this](const Result<void>& outcome) {
             job_open_ = false;
             if (!outcome.ok()) {
               job_stale_ = true;
               refused(outcome.error(), time_now());
             }
           }});
}

void Follower::sync_pods(Instant now) {
  const auto list = session_.connection().call(
      {.path = fmt::format("{}?{}", Session::path(api::kPod, source_.ns), source_.pods_query())});
  if (!list.ok()) {
    return refused(list.error(), now);
  }
  pods_version_ = (*list)["metadata"]["resourceVersion"].str();
  for (const Value& pod : (*list)["items"].items()) {
    on_pod(Object(pod));
  }
  pods_listed_ = true;
  watch_pods();
}

void Follower::watch_pods() {
  pods_open_ = true;
  pod_stream_ = session_.connection().stream(
      fmt::format("{}?watch=true&resourceVersion={}&{}", Session::path(api::kPod, source_.ns),
                  pods_version_, source_.pods_query()),
      {.line =
           [this](std::string_view line) {
             const auto event = json::parse(line);
             if (!event.ok()) {
               return;
             }
             const std::string_view type = (*event)["type"].as_string();
             if (type == "ADDED" || type == "MODIFIED") {
               on_pod(Object((*event)["object"]));
             }
           },
       .ended =
           [this](const Result<void>& outcome) {
             pods_open_ = false;
             if (!outcome.ok()) {
               refused(outcome.error(), time_now());
             }
           }});
}

void Follower::on_job(const Object& job) {
  uid_ = std::string(job.uid());
  const std::string phase = phase_of_source(*source_.kind, job);
  const std::string message = job.status()["message"].str();
  if (options_.progress && (phase != phase_ || message != message_) && !phase.empty()) {
    const std::string cluster = job.status()["cluster"].str();
    const std::string place =
        phase != phase_ && !cluster.empty() ? fmt::format(" ({})", cluster) : "";
    say(views::state_text(phase + place, views::clear_reason(message)), phase_colour(phase));
  }
  phase_ = phase;
  message_ = message;
}

void Follower::on_pod(const Object& pod) {
  for (StartedContainer& container : chosen_containers(pod, options_.logs)) {
    Log& log = logs_[fmt::format("{}/{}", pod.name(), container.name)];
    log.pod = std::string(pod.name());
    log.task = static_cast<std::size_t>(
        std::ranges::find(options_.tasks, pod.label(views::kPipelineTaskLabel)) -
        options_.tasks.begin());
    const std::string prefix = log_prefix(pod, container.name, options_.logs.prefix);
    log.prefix = prefix.empty() ? "" : out_.paint(prefix, Colour::Blue) + " ";
    log.container = std::move(container);
  }
}

// In the order in which they ran: what has ended is printed to its end before what came after it.
void Follower::open_logs(Instant now) {
  if (!pods_listed_ || reconnection_.away()) {
    return;
  }
  std::vector<Log*> ordered;
  ordered.reserve(logs_.size());
  for (auto& [id, log] : logs_) {
    ordered.push_back(&log);
  }
  std::ranges::sort(ordered, [](const Log* a, const Log* b) {
    return std::tie(a->container.started, a->task, a->pod, a->container.place) <
           std::tie(b->container.started, b->task, b->pod, b->container.place);
  });
  for (Log* log : ordered) {
    if (log->state == Log::State::Waiting && now >= log->not_before) {
      open_log(*log);
    }
    if (log->state != Log::State::Printed && (log->container.terminated || !options_.follow_logs)) {
      return;
    }
  }
}

void Follower::open_log(Log& log) {
  log.state = Log::State::Open;
  const bool follow = options_.follow_logs && !options_.logs.previous;
  log.stream = session_.connection().stream(
      Session::path(api::kPod, source_.ns, log.pod) +
          "/log?container=" + client::escape(log.container.name) + (follow ? "&follow=true" : "") +
          log.progress.query(options_.logs),
      {.line =
           [this, &log](std::string_view line) {
             if (const auto shown = log.progress.take(options_.logs, line)) {
               out_.print(
                   fmt::format("{}{}{}\n", options_.progress ? "      " : "", log.prefix, *shown));
             }
           },
       .ended =
           [this, &log](const Result<void>& outcome) {
             log.state = Log::State::Printed;
             log.cut = !log.container.terminated && !options_.logs.previous;
             if (outcome.ok()) {
               return;
             }
             // Where there is no log at all, as of emulated pods, asking again does not help.
             log.failures += reconnection_.away() ? 0 : 1;
             if (is_passing(outcome.error()) && log.failures < kMostFailures) {
               log.state = Log::State::Waiting;
               log.progress.resume();
               log.not_before = time_now() + kReopen;
               return;
             }
             Terminal(STDERR_FILENO)
                 .print(fmt::format("athanor: no log of {}/{}: {}\n", log.pod, log.container.name,
                                    outcome.error().message));
           }});
}

// The job's stream and the pods' are two: the job's end may come before word of its last pods.
void Follower::read_final_state(Instant now) {
  const auto pods = source_.pods(session_);
  if (!pods.ok()) {
    return refused(pods.error(), now);
  }
  for (const Object& pod : *pods) {
    on_pod(pod);
  }
  looked_once_more_ = true;
}

void Follower::report_queue() {
  const auto workloads = session_.list(api::kueue::kWorkload, source_.ns);
  if (!workloads.ok()) {
    return;  // the phase lines go on without it
  }
  if (!queues_) {
    queues_ = read_queues(session_);
  }
  const auto position =
      views::queue_position(views::queue_entries(*workloads, *queues_), source_.ns, source_.name);
  if (position && position->place != position_) {
    say(fmt::format("in the queue: place {} of {}", position->place, position->of), Colour::Yellow);
    position_ = position->place;
  }
}

void Follower::report_unseen(Instant now) {
  if (unseen_reported_ || !source_.is_job() || job_stale_ || reconnection_.away() ||
      !phase_.empty() || now - started_ < options_.unseen) {
    return;
  }
  unseen_reported_ = true;
  Terminal(STDERR_FILENO)
      .print(fmt::format("athanor: {}\n",
                         unseen_text(session_, source_.ns, source_.name, options_.unseen)));
}

int explain_end(const Followed& followed, const LogSource& source) {
  const Terminal err(STDERR_FILENO);
  const std::string what = source.is_job() ? source.name : source.text();
  const std::string again = fmt::format("athanor logs -f {} -n {}", what, source.ns);
  switch (followed.end) {
    case Followed::End::Over:
      return 0;
    case Followed::End::Deleted:
      err.print(fmt::format("athanor: {} \"{}\" was deleted\n", source.kind_word(), source.name));
      return 1;
    case Followed::End::Unknown:
      err.print(fmt::format(
          "athanor: the outcome of {} is unknown: the API server is away; {} goes on. Follow it "
          "again: {}\n",
          what, source.noun(), again));
      return kOutcomeUnknown;
    case Followed::End::Interrupted:
      err.print(fmt::format("\n{} goes on. Follow it again: {}\n", what, again));
      if (source.is_job()) {
        err.print(fmt::format("Stop it: athanor cancel {} -n {}\n", what, source.ns));
      }
      return kInterrupted;
  }
  return 1;
}

int follow_job(Session& session, const Object& created) {
  const std::string ns(created.ns());
  const std::string name(created.name());
  // From its creation on: a quick job must not have passed its first phases unseen.
  Follower follower(session, ns, name, {.since = std::string(created.resource_version())});
  const auto followed = follower.run();
  if (!followed.ok()) {
    return fail(followed.error());
  }
  if (followed->end != Followed::End::Over) {
    return explain_end(*followed, source_of_job(ns, name));
  }
  const Terminal out(STDOUT_FILENO);
  if (const auto summary = job_summary(session, ns, name, out.columns()); summary.ok()) {
    out.print("\n" + *summary);
  }
  return followed->phase == "Succeeded" ? 0 : 1;
}

}  // namespace athanor::cli
