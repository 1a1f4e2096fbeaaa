// SPDX-License-Identifier: Apache-2.0
// One cycle: order the pods that wait, find each a node, bind it or say why not.
#include "embedded/scheduler/scheduler.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "api/builtin.hpp"
#include "embedded/scheduler/claims.hpp"
#include "embedded/scheduler/node_state.hpp"
#include "embedded/scheduler/preemption.hpp"
#include "embedded/scheduler/topology.hpp"
#include "kube/text/json.hpp"
#include "kube/value/condition.hpp"
#include "runtime/view/failures.hpp"

namespace athanor::scheduler {
namespace {

constexpr std::string_view kDefaultProfile = "default-scheduler";
constexpr std::string_view kIndex = "scheduling";
constexpr std::string_view kPending = "pending";
constexpr std::string_view kPendingOf = "pending/";  // and the name of another scheduler
constexpr std::string_view kOn = "on/";              // and the node's name
// Sums over the pods of a node: these, and what is asked for by a letter ('u' used, 's' for scores)
// and the resource, or 'h' and a host port.
constexpr std::string_view kPods = "pods";
constexpr std::string_view kApart = "apart";
// Plans stay below the engine's cap of 500 steps; the rest follows in the next run.
constexpr std::size_t kMostSteps = 400;

std::vector<std::string> scheduling_values(const Object& pod) {
  const std::string_view phase = pod.status()["phase"].as_string();
  if (phase == "Succeeded" || phase == "Failed") {
    return {};
  }
  const Value& spec = pod.spec();
  if (const std::string_view node = spec["nodeName"].as_string(); !node.empty()) {
    return {std::string(kOn).append(node)};
  }
  const std::string_view scheduler = spec["schedulerName"].as_string();
  if (!spec["schedulingGates"].empty() || pod.deleting()) {
    return {};
  }
  const bool ours = scheduler.empty() || scheduler == kDefaultProfile;
  return {ours ? std::string(kPending) : std::string(kPendingOf).append(scheduler)};
}

Select pods(std::string part) {
  return {.index = std::string(kIndex), .index_value = std::move(part)};
}
Select pods_on(const Object& node) {
  return pods(std::string(kOn).append(node.name()));
}

void add_placed(const Object& pod, Totals& totals) {
  ++totals[std::string(kPods)];
  if (Topology::is_repelled(pod)) {
    ++totals[std::string(kApart)];
  }
  const Value spec = counted_spec(pod);
  for (const auto& [name, amount] : requests_of(spec)) {
    totals["u" + name] += amount;
  }
  for (const auto& [name, amount] : scored_requests_of(spec)) {
    totals["s" + name] += amount;
  }
  for (const HostPort& port : host_ports_of(pod.spec())) {
    ++totals["h" + host_port_text(port)];
  }
}

std::vector<Object> in_order(std::vector<Object> waiting) {
  std::ranges::stable_sort(waiting, [](const Object& a, const Object& b) {
    const std::int64_t first = a.spec()["priority"].as_int();
    const std::int64_t second = b.spec()["priority"].as_int();
    // Uids of this server sort by arrival.
    return first != second
               ? first > second
               : std::tuple(a.creation_time(), a.uid()) < std::tuple(b.creation_time(), b.uid());
  });
  return waiting;
}

// Returns the profile that schedules the pod; as in kube-scheduler, it reports the pod's events.
std::string profile_of(const Object& pod) {
  const std::string_view name = pod.spec()["schedulerName"].as_string();
  return std::string(name.empty() ? kDefaultProfile : name);
}

class Cycle {
 public:
  Cycle(const View& view, Instant now, std::span<const SchedulingHooks* const> hooks)
      : view_(view), now_(now) {
    for (const SchedulingHooks* one : hooks) {
      sessions_.push_back(one->begin(view, now));
    }
    for (const Object& node : view.list(api::kNode)) {
      position_[std::string(node.name())] = nodes_.size();
      nodes_.push_back({.node = node, .allocatable = amounts_of(node.status()["allocatable"])});
      count(nodes_.back());
    }
  }

