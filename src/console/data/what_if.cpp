// SPDX-License-Identifier: Apache-2.0
#include "console/data/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "api/kueue.hpp"
#include "base/ascii.hpp"
#include "base/saturate.hpp"
#include "console/data/job_rows.hpp"
#include "console/data/row_texts.hpp"
#include "kube/text/quantity.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"
#include "views/fleet_file.hpp"
#include "views/job_view.hpp"
#include "views/texts.hpp"

namespace athanor::console {
namespace {

constexpr std::size_t kMostJobs = 2000;               // of one question: its time and memory
constexpr std::int64_t kMostDays = 90;                // of the history
constexpr std::int64_t kMostGpus = 10'000;            // of one question
constexpr std::size_t kLeastRuns = 5;                 // of a kind, before their median is taken
constexpr std::size_t kMostShown = 500;               // live jobs in the answer
constexpr std::size_t kMostReasons = 10;              // why jobs are left out
constexpr auto kLeastRest = std::chrono::minutes(1);  // of a job that has run longer than expected
constexpr auto kDefaultRun = std::chrono::hours(1);

// Times that runs took, by project and pipeline.
class RunTimes {
 public:
  void add(const Object& job, Duration lasted) {
    const double seconds = std::chrono::duration<double>(lasted).count();
    by_kind_[kind_of(job)].push_back(seconds);
    all_.push_back(seconds);
  }
  // Returns the median of the job's kind, else of all runs, else an hour; counts which.
  Duration expected(const Object& job) {
    const auto found = by_kind_.find(kind_of(job));
    const bool known = found != by_kind_.end() && found->second.size() >= kLeastRuns;
    (known ? of_kind : others) += 1;
    const auto median = quantile(known ? found->second : all_, 0.5);
    return median ? std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*median))
                  : Duration(kDefaultRun);
  }
  [[nodiscard]] bool empty() const { return all_.empty(); }

  std::size_t of_kind = 0;
  std::size_t others = 0;

 private:
  static std::pair<std::string, std::string> kind_of(const Object& job) {
    return {forge_of(job)["project"].str(), job.spec()["pipeline"].str()};
  }
  std::map<std::pair<std::string, std::string>, std::vector<double>> by_kind_{};
  std::vector<double> all_{};
};

bool is_lock(const Object& job) {
  return job.spec()["lockOnly"].as_bool() || job.spec().contains("lockUntil");
}

bool holds_cluster(const Object& job) {
  const std::string_view phase = job.status()["phase"].as_string();
  return phase == "Admitted" || phase == "Running" || phase == "Stopping";
}

// Jobs that ended, each once: of the API server, and of the history beyond them.
std::vector<Object> ended_jobs(const WhatIfState& state, Instant from) {
  std::vector<Object> jobs;
  std::set<std::string, std::less<>> seen;
  const auto add = [&](const Object& job) {
    const auto created = job.creation_time();
    if (job.ns() == state.ns && views::is_over(job) && created && *created >= from &&
        seen.emplace(job.uid()).second) {
      jobs.push_back(job);
    }
  };
  std::ranges::for_each(state.facts.all(api::kFournosJob), add);
  std::ranges::for_each(state.ended, add);
  std::ranges::stable_sort(jobs, std::greater(),
                           [](const Object& job) { return *job.creation_time(); });
  return jobs;
}

// Collects the rows of one call.
class CallMaker {
 public:
  CallMaker(const WhatIfQuestion& question, const WhatIfState& state)
      : question_(question), state_(state) {}

  Result<WhatIfCall> make() {
    Value fleet =
        views::fleet_of({.ns = state_.ns,
                         .cluster_queues = state_.facts.all(api::kueue::kClusterQueue),
                         .local_queues = state_.facts.all(api::kueue::kLocalQueue),
                         .priorities = state_.facts.all(api::kueue::kWorkloadPriorityClass)});
    if (fleet["clusters"].empty()) {
      return Error::bad_request(
          fmt::format("no queue of namespace {} has quota of a cluster", state_.ns));
    }
    asked_.call.sides = {{.name = "as it is", .fleet = fleet}, {.fleet = fleet}};
    add_history();
    add_live();
    ATHANOR_TRY_VOID(change());
    asked_.call.sides[1].name = "with the change";
    asked_.call.jobs.insert(asked_.call.jobs.end(), again_.begin(), again_.end());
    if (asked_.call.jobs.empty() && asked_.call.sides[0].jobs.empty() && changed().jobs.empty()) {
      return Error::bad_request(fmt::format(
          "no job of namespace {} runs, waits or ended in these {} days: there is nothing to play",
          state_.ns, question_.days));
    }
    add_assumptions();
    return std::move(asked_);
  }

