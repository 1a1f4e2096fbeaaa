// SPDX-License-Identifier: Apache-2.0
// The admission cycle (docs/spec/kueue.md 7.1). It keeps no memory between runs: each run replays,
// over the state it sees, as many cycles of the reference as there is something to decide.
#include "embedded/kueue/scheduler.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "embedded/kueue/flavor_assigner.hpp"
#include "embedded/kueue/holding.hpp"
#include "embedded/kueue/waiting.hpp"
#include "embedded/kueue/workload_status.hpp"
#include "kube/value/condition.hpp"

namespace athanor::kueue {
namespace {

// What waits for one ClusterQueue, best head first.
struct Line {
  const ClusterQueue* queue = nullptr;
  std::vector<Shape> shapes{};
  std::map<QueueOrder, std::size_t> heads{};  // shapes, by the order of their heads
  bool blocked = false;

  void add(Shape shape) {
    shapes.push_back(std::move(shape));
    queue_head(shapes.size() - 1);
  }
  [[nodiscard]] bool has_head() const { return !blocked && !heads.empty(); }
  [[nodiscard]] Shape& shape() { return shapes[heads.begin()->second]; }
  [[nodiscard]] const QueueOrder& order() const { return heads.begin()->first; }
  [[nodiscard]] const Object& head() { return *shape().head(); }
  void take() {
    const std::size_t index = heads.begin()->second;
    shapes[index].take();
    heads.erase(heads.begin());
    queue_head(index);
  }
  void drop_shape() { heads.erase(heads.begin()); }

 private:
  void queue_head(std::size_t index) {
    if (const Object* head = shapes[index].head()) {
      heads.emplace(queue_order(*head), index);
    }
  }
};

struct Nominee {
  Line* line = nullptr;
  std::vector<PodSetRequests> requests{};
  Assignment assignment{};
};

bool is_lock(const Object& workload) {
  return !workload.label(kLockLabel).empty();
}

// How often a workload is told why it waits.
enum class Words { Always, Once };

class Cycle {
 public:
  Cycle(const View& view, Instant now, Words words) : view_(view), now_(now), words_(words) {}

  Plan run() {
    std::vector<WaitingShape> shapes = waiting_shapes(view_);
    if (shapes.empty()) {
      return std::move(plan_);  // and nothing else was read: no change of quota wakes it
    }
    queues_ = read_queues(view_);
    quota_ = queues_->quota;
    count_usage(*queues_, quota_, view_);
    for (WaitingShape& waiting : shapes) {
      if (is_candidate(waiting.shape)) {
        enqueue(std::move(waiting));
      }
    }
    withhold();
    while (std::ranges::any_of(lines_, [](const auto& entry) { return entry.second.has_head(); })) {
      one_round();
    }
    return std::move(plan_);
  }

 private:
  // Whether it takes what it asks for, and is refused again when others take theirs. What a lock
  // does not need is free again; of several pod sets one may be driven from the flavor that the
  // next one needs; of a workload with pods that are over more comes back than it took.
  static bool is_plain(const Object& workload) {
    return !is_lock(workload) && workload.spec()["podSets"].size() <= 1 &&
           workload.status()["reclaimablePods"].is_null();
  }

