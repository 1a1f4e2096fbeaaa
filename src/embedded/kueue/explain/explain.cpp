// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/explain/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "api/builtin.hpp"
#include "api/describe.hpp"
#include "api/kueue.hpp"
#include "embedded/kueue/configuration.hpp"
#include "embedded/kueue/cycle/holding.hpp"
#include "embedded/kueue/cycle/preempting.hpp"
#include "embedded/kueue/cycle/requests.hpp"
#include "embedded/kueue/cycle/snapshot.hpp"
#include "embedded/kueue/cycle/waiting.hpp"
#include "embedded/kueue/settings.hpp"
#include "embedded/kueue/visibility.hpp"
#include "embedded/kueue/workload/workload_info.hpp"
#include "kube/value/condition.hpp"

namespace athanor::kueue {
namespace {

constexpr std::size_t kMostAhead = 5;

class Explainer {
 public:
  Explainer(const View& view, const Object& workload, Instant now)
      : view_(view), workload_(workload), now_(now) {
    result_.workload = workload.key();
    result_.local_queue = workload.spec()["queueName"].str();
    if (const auto owner = workload.controller()) {
      result_.owner = fmt::format("{}/{}", owner->kind, owner->name);
    }
  }

  Explanation run() {
    if (!waits()) {
      return std::move(result_);
    }
    note_gates();
    queues_ = read_queues(view_);
    if (const ClusterQueue* queue = find_queue()) {
      note_place(*queue);
      note_quota(*queue);
    }
    return std::move(result_);
  }

 private:
  void cause(std::string object, std::string text) {
    result_.causes.push_back({.object = std::move(object), .text = std::move(text)});
  }
  [[nodiscard]] std::string self() const { return "Workload/" + workload_.key().text(); }
  [[nodiscard]] bool says(std::string_view type) const {
    return condition_is(workload_.status()["conditions"], type, "True");
  }

  // False: it does not wait for quota; the state and its cause say what it does.
  bool waits() {
    const Value& conditions = workload_.status()["conditions"];
    if (says("Finished")) {
      result_.state = "finished";
      cause(self(), find_condition(conditions, "Finished")["message"].str());
      return false;
    }
    if (!workload_.spec()["active"].as_bool(true)) {
      result_.state = "inactive";
      cause(self(), "spec.active is false: set it to true to queue it again");
      return false;
    }
    if (says("Admitted")) {
      result_.state = "runs";
      return false;
    }
    if (says("QuotaReserved")) {
      result_.state = "has quota";
      for (const Value& check : workload_.status()["admissionChecks"].items()) {
        if (check["state"].as_string() != "Ready") {
          cause("AdmissionCheck/" + check["name"].str(),
                fmt::format(
                    "is {}{}", check["state"].as_string(),
                    check["message"].as_string().empty() ? "" : ": " + check["message"].str()));
        }
      }
      return false;
    }
    result_.state = "waits";
    return true;
  }

  void note_gates() {
    if (const std::string_view gate = workload_.annotation(kGatedBy); !gate.empty()) {
      cause(self(), fmt::format("annotation {} holds it back: {}", kGatedBy, gate));
    }
    const Value& conditions = workload_.status()["conditions"];
    if (condition_is(conditions, "Requeued", "False")) {
      cause(self(),
            "is not queued again: " + find_condition(conditions, "Requeued")["message"].str());
    }
    const auto at = parse_time(workload_.status().at({"requeueState", "requeueAt"}).as_string());
    if (at && *at > now_) {
      cause(self(), "was evicted, and is queued again at " + format_time(*at));
    }
    for (const Value& check : workload_.status()["admissionChecks"].items()) {
      const std::string_view state = check["state"].as_string();
      if (state == "Retry" || state == "Rejected") {
        cause("AdmissionCheck/" + check["name"].str(), fmt::format("is {}", state));
      }
    }
  }