 private:
  SimulatedSide& changed() { return asked_.call.sides[1]; }

  // The jobs of the last days once more, as many of the newest as a question may have.
  void add_history() {
    const Instant from = state_.now - std::chrono::days(question_.days);
    std::vector<views::TraceRow> rows;
    Instant first = from;
    for (const Object& job : ended_jobs(state_, from)) {
      auto row = is_lock(job) ? std::nullopt : views::trace_row(job);
      if (!row) {
        ++asked_.left_out;
        continue;
      }
      if (rows.size() >= kMostJobs) {
        first = rows.back().submit;
        break;
      }
      times_.add(job, row->duration);
      rows.push_back(*std::move(row));
    }
    const Duration span = state_.now - first;
    asked_.ended = rows.size();
    asked_.days = std::chrono::duration<double>(span).count() / 86400;
    for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
      row->submit += span;
      again_.push_back(std::move(*row));
    }
  }

  // Adds the live jobs and locks: first those that hold a cluster; waiting ones a second later.
  void add_live() {
    std::vector<const Object*> jobs;
    for (const Object& job : state_.facts.all(api::kFournosJob)) {
      if (job.ns() == state_.ns && !views::is_over(job)) {
        jobs.push_back(&job);
      }
    }
    std::ranges::stable_sort(jobs, {}, [](const Object* job) {
      return std::pair(!holds_cluster(*job), job->creation_time().value_or(Instant()));
    });
    for (const Object* job : jobs) {
      auto row = asked_.call.jobs.size() < kMostJobs ? views::requested_row(*job) : std::nullopt;
      if (!row) {
        ++asked_.left_out;
        continue;
      }
      row->submit = state_.now;
      if (holds_cluster(*job)) {
        row->cluster =
            job->status()["cluster"].str().empty() ? row->cluster : job->status()["cluster"].str();
      } else {
        const auto planned = parse_time(job->spec()["scheduledStartTime"].as_string());
        if (planned && *planned > state_.now + std::chrono::days(question_.days)) {
          ++asked_.left_out;  // behind the time that is played
          continue;
        }
        row->submit = std::max(planned.value_or(Instant()), state_.now + std::chrono::seconds(1));
      }
      if (is_lock(*job)) {
        add_lock(*job, *std::move(row));
      } else {
        add_job(*job, *std::move(row));
      }
    }
  }

  void add_lock(const Object& job, views::TraceRow row) {
    ++asked_.locks;
    row.exclusive = true;
    row.owner = "lock of " + row.owner;
    const Duration most = std::chrono::days(question_.days);
    auto end = parse_time(job.spec()["lockUntil"].as_string());
    for (const Object& cluster : state_.facts.all(api::kFournosCluster)) {
      if (!end && cluster.name() == row.cluster) {
        end = parse_time(cluster.status()["lockExpiresAt"].as_string());
      }
    }
    row.duration = end ? std::clamp<Duration>(*end - state_.now, kLeastRest, most) : most;
    if (!end) {
      asked_.assumptions.push_back(fmt::format("the lock of {} has no end: it lasts all {} days",
                                               row.cluster, question_.days));
    }
    if (question_.change == FleetChange::Unlock && row.cluster == question_.cluster) {
      asked_.call.sides[0].jobs.push_back(std::move(row));
    } else {
      asked_.call.jobs.push_back(std::move(row));
    }
  }

  void add_job(const Object& job, views::TraceRow row) {
    const auto ran = holds_cluster(job) ? views::duration_of_job(job, state_.now) : std::nullopt;
    (holds_cluster(job) ? asked_.running : asked_.waiting) += 1;
    row.duration = std::max<Duration>(times_.expected(job) - ran.value_or(Duration{}), kLeastRest);
    if (!holds_cluster(job)) {
      asked_.live.push_back({.row = asked_.call.jobs.size(), .job = &job});
    }
    asked_.call.jobs.push_back(std::move(row));
  }

  // ---- changes
  Result<void> change() {
    if (!question_.cluster.empty()) {
      ATHANOR_TRY_VOID(check_cluster());
    }
    switch (question_.change) {
      case FleetChange::Node:
        return add_node();
      case FleetChange::Cluster:
        add_cluster();
        return {};
      case FleetChange::Gpus:
        add_gpus(question_.gpu_type, question_.gpus);
        asked_.text = fmt::format("{} has {} more GPUs of type {}", question_.cluster,
                                  question_.gpus, question_.gpu_type);
        return {};
      case FleetChange::Unlock:
        asked_.text = fmt::format("{} is not locked", question_.cluster);
        return asked_.call.sides[0].jobs.empty()
                   ? Result<void>(Error::bad_request(
                         fmt::format("cluster {} is not locked", question_.cluster)))
                   : Result<void>();
      case FleetChange::Job:
        add_new_job();
        return {};
    }
    return {};
  }

  // Adds to a quota of the cluster of the question.
  void add_gpus(const std::string& type, std::int64_t count) {
    Value clusters = Value::list();
    for (const Value& cluster : changed().fleet["clusters"].items()) {
      Value one = cluster;
      if (one["name"].as_string() == question_.cluster) {
        const std::string resource = std::string(views::kGpuPrefix) + type;
        const auto before = Quantity::parse(one["quota"][resource]);
        one.member("quota").set(
            resource, fmt::format("{}", saturating_add(before ? before->value() : 0, count)));
      }
      clusters.push_back(std::move(one));
    }
    changed().fleet.set("clusters", std::move(clusters));
  }

  // Checks that the queue has the cluster of the question.
  [[nodiscard]] Result<void> check_cluster() const {
    std::string known;
    for (const Value& cluster : asked_.call.sides[0].fleet["clusters"].items()) {
      if (cluster["name"].as_string() == question_.cluster) {
        return {};
      }
      known += (known.empty() ? "" : ", ") + cluster["name"].str();
    }
    return Error::bad_request(
        fmt::format("cluster \"{}\" is not in the queue; it has {}", question_.cluster, known));
  }

  Result<void> add_node() {
    std::string parts;
    for (const Object& cluster : state_.facts.all(api::kFournosCluster)) {
      if (cluster.name() != question_.cluster) {
        continue;
      }
      for (const Value& gpu : cluster.spec()["hardware"]["gpus"].items()) {
        const std::int64_t nodes = gpu["nodeCount"].as_int();
        const std::int64_t each = nodes > 0 ? gpu["count"].as_int() / nodes : 0;
        if (each > 0) {
          add_gpus(gpu["shortName"].str(), each);
          parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", each, gpu["shortName"].str());
        }
      }
    }
    if (parts.empty()) {
      return Error::bad_request(
          fmt::format("the nodes of cluster {} are not known; ask about GPUs", question_.cluster));
    }
    asked_.text = fmt::format("{} has one more node ({})", question_.cluster, parts);
    return {};
  }

  void add_cluster() {
    std::set<std::string, std::less<>> names;
    Value copy;
    for (const Value& cluster : changed().fleet["clusters"].items()) {
      names.insert(cluster["name"].str());
      if (cluster["name"].as_string() == question_.cluster) {
        copy = cluster;
      }
    }
    std::string name = question_.cluster + "-new";
    while (names.contains(name)) {
      name += "-new";
    }
    copy.set("name", name);
    changed().fleet.member("clusters").push_back(std::move(copy));
    asked_.text = fmt::format("there is one more cluster like {}", question_.cluster);
  }

  void add_new_job() {
    changed().jobs.push_back({.submit = state_.now + std::chrono::seconds(2),
                              .owner = "the new job",
                              .gpu_type = question_.gpus > 0 ? question_.gpu_type : "",
                              .gpus = question_.gpus,
                              .duration = question_.duration,
                              .priority = question_.priority,
                              .cluster = question_.cluster,
                              .exclusive = question_.exclusive});
    asked_.text = fmt::format(
        "a job with {}{} is submitted now",
        question_.gpus > 0 ? fmt::format("{} {}", question_.gpus, question_.gpu_type) : "no GPU",
        question_.cluster.empty() ? std::string() : " on " + question_.cluster);
  }

  void add_assumptions() {
    auto& texts = asked_.assumptions;
    if (asked_.ended > 0) {
      texts.push_back(fmt::format("the {} jobs of the last {:.1f} days come again, from now on",
                                  asked_.ended, asked_.days));
    }
    if (times_.of_kind > 0) {
      texts.push_back(fmt::format(
          "{} jobs that run or wait take as long as the median of their project and pipeline",
          times_.of_kind));
    }
    if (times_.others > 0) {
      texts.push_back(fmt::format(
          "{} jobs that run or wait take {}", times_.others,
          times_.empty() ? "an hour: no run has ended" : "as long as the median of all runs"));
    }
  }

  const WhatIfQuestion& question_;
  const WhatIfState& state_;
  WhatIfCall asked_{};
  RunTimes times_{};
  std::vector<views::TraceRow> again_{};
};

