// SPDX-License-Identifier: Apache-2.0
// The admission cycle (spec/kueue.md 7.1). It keeps no memory between runs: each run replays, over
// the state it sees, as many cycles of the reference as there is something to decide.
#include "embedded/kueue/scheduler.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "embedded/kueue/flavor_assigner.hpp"
#include "embedded/kueue/workload_status.hpp"
#include "kube/condition.hpp"

namespace athanor::kueue {
namespace {

struct Pending {
  Object workload{};
  QueueOrder order{};
  std::vector<PodSetRequests> requests{};
};

// The heads of one ClusterQueue, best first.
struct Line {
  const ClusterQueue* queue = nullptr;
  std::vector<Pending> entries{};
  std::size_t next = 0;
  bool blocked = false;

  [[nodiscard]] bool has_head() const { return !blocked && next < entries.size(); }
  [[nodiscard]] const Pending& head() const { return entries[next]; }
};

struct Nominee {
  Line* line = nullptr;
  Assignment assignment{};
};

class Cycle {
 public:
  Cycle(const View& view, Instant now) : view_(view), now_(now), snapshot_(read_queues(view)) {}

  Plan run() {
    for (const Object& workload :
         view_.list(api::kueue::kWorkload,
                    {.index = std::string(kStateIndex), .index_value = std::string(kLive)})) {
      count_usage(snapshot_, workload);
      if (is_candidate(workload)) {
        enqueue(workload);
      }
    }
    for (auto& [name, line] : lines_) {
      std::ranges::sort(line.entries, {}, &Pending::order);
    }
    while (std::ranges::any_of(lines_, [](const auto& entry) { return entry.second.has_head(); })) {
      one_round();
    }
    return std::move(plan_);
  }

 private:
  // Waits for quota and is allowed to: not deactivated, not backing off, not ending.
  bool is_candidate(const Object& workload) {
    if (has_quota(workload) || !is_active(workload) || workload.deleting()) {
      return false;
    }
    if (condition_is(workload.status()["conditions"], "Requeued", "False")) {
      return false;
    }
    if (const auto at = parse_time(workload.status().at({"requeueState", "requeueAt"}).as_string());
        at && *at > now_) {
      plan_.wake_at(*at);
      return false;
    }
    return true;
  }

  void enqueue(const Object& workload) {
    const std::string queue_name = workload.spec()["queueName"].str();
    const auto inadmissible = [&](const std::string& message) {
      add_pending(plan_, workload, "Inadmissible", message, {}, now_);
    };
    const auto local = snapshot_.local_queues.find({std::string(workload.ns()), queue_name});
    if (local == snapshot_.local_queues.end()) {
      inadmissible(fmt::format("LocalQueue {} doesn't exist", queue_name));
      return;
    }
    if (local->second.stopped) {
      inadmissible(fmt::format("LocalQueue {} is inactive", queue_name));
      return;
    }
    const std::string& name = local->second.cluster_queue;
    const auto queue = snapshot_.cluster_queues.find(name);
    if (queue == snapshot_.cluster_queues.end()) {
      inadmissible(fmt::format("ClusterQueue {} doesn't exist", name));
      return;
    }
    if (!queue->second.active()) {
      inadmissible(fmt::format("ClusterQueue {} is inactive", name));
      return;
    }
    Line& line = lines_[name];
    line.queue = &queue->second;
    line.entries.push_back({.workload = workload, .order = queue_order(workload)});
  }

  // One cycle of the reference: the head of every queue, in entry order (7.4).
  void one_round() {
    std::vector<Nominee> nominees;
    for (auto& [name, line] : lines_) {
      if (!line.has_head()) {
        continue;
      }
      if (std::string problem = ineligible(line); !problem.empty()) {
        refuse(line, problem);
        continue;
      }
      Pending& head = line.entries[line.next];
      head.requests =
          pod_set_requests(head.workload, limit_range_defaults(std::string(head.workload.ns())));
      nominees.push_back(
          {.line = &line, .assignment = assign_flavors(snapshot_, *line.queue, head.requests)});
    }
    std::ranges::stable_sort(nominees, [](const Nominee& a, const Nominee& b) {
      return std::pair(a.assignment.borrow_height, a.line->head().order) <
             std::pair(b.assignment.borrow_height, b.line->head().order);
    });
    for (const Nominee& nominee : nominees) {
      settle(nominee);
    }
  }

