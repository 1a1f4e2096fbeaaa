// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/explain/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "api/builtin.hpp"
#include "api/describe.hpp"
#include "api/kueue.hpp"
#include "embedded/kueue/cycle/holding.hpp"
#include "embedded/kueue/cycle/max_wait.hpp"
#include "embedded/kueue/cycle/preempting.hpp"
#include "embedded/kueue/cycle/requests.hpp"
#include "embedded/kueue/cycle/snapshot.hpp"
#include "embedded/kueue/cycle/waiting.hpp"
#include "embedded/kueue/explain/unblocking.hpp"
#include "embedded/kueue/explain/visibility.hpp"
#include "embedded/kueue/model/configuration.hpp"
#include "embedded/kueue/model/settings.hpp"
#include "embedded/kueue/model/workload_info.hpp"
#include "kube/value/condition.hpp"

namespace athanor::kueue {
namespace {

constexpr std::size_t kMostAhead = 5;

RequeueTimestamp timestamp_of(const Settings& settings) {
  return settings.requeue_timestamp == "Creation" ? RequeueTimestamp::Creation
                                                  : RequeueTimestamp::Eviction;
}

class Explainer {
 public:
  Explainer(const View& view, const Object& workload, Instant now, const Audience& viewer)
      : view_(view), workload_(workload), now_(now), viewer_(viewer) {
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
      result_.estimate = estimate_start(view_, *queues_, *queue, workload_, now_);
      note_place(*queue);
      note_quota(*queue);
    }
    return std::move(result_);
  }

 private:
  void cause(CauseKind kind, std::string object, std::string text, std::string unblocked_by) {
    result_.causes.push_back({.kind = kind,
                              .object = std::move(object),
                              .text = std::move(text),
                              .unblocked_by = std::move(unblocked_by)});
  }
  [[nodiscard]] bool sees(std::string_view ns) const { return !viewer_.sees || viewer_.sees(ns); }
  // The name of another Workload in a text.
  [[nodiscard]] std::string name_of(const Object& other) const {
    return sees(other.ns()) ? other.key().text() : "a Workload that you may not see";
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
      cause(CauseKind::Finished, self(), find_condition(conditions, "Finished")["message"].str(),
            "");
      return false;
    }
    if (!workload_.spec()["active"].as_bool(true)) {
      result_.state = "inactive";
      cause(CauseKind::Inactive, self(), "spec.active is false: set it to true to queue it again",
            "spec.active becomes true");
      return false;
    }
    if (says("QuotaReserved") && says("Evicted")) {
      cause(CauseKind::Evicted, self(),
            "is evicted and holds its quota: " +
                find_condition(conditions, "Evicted")["message"].str(),
            "its owner stops it and releases the quota");
    }
    if (says("Admitted")) {
      result_.state = "runs";
      return false;
    }
    if (says("QuotaReserved")) {
      result_.state = "has quota";
      for (const Value& check : workload_.status()["admissionChecks"].items()) {
        if (check["state"].as_string() != "Ready") {
          cause(CauseKind::AdmissionCheck, "AdmissionCheck/" + check["name"].str(),
                fmt::format(
                    "is {}{}", check["state"].as_string(),
                    check["message"].as_string().empty() ? "" : ": " + check["message"].str()),
                check_event(check["state"].as_string()));
        }
      }
      return false;
    }
    result_.state = "waits";
    return true;
  }

  void note_gates() {
    if (const std::string_view gate = workload_.annotation(kGatedBy); !gate.empty()) {
      cause(CauseKind::HeldBack, self(),
            fmt::format("annotation {} holds it back: {}", kGatedBy, gate),
            "the annotation is removed");
    }
    const Value& conditions = workload_.status()["conditions"];
    if (const Value& requeued = find_condition(conditions, "Requeued");
        requeued["status"].as_string() == "False") {
      cause(CauseKind::RequeueBackoff, self(), "is not queued again: " + requeued["message"].str(),
            requeue_event(requeued["reason"].as_string()));
    }
    const auto at = parse_time(workload_.status().at({"requeueState", "requeueAt"}).as_string());
    if (at && *at > now_) {
      cause(CauseKind::RequeueBackoff, self(),
            "was evicted, and is queued again at " + format_time(*at), "the time passes");
    }
    for (const Value& check : workload_.status()["admissionChecks"].items()) {
      const std::string_view state = check["state"].as_string();
      if (state == "Retry" || state == "Rejected") {
        cause(CauseKind::AdmissionCheck, "AdmissionCheck/" + check["name"].str(),
              fmt::format("is {}", state), check_event(state));
      }
    }
  }