  // Is not backing off.
  bool is_candidate(Shape& shape) {
    const Object& workload = *shape.head();
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

  void enqueue(WaitingShape waiting) {
    const Key& key = waiting.local_queue;
    const auto inadmissible = [&](const std::string& message) {
      tell(waiting.shape, "Inadmissible", [&] { return message; }, {});
    };
    const auto local = queues_->local_queues.find(key);
    if (local == queues_->local_queues.end()) {
      inadmissible(fmt::format("LocalQueue {} doesn't exist", key.name));
      return;
    }
    if (local->second.stopped) {
      inadmissible(fmt::format("LocalQueue {} is inactive", key.name));
      return;
    }
    const std::string& name = local->second.cluster_queue;
    const auto queue = queues_->cluster_queues.find(name);
    if (queue == queues_->cluster_queues.end()) {
      inadmissible(fmt::format("ClusterQueue {} doesn't exist", name));
      return;
    }
    if (!queue->second.active()) {
      inadmissible(fmt::format("ClusterQueue {} is inactive", name));
      return;
    }
    Line& line = lines_[name];
    line.queue = &queue->second;
    line.add(std::move(waiting.shape));
  }

  // Tells every workload of a shape that was not told so yet, or nothing yet, why it waits.
  template <class Message>
  void tell(Shape& shape, std::string_view reason, const Message& message,
            const std::vector<PodSetRequests>& requests) {
    if (words_ == Words::Once) {
      if (shape.is_told()) {
        return;
      }
      // The same words for all, or each that was told in another moment is a group of its own.
      const std::string text(kWaits);
      for (const Object& workload : shape.untold()) {
        add_pending(plan_, workload, reason, text, requests, now_);
      }
      return;
    }
    const std::string text = message();
    for (const Object& workload :
         shape.others_than(told(reason, cut(text, kConditionMessageLimit)))) {
      add_pending(plan_, workload, reason, text, requests, now_);
    }
  }

  // What is free of a flavor is kept for the lock that waits for all of it.
  void withhold() {
    for (auto& [name, line] : lines_) {
      for (Shape& shape : line.shapes) {
        if (const Object* head = shape.head(); head != nullptr && is_lock(*head)) {
          withhold(line, *head);
        }
      }
    }
  }
  void withhold(const Line& line, const Object& lock) {
    for (const PodSetRequests& pod_set : pod_set_requests(lock, Value())) {
      for (const auto& [resource, amount] : pod_set.total) {
        const FlavorResource cell{std::string(lock.label(kLockLabel)), resource};
        const Amount free = quota_.available(line.queue->node, cell);
        if (free > 0) {
          quota_.add_usage(line.queue->node, cell, free);
          withheld_[{line.queue->node, cell}] += free;
        }
      }
    }
  }
  // Back again, for the lock at the head of the line.
  void let_through(Line& line) {
    const std::string flavor(line.head().label(kLockLabel));
    std::erase_if(withheld_, [&](const auto& entry) {
      const auto& [node, cell] = entry.first;
      if (node != line.queue->node || cell.flavor != flavor) {
        return false;
      }
      quota_.add_usage(node, cell, -entry.second);
      return true;
    });
  }

  // One cycle of the reference: the head of every queue, in entry order (7.4).
  void one_round() {
    std::vector<Nominee> nominees;
    for (auto& [name, line] : lines_) {
      if (!line.has_head()) {
        continue;
      }
      if (std::string problem = ineligible(line); !problem.empty()) {
        refuse(line, problem != kWrongNamespace, [&] { return problem; }, {});
        continue;
      }
      auto requests =
          pod_set_requests(line.head(), limit_range_defaults(std::string(line.head().ns())));
      const bool lock = is_lock(line.head());
      if (lock) {
        let_through(line);
      }
      Assignment assignment = assign_flavors(quota_, *line.queue, requests);
      if (lock && assignment.mode != Mode::Fit) {
        withhold(line, line.head());
      }
      nominees.push_back(
          {.line = &line, .requests = std::move(requests), .assignment = std::move(assignment)});
    }
    std::ranges::stable_sort(nominees, [](const Nominee& a, const Nominee& b) {
      return std::tie(a.assignment.borrow_height, a.line->order()) <
             std::tie(b.assignment.borrow_height, b.line->order());
    });
    for (const Nominee& nominee : nominees) {
      settle(nominee);
    }
  }

  void settle(const Nominee& nominee) {
    Line& line = *nominee.line;
    if (nominee.assignment.mode != Mode::Fit) {
      refuse(
          line, true, [&] { return nominee.assignment.message(); }, nominee.requests);
      return;
    }
    if (!still_fits(quota_, *line.queue, nominee.assignment)) {
      return;  // lost to an earlier entry of this round: it is looked at again in the next
    }
    for (const auto& [cell, amount] : nominee.assignment.usage()) {
      quota_.add_usage(line.queue->node, cell, amount);
    }
    add_admission(plan_, line.head(), *line.queue, nominee.assignment, now_);
    line.take();
  }

  // The head stays pending, and with it all of its shape: nothing becomes free within a cycle.
  // Under StrictFIFO it keeps those behind it waiting, unheard (7.2).
  template <class Message>
  void refuse(Line& line, bool may_block, const Message& message,
              const std::vector<PodSetRequests>& requests) {
    if (line.queue->strict_fifo && may_block) {
      const Value& conditions = line.head().status()["conditions"];
      if (words_ == Words::Always || find_condition(conditions, "QuotaReserved").is_null()) {
        add_pending(plan_, line.head(), "Pending",
                    words_ == Words::Once ? std::string(kWaits) : message(), requests, now_);
      }
      line.blocked = true;
      return;
    }
    tell(line.shape(), "Pending", message, requests);
    line.drop_shape();
  }

  // The first rule of 7.3 that speaks against the head; empty when none does.
  std::string ineligible(Line& line) {
    const Object& workload = line.head();
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

  static constexpr std::string_view kWaits = "The workload waits";
  static constexpr std::string_view kWrongNamespace =
      "Workload namespace doesn't match ClusterQueue selector";

  const View& view_;
  Instant now_;
  Words words_;
  std::shared_ptr<const Snapshot> queues_{};
  QuotaTree quota_{};  // with what is in use
  Plan plan_{};
  std::map<std::string, Line> lines_{};
  std::map<std::string, Value> defaults_{};
  std::map<std::pair<QuotaTree::NodeId, FlavorResource>, Amount> withheld_{};
};

Plan reconcile(const View& view, const Key& /*key*/, Instant now) {
  return Cycle(view, now, Words::Always).run();
}

Plan reconcile_tersely(const View& view, const Key& /*key*/, Instant now) {
  return Cycle(view, now, Words::Once).run();
}

// Whether a workload takes part neither before nor after, or holds the same quota.
bool takes_same_part(const Object& before, const Object& after) {
  if (is_waiting(before) || is_waiting(after)) {
    return false;
  }
  const bool held = holds_quota(before);
  return held == holds_quota(after) &&
         (!held || (before.status()["admission"] == after.status()["admission"] &&
                    before.status()["reclaimablePods"] == after.status()["reclaimablePods"]));
}

bool overlooks(const Kind& kind, const Object& before, const Object& after) {
  if (&kind == &api::kueue::kWorkload) {
    return takes_same_part(before, after);
  }
  if (&kind == &api::kNamespace) {
    return before.metadata()["labels"] == after.metadata()["labels"];
  }
  if (&kind == &api::kueue::kAdmissionCheck) {
    return condition_is(before.status()["conditions"], "Active", "True") ==
           condition_is(after.status()["conditions"], "Active", "True");
  }
  return before.deleting() == after.deleting() && before.spec() == after.spec();
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
  static const Access kAccess[] = {{&api::kueue::kWorkload, "patch", "status"},
                                   {&api::kEvent, "create patch"}};
  static const Kind* const kSmall[] = {&api::kueue::kClusterQueue, &api::kueue::kLocalQueue,
                                       &api::kueue::kCohort, &api::kueue::kResourceFlavor,
                                       &api::kueue::kAdmissionCheck};
  static const Index kIndexes[] = {waiting_index(), reserved_index()};
  static const Operator kOperator{.name = "kueue-admission",
                                  .primary = &api::kueue::kWorkload,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .indexes = kIndexes,
                                  .reconcile = reconcile,
                                  .singleton = true,
                                  .sees_all = true,
                                  .overlooks = overlooks,
                                  .small = kSmall,
                                  .access = kAccess};
  return kOperator;
}

const Operator& terse_scheduler_operator() {
  static const Operator kOperator = [] {
    Operator terse = scheduler_operator();
    terse.reconcile = reconcile_tersely;
    return terse;
  }();
  return kOperator;
}

}  // namespace athanor::kueue