  void schedule(const Object& pod) {
    Candidate candidate = candidate_of(pod);
    const ClaimsState claims = claims_state(view_, pod);
    if (!claims.refusal.empty()) {
      report(pod, "Unschedulable", hopeless_message(candidate, claims.refusal));
      return;
    }
    const Hooked hooked = hooked_by(pod);
    for (SchedulingSession* session : hooked) {
      if (session->defers(pod)) {
        return;
      }
      if (const auto refusal = session->refuse(pod)) {
        report(pod, "Unschedulable", hopeless_message(candidate, *refusal));
        return;
      }
      std::ranges::move(session->covers(pod), std::back_inserter(candidate.covered));
    }
    if (wait_for_volumes(candidate, claims)) {
      return;
    }
    // Nodes only fill up during a cycle: what did not fit still does not. Unless it matters who is
    // there already.
    const bool social =
        crowded_ || Topology::matters(pod) || !claims.selectors.empty() || !claims.waiting.empty();
    const bool comparable = !social && hooked.empty();
    const std::string shape = comparable ? shape_of(candidate) : std::string{};
    if (const auto known = hopeless_.find(shape); comparable && known != hopeless_.end()) {
      report(pod, "Unschedulable", known->second);
      return;
    }
    if (keep_promise(pod)) {
      return;
    }
    std::optional<Topology> topology;
    if (social) {
      index_residents();
      topology.emplace(view_, pod, nodes_);
    }
    const Verdicts verdicts = check_nodes(candidate, pod, topology, claims, hooked);
    if (!verdicts.fitting.empty()) {
      choose(candidate, topology, verdicts.fitting, claims, hooked);
      return;
    }
    for (SchedulingSession* session : hooked) {
      plan_.merge(session->release(pod));
    }
    index_residents();
    const MoreChecks more = [&](const NodeState& node, std::span<const std::string_view> leaving) {
      return check_hooks(hooked, pod, node.node, leaving).reasons.empty();
    };
    if (const auto eviction = find_eviction(view_, candidate, nodes_, verdicts.for_good, more)) {
      preempt(candidate, *eviction, unschedulable_message(candidate, verdicts.refusals, true));
      return;
    }
    std::string message = unschedulable_message(candidate, verdicts.refusals);
    report(pod, "Unschedulable", message);
    if (comparable) {
      hopeless_.emplace(shape, std::move(message));
    }
  }

  [[nodiscard]] bool full() const { return plan_.steps().size() >= kMostSteps; }
  [[nodiscard]] Plan take() { return std::move(plan_); }

 private:
  using Hooked = std::vector<SchedulingSession*>;

  // The nodes for a pod: those that take it, and why others do not.
  struct Verdicts {
    std::vector<const NodeState*> fitting{};
    std::vector<Refusal> refusals{};
    std::vector<bool> for_good{};  // of every node: whether a refusal lasts
  };

  Verdicts check_nodes(const Candidate& candidate, const Object& pod,
                       const std::optional<Topology>& topology, const ClaimsState& claims,
                       const Hooked& hooked) {
    Verdicts verdicts;
    for (const NodeState& node : nodes_) {
      Refusal refusal = check(candidate, node);
      if (refusal.reasons.empty() && !reaches_volumes(claims, node.node)) {
        refusal = {.reasons = {"node(s) had volume node affinity conflict"}, .for_good = true};
      }
      if (refusal.reasons.empty() && topology) {
        refusal = topology->check(node);
      }
      if (refusal.reasons.empty()) {
        refusal = check_hooks(hooked, pod, node.node, {});
      }
      verdicts.for_good.push_back(refusal.for_good);
      if (refusal.reasons.empty()) {
        verdicts.fitting.push_back(&node);
      } else {
        verdicts.refusals.push_back(std::move(refusal));
      }
    }
    return verdicts;
  }

  // The sessions that have a say about a pod.
  Hooked hooked_by(const Object& pod) const {
    Hooked hooked;
    for (const auto& session : sessions_) {
      if (session->concerns(pod)) {
        hooked.push_back(session.get());
      }
    }
    return hooked;
  }

