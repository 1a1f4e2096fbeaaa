// SPDX-License-Identifier: Apache-2.0
// Rules of Fournos, the queueing engine and the run engine.
#include "sim/scenes/invariants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/tekton.hpp"
#include "embedded/kueue/model/workload_info.hpp"
#include "embedded/tekton/model/runs.hpp"
#include "kube/value/condition.hpp"
#include "sim/properties/kind_rules.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::sim {

namespace {

using Cell = std::pair<std::string, kueue::FlavorResource>;  // of a ClusterQueue

std::map<Cell, kueue::Amount> quotas(const World& world) {
  std::map<Cell, kueue::Amount> nominal;
  for (const Object& queue : world.list(api::kueue::kClusterQueue)) {
    for (const Value& group : queue.spec()["resourceGroups"].items()) {
      for (const Value& flavor : group["flavors"].items()) {
        for (const Value& resource : flavor["resources"].items()) {
          nominal[{std::string(queue.name()), {flavor["name"].str(), resource["name"].str()}}] =
              kueue::amount_of(resource["name"].as_string(), resource["nominalQuota"]);
        }
      }
    }
  }
  return nominal;
}

std::optional<std::string> overdrawn(const World& world) {
  std::map<Cell, kueue::Amount> held;
  for (const Object& workload : world.list(api::kueue::kWorkload)) {
    if (!kueue::has_quota(workload) || kueue::is_finished(workload)) {
      continue;
    }
    const std::string queue = workload.status().at({"admission", "clusterQueue"}).str();
    for (const auto& [cell, amount] : kueue::held_quota(workload)) {
      held[{queue, cell}] += amount;
    }
  }
  const std::map<Cell, kueue::Amount> nominal = quotas(world);
  for (const auto& [cell, amount] : held) {
    const auto at = nominal.find(cell);
    if (at == nominal.end() || amount > at->second) {
      return fmt::format("{} of {} {} are promised, {} are there", amount, cell.second.flavor,
                         cell.second.resource, at == nominal.end() ? 0 : at->second);
    }
  }
  return std::nullopt;
}

bool job_ended(const Object& job) {
  const auto phase = job.status()["phase"].as_string();
  return phase == "Succeeded" || phase == "Failed" || phase == "Stopped";
}

bool run_ended(const Object& run) {
  return run.status().contains("completionTime");
}

bool pod_ended(const Object& pod) {
  const auto phase = pod.status()["phase"].as_string();
  return phase == "Succeeded" || phase == "Failed";
}

// A task of finally has one TaskRun in its run, and a pod for each of its attempts, ever.
Invariant finally_runs_once() {
  const auto seen =
      std::make_shared<std::map<std::string, std::set<std::string, std::less<>>, std::less<>>>();
  return {.name = "finally runs once",
          .check = [seen](const World&,
                          std::span<const store::EventPtr> news) -> std::optional<std::string> {
            for (const store::EventPtr& event : news) {
              const Object object(event->object->body);
              if (event->type != store::Event::Type::Added ||
                  object.label(tekton::kMemberOfLabel) != "finally") {
                continue;
              }
              const std::string task =
                  fmt::format("{} {} of task {}", object.label("tekton.dev/pipelineRunUID"),
                              object.kind(), object.label(tekton::kPipelineTaskLabel));
              auto& uids = (*seen)[task];
              uids.emplace(object.uid());
              if (uids.size() > 1) {
                return fmt::format("{} is a second {}", object.key().text(), task);
              }
            }
            return std::nullopt;
          }};
}

// A run that ended and was not told to stop at once has run each task of its finally.
Invariant finally_runs() {
  return {.name = "each ended run has run its finally",
          .when = Invariant::When::AtRest,
          .check = [](const World& world, auto) -> std::optional<std::string> {
            for (const Object& run : world.list(api::kPipelineRun)) {
              if (!run_ended(run) || run.spec()["status"].as_string() == "Cancelled") {
                continue;
              }
              for (const Value& task : run.status()["pipelineSpec"]["finally"].items()) {
                const Value& children = run.status()["childReferences"];
                if (std::ranges::none_of(children.items(), [&](const Value& child) {
                      return child["pipelineTaskName"] == task["name"];
                    })) {
                  return fmt::format("{} ended without {} of its finally", run.key().text(),
                                     task["name"].as_string());
                }
              }
            }
            return std::nullopt;
          }};
}

// When the last step of a pod ended; nullopt: one of them has not.
std::optional<Instant> end_of_steps(const Object& pod) {
  std::optional<Instant> last;
  for (const Value& container : pod.status()["containerStatuses"].items()) {
    if (!container["name"].as_string().starts_with("step-")) {
      continue;
    }
    const auto end = parse_time(container["state"]["terminated"]["finishedAt"].as_string());
    if (!end) {
      return std::nullopt;
    }
    last = std::max(last, end);
  }
  return last;
}

// A TaskRun ends with its steps, whatever its sidecars do.
Invariant sidecars_hold_nothing() {
  return {.name = "no TaskRun waits for its sidecars",
          .check = [](const World& world, auto) -> std::optional<std::string> {
            constexpr Duration kMost = std::chrono::minutes(20);  // more than the time of faults
            for (const Object& task_run : world.list(api::kTaskRun)) {
              const Key key{std::string(task_run.ns()), task_run.status()["podName"].str()};
              const auto pod = tekton::is_done(task_run) ? std::nullopt : world.get(api::kPod, key);
              const auto end = pod ? end_of_steps(*pod) : std::nullopt;
              if (end && world.now() - *end > kMost) {
                return fmt::format("{} goes on, and its steps ended at {}", task_run.key().text(),
                                   format_time(*end));
              }
            }
            return std::nullopt;
          }};
}

void append(std::vector<Invariant>& to, std::vector<Invariant> more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

Invariant ready_in_time() {
  return {.name = "an admitted Workload of a running job or a held lock gets ready",
          .check = [](const World& world, auto) -> std::optional<std::string> {
            constexpr Duration kMost = std::chrono::minutes(10);
            for (const Object& workload : world.list(api::kueue::kWorkload)) {
              const Value& conditions = workload.status()["conditions"];
              const Value& admitted = find_condition(conditions, "Admitted");
              const auto since = parse_time(admitted["lastTransitionTime"].as_string());
              const auto job = world.get(api::kFournosJob, workload.key());
              const std::string_view phase = job ? job->status()["phase"].as_string() : "";
              const bool working =
                  phase == "Running" || (phase == "Admitted" && job->spec()["lockOnly"].as_bool());
              if (working && workload.owned_by(job->uid()) &&
                  admitted["status"].as_string() == "True" &&
                  !condition_is(conditions, "Evicted", "True") &&
                  !condition_is(conditions, "PodsReady", "True") && since &&
                  world.now() - *since > kMost) {
                return workload.key().text() + " is admitted and not ready";
              }
            }
            return std::nullopt;
          }};
}

Invariant quota_holds() {
  return {.name = "quota is never exceeded",
          .check = [](const World& world,
                      std::span<const store::EventPtr> news) -> std::optional<std::string> {
            const bool concerned = std::any_of(news.begin(), news.end(), [](const auto& event) {
              return event->object->resource == "workloads.kueue.x-k8s.io";
            });
            return concerned ? overdrawn(world) : std::nullopt;
          }};
}

std::vector<Invariant> job_invariants() {
  // Kueue may take the cluster away: the run is cancelled, and the job starts anew (8.4).
  const auto cancelled = [](const Object& run) {
    return run.spec()["status"].as_string() == "CancelledRunFinally";
  };
  return {runs_once(api::kFournosJob, api::kPipelineRun, cancelled),
          finished_stays(api::kFournosJob, job_ended, {"phase", "message"}),
          finished_stays(api::kPipelineRun, run_ended, {"completionTime"})};
}

std::vector<Invariant> fournos_invariants() {
  std::vector<Invariant> all = job_invariants();
  all.push_back(quota_holds());
  all.push_back(ready_in_time());
  return all;
}

std::vector<Invariant> tekton_invariants() {
  std::vector<Invariant> all;
  all.push_back(finished_stays(api::kPipelineRun, run_ended, {"completionTime"}));
  all.push_back(finished_stays(api::kPod, pod_ended, {"phase"}));
  append(all, {finally_runs_once(), finally_runs(), sidecars_hold_nothing()});
  return all;
}

std::vector<Invariant> lab_invariants() {
  std::vector<Invariant> all = fournos_invariants();
  append(all, {finished_stays(api::kPod, pod_ended, {"phase"})});
  return all;
}

}  // namespace athanor::sim