Value wait_value(const std::vector<std::optional<double>>& waits, std::size_t row) {
  return row < waits.size() && waits[row] ? Value(*waits[row]) : Value();
}

}  // namespace

WrongParameter read_question(const std::function<std::string(std::string_view)>& value,
                             WhatIfQuestion& question) {
  constexpr std::pair<std::string_view, FleetChange> kChanges[] = {
      {"node", FleetChange::Node},
      {"cluster", FleetChange::Cluster},
      {"gpus", FleetChange::Gpus},
      {"unlock", FleetChange::Unlock},
      {"job", FleetChange::Job}};
  const std::string change = value("change");
  const auto found =
      std::ranges::find(kChanges, change, &std::pair<std::string_view, FleetChange>::first);
  if (found == std::end(kChanges)) {
    return {"change", "change must be node, cluster, gpus, unlock or job"};
  }
  question.change = found->second;
  question.cluster = value("cluster");
  question.gpu_type = value("gpuType");
  question.priority = value("priority");
  const std::string exclusive = value("exclusive");
  question.exclusive = exclusive == "true";
  const std::string gpus = value("gpus");
  question.gpus = gpus.empty() ? 0 : whole_number(gpus).value_or(-1);
  const std::string days = value("days");
  question.days = days.empty() ? question.days : whole_number(days).value_or(-1);
  const bool is_job = question.change == FleetChange::Job;
  for (const std::string_view name : {"duration", "priority", "exclusive"}) {
    if (!is_job && !value(name).empty()) {
      return {name, fmt::format("{} is for change=job", name)};
    }
  }
  if (!is_job && question.change != FleetChange::Gpus &&
      (!gpus.empty() || !question.gpu_type.empty())) {
    return {"gpus", "GPUs are for change=gpus and change=job"};
  }
  if (!exclusive.empty() && exclusive != "true" && exclusive != "false") {
    return {"exclusive", "exclusive must be true or false"};
  }
  if (question.days < 1 || question.days > kMostDays) {
    return {"days", fmt::format("days must be a whole number from 1 to {}", kMostDays)};
  }
  if (question.gpus < 0 || question.gpus > kMostGpus ||
      (question.change == FleetChange::Gpus && question.gpus == 0)) {
    return {"gpus", fmt::format("gpus must be a whole number from 1 to {}", kMostGpus)};
  }
  if (question.gpu_type.empty() && question.gpus > 0) {
    return {"gpuType", "gpuType is required with gpus"};
  }
  if (question.cluster.empty() && (!is_job || question.gpus == 0 || question.exclusive)) {
    return {"cluster", is_job ? "a job needs GPUs or a cluster, an exclusive one a cluster"
                              : "cluster is required"};
  }
  if (is_job) {
    const auto duration = parse_go_duration(value("duration").empty() ? "1h" : value("duration"));
    if (!duration.ok() || *duration < std::chrono::seconds(1) ||
        *duration > std::chrono::days(kMostDays)) {
      return {"duration", "duration must be a time such as 90m or 4h, at most 2160h"};
    }
    question.duration = *duration;
  }
  return {};
}