  // The ClusterQueue that it waits in; nullptr: there is none that would take it.
  const ClusterQueue* find_queue() {
    const Key key{std::string(workload_.ns()), result_.local_queue};
    const std::string local_name = "LocalQueue/" + key.text();
    if (key.name.empty()) {
      cause(self(), "names no queue: set the label kueue.x-k8s.io/queue-name");
      return nullptr;
    }
    const auto local = queues_->local_queues.find(key);
    if (local == queues_->local_queues.end()) {
      cause(local_name, "does not exist");
      return nullptr;
    }
    if (local->second.stopped) {
      cause(local_name, "is stopped: spec.stopPolicy");
    }
    result_.cluster_queue = local->second.cluster_queue;
    const std::string name = "ClusterQueue/" + result_.cluster_queue;
    const auto queue = queues_->cluster_queues.find(result_.cluster_queue);
    if (queue == queues_->cluster_queues.end()) {
      cause(name, "does not exist");
      return nullptr;
    }
    if (!queue->second.active()) {
      cause(name, fmt::format("is inactive: {}", queue->second.inactive_message));
      return nullptr;
    }
    const auto ns = view_.get(api::kNamespace, {"", key.ns});
    if (ns && !queue->second.namespaces.matches(ns->metadata()["labels"])) {
      cause(name, fmt::format("takes nothing of namespace {}: spec.namespaceSelector", key.ns));
    }
    return &queue->second;
  }

  void note_place(const ClusterQueue& queue) {
    const std::vector<PendingWorkload> pending = pending_workloads(view_, queue.name);
    const auto self_at = std::ranges::find_if(
        pending, [&](const PendingWorkload& one) { return one.workload.uid() == workload_.uid(); });
    if (self_at == pending.end()) {
      return;
    }
    result_.position = self_at->in_cluster_queue;
    const auto place = static_cast<std::size_t>(self_at - pending.begin());
    for (std::size_t i = place - std::min(place, kMostAhead); i < place; ++i) {
      result_.ahead.push_back({.workload = pending[i].workload.key(),
                               .position = pending[i].in_cluster_queue,
                               .priority = pending[i].workload.spec()["priority"].as_int()});
    }
    if (place > 0 && queue.strict_fifo) {
      cause("ClusterQueue/" + queue.name,
            fmt::format("is StrictFIFO: {} goes first", pending.front().workload.key().text()));
    }
  }

  void note_quota(const ClusterQueue& queue) {
    const auto settings = api::decode<Settings>(configured_section(view_));
    RequestRules rules(view_, settings);
    if (std::string problem = rules.problem(workload_); !problem.empty()) {
      cause(self(), std::move(problem));
      return;
    }
    const std::vector<PodSetRequests> requests = rules.requests(workload_);
    QuotaTree quota = queues_->quota;
    count_usage(*queues_, quota, view_);
    const auto& [priority, queued, uid] = queue_order(workload_);
    const Preemptor preemptor{.queue = &queue, .priority = -priority, .queued = queued};
    Preempting preempting(view_, *queues_, quota, settings);
    const Preempting::Result result = preempting.nominate(preemptor, requests, false);
    if (result.assignment.mode == Mode::Fit) {
      return;
    }
    cause("ClusterQueue/" + queue.name, result.assignment.message());
    for (const Target& target : result.targets) {
      result_.preempts.push_back({.workload = target.held->object.key(),
                                  .cluster_queue = target.held->queue->name,
                                  .why = std::string(text_of(target.why))});
    }
    estimate(preemptor, requests, settings, std::move(quota));
  }