  // Names of the namespace's LocalQueues, the first few of many.
  [[nodiscard]] std::string queues_in(const std::string& ns) const {
    constexpr int kMost = 5;
    std::string names;
    int count = 0;
    for (const auto& [key, queue] : queues_->local_queues) {
      if (key.ns != ns) {
        continue;
      }
      if (++count > kMost) {
        return names + ", ...";
      }
      names += (names.empty() ? "" : ", ") + key.name;
    }
    return names;
  }

  // The ClusterQueue that it waits in; nullptr: there is none that would take it.
  const ClusterQueue* find_queue() {
    const Key key{std::string(workload_.ns()), result_.local_queue};
    const std::string local_name = "LocalQueue/" + key.text();
    if (key.name.empty()) {
      cause(CauseKind::QueueMissing, self(),
            "names no queue: set the label kueue.x-k8s.io/queue-name", "the label is set");
      return nullptr;
    }
    const auto local = queues_->local_queues.find(key);
    if (local == queues_->local_queues.end()) {
      const std::string others = queues_in(key.ns);
      cause(CauseKind::QueueMissing, local_name,
            others.empty() ? "does not exist"
                           : fmt::format("does not exist; namespace {} has {}", key.ns, others),
            others.empty() ? "it is created"
                           : "it is created, or the label kueue.x-k8s.io/queue-name names one that "
                             "is there");
      return nullptr;
    }
    if (local->second.stopped) {
      cause(CauseKind::QueueInactive, local_name, "is stopped: spec.stopPolicy",
            "spec.stopPolicy becomes None");
    }
    result_.cluster_queue = local->second.cluster_queue;
    const std::string name = "ClusterQueue/" + result_.cluster_queue;
    const auto queue = queues_->cluster_queues.find(result_.cluster_queue);
    if (queue == queues_->cluster_queues.end()) {
      cause(CauseKind::QueueMissing, name, "does not exist", "it is created");
      return nullptr;
    }
    if (!queue->second.active()) {
      cause(CauseKind::QueueInactive, name,
            fmt::format("is inactive: {}", queue->second.inactive_message),
            "its condition Active becomes True");
      return nullptr;
    }
    const auto ns = view_.get(api::kNamespace, {"", key.ns});
    if (ns && !queue->second.namespaces.matches(ns->metadata()["labels"])) {
      cause(CauseKind::NamespaceNotMatched, name,
            fmt::format("takes nothing of namespace {}: spec.namespaceSelector", key.ns),
            fmt::format("labels of namespace {} match the selector", key.ns));
      const auto object = view_.get(api::kueue::kClusterQueue, {"", queue->second.name});
      result_.causes.back().details = Value::object(
          {{"namespaceSelector", object ? object->spec()["namespaceSelector"] : Value()},
           {"labels",
            ns->metadata()["labels"].is_object() ? ns->metadata()["labels"] : Value::object()}});
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
      if (!sees(pending[i].workload.ns())) {
        ++result_.hidden;
        continue;
      }
      result_.ahead.push_back({.workload = pending[i].workload.key(),
                               .position = pending[i].in_cluster_queue,
                               .priority = pending[i].workload.spec()["priority"].as_int()});
    }
    if (place > 0 && queue.strict_fifo && !(queue.strict_per_flavor && starts_now())) {
      const std::string first = name_of(pending.front().workload);
      cause(CauseKind::OthersFirst, "ClusterQueue/" + queue.name,
            fmt::format("is StrictFIFO: {} goes first", first),
            fmt::format("{} is admitted or leaves the queue", first));
    }
  }

  // Returns true if the cycle admits it now: the head of a queue that is strict per flavor holds
  // back only some of those behind it.
  [[nodiscard]] bool starts_now() const {
    return result_.estimate && result_.estimate->latest && *result_.estimate->latest <= now_;
  }