  static Refusal check_hooks(const Hooked& hooked, const Object& pod, const Object& node,
                             std::span<const std::string_view> leaving) {
    for (SchedulingSession* session : hooked) {
      if (auto refusal = session->filter(pod, node, leaving)) {
        return {.reasons = {std::move(refusal->reason)}, .for_good = refusal->for_good};
      }
    }
    return {};
  }

  // As sums, which the caches keep: with ten thousand pods a cycle looks at none of them.
  void count(NodeState& state) {
    for (const auto& [name, amount] : view_.totals(api::kPod, pods_on(state.node), add_placed)) {
      if (name == kPods) {
        state.pods = amount;
      } else if (name == kApart) {
        crowded_ = true;
      } else if (name.front() == 'h') {
        state.host_ports.insert(parse_host_port(std::string_view(name).substr(1)));
      } else {
        (name.front() == 'u' ? state.used : state.scored_used).emplace(name.substr(1), amount);
      }
    }
  }

  // Some questions are about each of them.
  void index_residents() {
    if (std::exchange(residents_known_, true)) {
      return;
    }
    for (NodeState& state : nodes_) {
      std::vector<Object> all = view_.list(api::kPod, pods_on(state.node));
      all.insert(all.end(), state.residents.begin(), state.residents.end());
      state.residents = std::move(all);
    }
  }

  void choose(const Candidate& candidate, const std::optional<Topology>& topology,
              const std::vector<const NodeState*>& fitting, const ClaimsState& claims,
              const Hooked& hooked) {
    std::vector<std::int64_t> points = scores(candidate, fitting);
    for (SchedulingSession* session : hooked) {
      for (std::size_t i = 0; i < fitting.size(); ++i) {
        points[i] += session->score(candidate.pod, fitting[i]->node);
      }
    }
    if (topology) {
      const std::vector<std::int64_t> more = topology->scores(fitting);
      std::ranges::transform(points, more, points.begin(), std::plus<>{});
    }
    // The first of equals: nodes are in order of name.
    const auto best = std::ranges::max_element(points) - points.begin();
    const Object& node = fitting[static_cast<std::size_t>(best)]->node;
    if (claims.waiting.empty()) {
      bind(candidate.pod, node, hooked);
    } else {
      select(candidate.pod, node, claims);
    }
  }

  // Volumes that are made for a node come before the pod: it keeps its place until they are there.
  void select(const Object& pod, const Object& node, const ClaimsState& claims) {
    for (const Object& claim : claims.waiting) {
      plan_.then(Patch{
          .target = {&api::kPersistentVolumeClaim, claim.key()},
          .merge = Value::object(
              {{"metadata",
                Value::object({{"annotations", Value::object({{kSelectedNode, node.name()}})}})}}),
          .guard = {.uid = std::string(claim.uid())}});
    }
    nodes_[position_.find(node.name())->second].place(pod);
  }

  // True while the volumes for a chosen node are still made.
  bool wait_for_volumes(const Candidate& candidate, const ClaimsState& claims) {
    const auto selected = position_.find(claims.selected);
    if (claims.waiting.empty() || selected == position_.end()) {
      return false;
    }
    const bool all_chosen = std::ranges::all_of(claims.waiting, [&](const Object& claim) {
      return claim.annotation(kSelectedNode) == claims.selected;
    });
    if (!all_chosen || !check(candidate, nodes_[selected->second]).reasons.empty()) {
      return false;
    }
    nodes_[selected->second].place(candidate.pod);
    return true;
  }

  // What no node could change.
  [[nodiscard]] std::string hopeless_message(const Candidate& candidate,
                                             const std::string& reason) const {
    std::vector<Refusal> refusals(nodes_.size(), {.reasons = {}, .for_good = true});
    const std::string text = unschedulable_message(candidate, refusals);
    const std::string head = fmt::format("0/{} nodes are available: ", nodes_.size());
    return text.starts_with(head) ? head + reason + text.substr(head.size()) : text;
  }

  // A pod whose victims are still ending keeps its place on their node.
  bool keep_promise(const Object& pod) {
    const auto promised = position_.find(pod.status()["nominatedNodeName"].as_string());
    if (promised == position_.end()) {
      return false;
    }
    index_residents();
    if (!waits_for_victims(pod, nodes_[promised->second])) {
      return false;
    }
    nodes_[promised->second].place(pod);
    return true;
  }