  // Gives back what is held, as it ends, until the request fits.
  void estimate(const Preemptor& preemptor, const std::vector<PodSetRequests>& requests,
                const Settings& settings, QuotaTree quota) {
    HeldWorkloads held(view_, *queues_);
    std::vector<QuotaTree::CellId> cells;
    for (const auto& [name, cell] : queues_->quota.cells()) {
      cells.push_back(cell);
    }
    std::vector<std::pair<Instant, const Held*>> ends;
    for (const auto& [name, queue] : queues_->cluster_queues) {
      for (HeldLine* line : held.lines(queue, cells)) {
        for (std::size_t i = 0; const Held* one = line->at(i); ++i) {
          const std::int64_t seconds = one->object.spec()["maximumExecutionTimeSeconds"].as_int();
          const auto since = parse_time(
              find_condition(one->object.status()["conditions"], "Admitted")["lastTransitionTime"]
                  .as_string());
          if (seconds > 0 && since) {
            ends.emplace_back(*since + std::chrono::seconds(seconds), one);
          } else {
            result_.without_end += shares_tree(*preemptor.queue, queue) ? 1 : 0;
          }
        }
      }
    }
    std::ranges::sort(ends, {}, &std::pair<Instant, const Held*>::first);
    const AssignOptions options{.fair_sharing = settings.fair_sharing};
    for (const auto& [end, one] : ends) {
      release(quota, *one);
      if (assign_flavors(quota, *preemptor.queue, requests, options).mode == Mode::Fit) {
        result_.free_at = std::max(end, now_);
        return;
      }
    }
  }

  [[nodiscard]] bool shares_tree(const ClusterQueue& a, const ClusterQueue& b) const {
    const auto root = [this](QuotaTree::NodeId node) {
      while (const auto parent = queues_->quota.parent(node)) {
        node = *parent;
      }
      return node;
    };
    return root(a.node) == root(b.node);
  }

  const View& view_;
  const Object& workload_;
  Instant now_;
  std::shared_ptr<const Snapshot> queues_{};
  Explanation result_{};
};

}  // namespace

Value Explanation::to_value() const {
  Value value = Value::object({{"workload", workload.text()},
                               {"owner", owner},
                               {"localQueue", local_queue},
                               {"clusterQueue", cluster_queue},
                               {"state", state},
                               {"causes", Value::list()},
                               {"ahead", Value::list()},
                               {"preempts", Value::list()}});
  for (const Cause& one : causes) {
    value.member("causes").push_back(Value::object({{"object", one.object}, {"text", one.text}}));
  }
  for (const Ahead& one : ahead) {
    value.member("ahead").push_back(Value::object({{"workload", one.workload.text()},
                                                   {"position", one.position},
                                                   {"priority", one.priority}}));
  }
  for (const Preempted& one : preempts) {
    value.member("preempts")
        .push_back(Value::object({{"workload", one.workload.text()},
                                  {"clusterQueue", one.cluster_queue},
                                  {"why", one.why}}));
  }
  if (position) {
    value.set("position", *position);
  }
  if (free_at) {
    value.set("freeAt", format_time(*free_at));
  }
  if (without_end > 0) {
    value.set("holdersWithoutEnd", without_end);
  }
  return value;
}

std::string Explanation::text(Instant now) const {
  std::string out = fmt::format("{}{} {}", workload.text(),
                                owner.empty() ? "" : fmt::format(" ({})", owner), state);
  if (!cluster_queue.empty()) {
    out += fmt::format(" in ClusterQueue {}", cluster_queue);
  }
  if (position) {
    out += fmt::format(", {} ahead of it", *position);
  }
  out += "\n";
  for (const Cause& one : causes) {
    out += fmt::format("  {}: {}\n", one.object, one.text);
  }
  for (const Ahead& one : ahead) {
    out += fmt::format("  ahead at place {}: {} (priority {})\n", one.position, one.workload.text(),
                       one.priority);
  }
  for (const Preempted& one : preempts) {
    out += fmt::format("  would preempt {} of ClusterQueue {} {}\n", one.workload.text(),
                       one.cluster_queue, one.why);
  }
  if (free_at) {
    out += fmt::format("  quota is free at {} at the latest (in {}), if nobody else comes\n",
                       format_time(*free_at), format_go_duration(*free_at - now));
  } else if (without_end > 0) {
    out += fmt::format(
        "  when quota is free is not known: {} that hold it name no maximum execution time\n",
        without_end);
  }
  if (state == "waits" && causes.empty()) {
    out += "  nothing speaks against it: it is admitted in the next cycle\n";
  }
  return out;
}

Explanation explain(const View& view, const Object& workload, Instant now) {
  return Explainer(view, workload, now).run();
}

}  // namespace athanor::kueue