  void settle(const Nominee& nominee) {
    Line& line = *nominee.line;
    if (nominee.assignment.mode != Mode::Fit) {
      refuse(line, nominee.assignment.message());
      return;
    }
    if (!still_fits(snapshot_, *line.queue, nominee.assignment)) {
      return;  // lost to an earlier entry of this round: it is looked at again in the next
    }
    for (const auto& [cell, amount] : nominee.assignment.usage()) {
      snapshot_.quota.add_usage(line.queue->node, cell, amount);
    }
    add_admission(plan_, line.head().workload, *line.queue, nominee.assignment, now_);
    ++line.next;
  }

  // The head stays pending; under StrictFIFO it keeps those behind it waiting (7.2).
  void refuse(Line& line, const std::string& message) {
    const Pending& head = line.head();
    add_pending(plan_, head.workload, "Pending", message, head.requests, now_);
    line.blocked = line.queue->strict_fifo && message != kWrongNamespace;
    ++line.next;
  }

  // The first rule of 7.3 that speaks against the head; empty when none does.
  std::string ineligible(const Line& line) {
    const Object& workload = line.head().workload;
    for (const Value& check : workload.status()["admissionChecks"].items()) {
      const std::string_view state = check["state"].as_string();
      if (state == "Retry" || state == "Rejected") {
        return "The workload has failed admission checks";
      }
    }
    const auto ns = view_.get(api::kNamespace, {"", std::string(workload.ns())});
    if (!ns) {
      return fmt::format("Could not obtain workload namespace: namespaces \"{}\" not found",
                         workload.ns());
    }
    if (!line.queue->namespaces.matches(ns->metadata()["labels"])) {
      return std::string(kWrongNamespace);
    }
    return request_above_limit(workload);
  }

  // What LimitRanges of a namespace give containers that ask for nothing.
  const Value& limit_range_defaults(const std::string& ns) {
    const auto known = defaults_.find(ns);
    if (known != defaults_.end()) {
      return known->second;
    }
    Value defaults = Value::object();
    for (const Object& range : view_.list(api::kLimitRange, {.ns = ns})) {
      for (const Value& limit : range.spec()["limits"].items()) {
        if (limit["type"].as_string() != "Container") {
          continue;
        }
        for (const char* key : {"default", "defaultRequest"}) {
          for (const Member& entry : limit[key].members()) {
            defaults.set(entry.key(), entry.value);
          }
        }
      }
    }
    return defaults_.emplace(ns, std::move(defaults)).first->second;
  }

  static constexpr std::string_view kWrongNamespace =
      "Workload namespace doesn't match ClusterQueue selector";

  const View& view_;
  Instant now_;
  Snapshot snapshot_;
  Plan plan_{};
  std::map<std::string, Line> lines_{};
  std::map<std::string, Value> defaults_{};
};

Plan reconcile(const View& view, const Key& /*key*/, Instant now) {
  return Cycle(view, now).run();
}

}  // namespace

const Operator& scheduler_operator() {
  static const Kind* const kReads[] = {&api::kueue::kWorkload,
                                       &api::kueue::kClusterQueue,
                                       &api::kueue::kLocalQueue,
                                       &api::kueue::kCohort,
                                       &api::kueue::kResourceFlavor,
                                       &api::kueue::kAdmissionCheck,
                                       &api::kNamespace,
                                       &api::kLimitRange};
  static const Kind* const kWrites[] = {&api::kueue::kWorkload, &api::kEvent};
  static const Kind* const kSmall[] = {&api::kueue::kClusterQueue, &api::kueue::kLocalQueue,
                                       &api::kueue::kCohort, &api::kueue::kResourceFlavor,
                                       &api::kueue::kAdmissionCheck};
  static const Index kIndexes[] = {
      {.kind = &api::kueue::kWorkload, .name = kStateIndex, .values = workload_states}};
  static const Operator kOperator{.name = "kueue-admission",
                                  .primary = &api::kueue::kWorkload,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .indexes = kIndexes,
                                  .reconcile = reconcile,
                                  .singleton = true,
                                  .small = kSmall};
  return kOperator;
}

}  // namespace athanor::kueue