  void preempt(const Candidate& candidate, const Eviction& eviction, const std::string& message) {
    const Object& pod = candidate.pod;
    const std::string node(nodes_[eviction.node].node.name());
    for (const Object& victim : eviction.victims) {
      if (victim.deleting()) {
        continue;
      }
      Value conditions = victim.status()["conditions"];
      set_condition(conditions,
                    {.type = "DisruptionTarget",
                     .status = "True",
                     .reason = "PreemptionByScheduler",
                     .message = fmt::format("{}: preempting to accommodate a higher priority pod",
                                            profile_of(pod))},
                    now_);
      plan_.then(Status{.target = {&api::kPod, victim.key()},
                        .status = Value::object({{"conditions", conditions}}),
                        .guard = {.uid = std::string(victim.uid())}});
      plan_.then(Delete{.target = {&api::kPod, victim.key()},
                        .guard = {.uid = std::string(victim.uid())}});
      plan_.then(Emit{.about = {&api::kPod, victim.key()},
                      .about_uid = std::string(victim.uid()),
                      .reason = "Preempted",
                      .note = fmt::format("Preempted by pod {} on node {}", pod.uid(), node),
                      .component = profile_of(pod)});
    }
    report(pod, "Unschedulable", message, node);
    nodes_[eviction.node].place(pod);
  }

  static std::string shape_of(const Candidate& candidate) {
    const Value& spec = candidate.pod.spec();
    Value requests = Value::object();
    for (const auto& [name, amount] : candidate.requests) {
      requests.set(name, amount);
    }
    Value ports = Value::list();
    for (const HostPort& port : candidate.host_ports) {
      ports.push_back(host_port_text(port));
    }
    return json::print(Value::list({requests, spec["nodeSelector"], spec["affinity"],
                                    spec["tolerations"], spec["preemptionPolicy"], ports}));
  }

  void bind(const Object& pod, const Object& node, const Hooked& hooked) {
    const Step step = Replace{
        .target = {&api::kPod, pod.key()},
        .object = Value::object(
            {{"apiVersion", "v1"},
             {"kind", "Binding"},
             {"metadata",
              Value::object({{"name", pod.name()}, {"namespace", pod.ns()}, {"uid", pod.uid()}})},
             {"target", Value::object({{"kind", "Node"}, {"name", node.name()}})}}),
        .subresource = "binding"};
    if (const auto error = refused(view_, step)) {
      report(pod, "SchedulerError", error->message);  // and it does not hold up the others
      return;
    }
    // What must exist before the pod is bound. A step that fails ends the plan, and the next cycle
    // starts from what is there.
    for (SchedulingSession* session : hooked) {
      Plan reserved = session->reserve(pod, node);
      for (const Step& one : reserved.steps()) {
        if (const auto error = refused(view_, one)) {
          report(pod, "SchedulerError", error->message);
          return;
        }
      }
      if (reserved.error()) {
        report(pod, "SchedulerError", reserved.error()->message);
        return;
      }
      plan_.merge(std::move(reserved));
    }
    plan_.then(step);
    emit(pod, "Normal", "Scheduled",
         fmt::format("Successfully assigned {}/{} to {}", pod.ns(), pod.name(), node.name()));
    nodes_[position_.find(node.name())->second].place(pod);
    crowded_ = crowded_ || Topology::is_repelled(pod);
  }

  // Only what is new is written. `nominated`: the node that is being freed for the pod.
  void report(const Object& pod, const char* reason, const std::string& message,
              const std::string& nominated = {}) {
    const Value& known = find_condition(pod.status()["conditions"], "PodScheduled");
    if (known["status"].as_string() == "False" && known["reason"].as_string() == reason &&
        known["message"].as_string() == message && nominated.empty()) {
      return;
    }
    Value conditions = pod.status()["conditions"];
    set_condition(conditions,
                  {.type = "PodScheduled", .status = "False", .reason = reason, .message = message},
                  now_);
    Value status = Value::object({{"phase", "Pending"}, {"conditions", conditions}});
    if (!nominated.empty()) {
      status.set("nominatedNodeName", nominated);
    }
    plan_.then(Status{.target = {&api::kPod, pod.key()},
                      .status = std::move(status),
                      .guard = {.uid = std::string(pod.uid())}});
    emit(pod, "Warning", "FailedScheduling", message);
  }