  // Each obstacle with what ends it; quotas of the flavors that its pods may use.
  void note_quota(const ClusterQueue& queue) {
    const auto settings = api::decode<Settings>(configured_section(view_));
    RequestRules rules(view_, settings);
    if (std::string problem = rules.problem(workload_); !problem.empty()) {
      cause(CauseKind::RequestRefused, self(), std::move(problem),
            "its request, or the rule that refuses it, changes");
      return;
    }
    const std::vector<PodSetRequests> requests = rules.requests(workload_);
    QuotaTree quota = queues_->quota;
    count_usage(*queues_, quota, view_);
    const auto& [priority, queued, uid] = queue_order(workload_, timestamp_of(settings));
    const Preemptor preemptor{.queue = &queue, .priority = -priority, .queued = queued};
    Preempting preempting(view_, *queues_, quota, settings);
    const Preempting::Result result = preempting.nominate(preemptor, requests, false);
    if (result.assignment.mode == Mode::Fit) {
      for (const PodSetAssignment& pod_set : result.assignment.pod_sets) {
        result_.flavors.insert(pod_set.flavors.begin(), pod_set.flavors.end());
      }
      if (!starts_now()) {
        note_readiness(queue, settings);
        note_overdue(queue, preempting, rules);
      }
      return;
    }
    for (QuotaObstacle& one : quota_obstacles(result.assignment, queue, result.targets.size())) {
      cause(one.kind, "ClusterQueue/" + queue.name, std::move(one.text),
            std::move(one.unblocked_by));
    }
    for (const Target& target : result.targets) {
      if (!sees(target.held->object.ns())) {
        ++result_.hidden;
        continue;
      }
      result_.preempts.push_back({.workload = target.held->object.key(),
                                  .cluster_queue = target.held->queue->name,
                                  .why = std::string(text_of(target.why)),
                                  .frees = freed_by(*target.held)});
    }
    Amounts wanted;
    for (const PodSetRequests& pod_set : requests) {
      for (const auto& [resource, amount] : pod_set.total) {
        wanted[resource] += amount;
      }
    }
    HeldWorkloads held(view_, *queues_);
    result_.quotas = quota_reports(*queues_, quota, held, preemptor, wanted, result.targets);
    const std::set<std::string> closed = closed_flavors(result.assignment);
    std::erase_if(result_.quotas,
                  [&](const QuotaReport& report) { return closed.contains(report.flavor); });
    for (QuotaReport& report : result_.quotas) {
      result_.hidden += std::erase_if(report.holders, [&](const QuotaReport::Holder& holder) {
        return !sees(holder.workload.ns);
      });
    }
  }

  // It fits, and admission waits for others to be ready (8.5).
  void note_readiness(const ClusterQueue& queue, const Settings& settings) {
    if (settings.wait_for_pods_ready && settings.block_admission &&
        view_.count(api::kueue::kWorkload, not_ready()) > 0) {
      cause(CauseKind::PodsNotReady, "ClusterQueue/" + queue.name,
            "admits one workload after the other: blockAdmission waits for the pods of those that "
            "are admitted",
            "all admitted workloads have condition PodsReady");
    }
  }
  // It fits behind a workload that waits for longer than its queue allows.
  void note_overdue(const ClusterQueue& queue, Preempting& preempting, RequestRules& rules) {
    if (queue.strict_fifo) {
      return;
    }
    for (const PendingWorkload& one : pending_workloads(view_, queue.name)) {
      const Object& other = one.workload;
      if (other.uid() == workload_.uid()) {
        return;
      }
      if (!is_overdue(*queues_, other, now_)) {
        continue;
      }
      const auto& [priority, queued, uid] = queue_order(other);
      const Preempting::Result result = preempting.nominate(
          {.queue = &queue, .priority = -priority, .queued = queued}, rules.requests(other), false);
      if (result.assignment.mode != Mode::Fit && waits_for_others(result.assignment)) {
        cause(
            CauseKind::OthersFirst,
            sees(other.ns())
                ? fmt::format("LocalQueue/{}/{}", other.ns(), other.spec()["queueName"].as_string())
                : "ClusterQueue/" + queue.name,
            fmt::format("{} waits for longer than its {} and goes first", name_of(other), kMaxWait),
            fmt::format("{} is admitted or leaves the queue", name_of(other)));
        return;
      }
    }
  }

  static std::vector<Explanation::Preempted::Freed> freed_by(const Held& held) {
    std::map<FlavorResource, Amount> total;
    for (const auto& [of, amount] : held_quota(held.object)) {
      total[of] += amount;
    }
    std::vector<Explanation::Preempted::Freed> freed;
    freed.reserve(total.size());
    for (const auto& [of, amount] : total) {
      freed.push_back({.of = of, .amount = amount_text(of.resource, amount)});
    }
    return freed;
  }

  const View& view_;
  const Object& workload_;
  Instant now_;
  const Audience& viewer_;
  std::shared_ptr<const Snapshot> queues_{};
  Explanation result_{};
};

}  // namespace

Explanation explain(const View& view, const Object& workload, Instant now, const Audience& viewer) {
  return Explainer(view, workload, now, viewer).run();
}

}  // namespace athanor::kueue