Result<WhatIfCall> make_call(const WhatIfQuestion& question, const WhatIfState& state) {
  return CallMaker(question, state).make();
}

Value answer_of(const WhatIfCall& asked, const Simulated& played, const WhatIfState& state) {
  Value assumptions = Value::list();
  for (const std::string& text : asked.assumptions) {
    assumptions.push_back(text);
  }
  Value reasons = Value::list();
  for (std::size_t i = 0; i < std::min(played.left_out.size(), kMostReasons); ++i) {
    reasons.push_back(played.left_out[i]);
  }
  const auto& before = played.sides.at(0).waits;
  const auto& after = played.sides.at(1).waits;
  Value waiting = Value::list();
  for (std::size_t i = 0; i < std::min(asked.live.size(), kMostShown); ++i) {
    const LiveRow& live = asked.live[i];
    waiting.push_back(Value::object({{"ns", live.job->ns()},
                                     {"name", live.job->name()},
                                     {"owner", live.job->spec()["owner"]},
                                     {"without", wait_value(before, live.row)},
                                     {"with", wait_value(after, live.row)}}));
  }
  Value answer = Value::object(
      {{"text", asked.text},
       {"now", format_time(state.now)},
       {"days", asked.days},
       {"jobs", Value::object({{"running", asked.running},
                               {"waiting", asked.waiting},
                               {"locks", asked.locks},
                               {"ended", asked.ended},
                               {"leftOut", asked.left_out + played.left_out.size()}})},
       {"assumptions", std::move(assumptions)},
       {"leftOut", std::move(reasons)},
       {"without", played.sides[0].report},
       {"with", played.sides[1].report},
       {"waiting", std::move(waiting)}});
  if (!asked.call.sides[1].jobs.empty()) {
    answer.set("job", Value::object({{"waitSeconds", wait_value(after, asked.call.jobs.size())}}));
  }
  return answer;
}

}  // namespace athanor::console