  void emit(const Object& pod, const char* type, const char* reason, std::string note) {
    plan_.then(Emit{.about = {&api::kPod, pod.key()},
                    .about_uid = std::string(pod.uid()),
                    .type = type,
                    .reason = reason,
                    .note = std::move(note),
                    .component = profile_of(pod)});
  }

  const View& view_;
  Instant now_;
  std::vector<NodeState> nodes_{};
  std::map<std::string, std::size_t, std::less<>> position_{};
  std::map<std::string, std::string> hopeless_{};
  bool crowded_ = false;  // some placed pod keeps others away
  bool residents_known_ = false;
  std::vector<std::unique_ptr<SchedulingSession>> sessions_{};
  Plan plan_{};
};

Plan reconcile(const View& view, const Key& /*key*/, Instant now) {
  return schedule(view, now, {});
}

}  // namespace

Plan schedule(const View& view, Instant now, std::span<const SchedulingHooks* const> hooks) {
  std::vector<Object> all = view.list(api::kPod, pods(std::string(kPending)));
  for (const SchedulingHooks* one : hooks) {
    std::vector<std::string> names(one->schedulers.begin(), one->schedulers.end());
    if (one->profiles != nullptr) {
      std::ranges::move(one->profiles(view), std::back_inserter(names));
    }
    for (const std::string& name : names) {
      std::vector<Object> more = view.list(api::kPod, pods(std::string(kPendingOf).append(name)));
      std::ranges::move(more, std::back_inserter(all));
    }
  }
  const std::vector<Object> waiting = in_order(std::move(all));
  if (waiting.empty()) {
    return Plan::done();
  }
  Cycle cycle(view, now, hooks);
  for (const Object& pod : waiting) {
    if (cycle.full()) {
      break;  // every step changes a pod that was read, so there is a next run
    }
    cycle.schedule(pod);
  }
  return cycle.take();
}

const Operator& scheduler_operator() {
  static const Kind* const kReads[] = {&api::kPod,
                                       &api::kNode,
                                       &api::kNamespace,
                                       &api::kPersistentVolumeClaim,
                                       &api::kPersistentVolume,
                                       &api::kStorageClass,
                                       &api::kPodDisruptionBudget};
  static const Kind* const kWrites[] = {&api::kPod, &api::kPersistentVolumeClaim, &api::kEvent};
  static const Kind* const kSmall[] = {&api::kNode, &api::kPodDisruptionBudget};
  static const Index kIndexes[] = {{&api::kPod, kIndex, scheduling_values}};
  static const Operator kOperator{.name = kDefaultProfile,
                                  .primary = &api::kPod,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .indexes = kIndexes,
                                  .reconcile = reconcile,
                                  .singleton = true,
                                  .user = "system:kube-scheduler",
                                  .small = kSmall};
  return kOperator;
}

HookedScheduler::HookedScheduler(std::span<const SchedulingHooks* const> hooks,
                                 Plan (*reconcile)(const View& view, const Key& key, Instant now))
    : operator_(scheduler_operator()) {
  const auto append = [](auto& into, const auto& from) {
    into.insert(into.end(), from.begin(), from.end());
  };
  append(reads_, operator_.reads);
  append(writes_, operator_.writes);
  append(small_, operator_.small);
  append(indexes_, operator_.indexes);
  for (const SchedulingHooks* one : hooks) {
    append(reads_, one->reads);
    append(writes_, one->writes);
    append(small_, one->small);
    append(indexes_, one->indexes);
  }
  operator_.reads = reads_;
  operator_.writes = writes_;
  operator_.small = small_;
  operator_.indexes = indexes_;
  operator_.reconcile = reconcile;
  // What hooks reserve must not be promised again: no run on a state from before a restart.
  operator_.sees_all = !hooks.empty();
}

}  // namespace athanor::scheduler
