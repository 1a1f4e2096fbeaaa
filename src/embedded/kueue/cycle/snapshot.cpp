// SPDX-License-Identifier: Apache-2.0
// Reads queues and flavors, and sets up the quota tree.
#include "embedded/kueue/cycle/snapshot.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <set>

#include "api/kueue.hpp"
#include "kube/value/condition.hpp"

namespace athanor::kueue {
namespace {

std::optional<Amount> limit_of(const Value& quota, std::string_view key,
                               std::string_view resource) {
  const Value& limit = quota[key];
  return limit.is_null() ? std::nullopt : std::optional(amount_of(resource, limit));
}

void read_groups(const Value& groups, QuotaTree& tree, QuotaTree::NodeId node,
                 std::vector<ResourceGroup>* out) {
  for (const Value& group : groups.items()) {
    ResourceGroup result;
    for (const Value& resource : group["coveredResources"].items()) {
      result.covered.push_back(resource.str());
    }
    for (const Value& flavor : group["flavors"].items()) {
      FlavorQuotas quotas{.name = flavor["name"].str()};
      for (const Value& quota : flavor["resources"].items()) {
        std::string resource = quota["name"].str();
        quotas.cells.push_back(
            tree.set_limits(node, {quotas.name, resource},
                            {.nominal = amount_of(resource, quota["nominalQuota"]),
                             .borrowing = limit_of(quota, "borrowingLimit", resource),
                             .lending = limit_of(quota, "lendingLimit", resource)}));
        quotas.resources.push_back(std::move(resource));
      }
      result.flavors.push_back(std::move(quotas));
    }
    if (out != nullptr) {
      out->push_back(std::move(result));
    }
  }
}

// 1 where nothing is said.
double fair_weight(const Object& object) {
  const auto weight = Quantity::parse(object.spec().at({"fairSharing", "weight"}));
  if (!weight) {
    return 1;
  }
  // Exact down to a billionth: what is smaller but not 0 is refused when it is written.
  return static_cast<double>(weight->times(1'000'000).milli_value()) / 1e9;
}

template <class Names>
std::string joined_names(const Names& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ",") + name;
  }
  return text;
}

// Why a ClusterQueue cannot admit: the first reason, all messages (docs/spec/kueue.md section 9).
// `cycle`: the Cohorts above it that are their own ancestors.
void judge(ClusterQueue& queue, const Snapshot& snapshot, const std::map<std::string, bool>& checks,
           const std::set<std::string>& cycle) {
  if (queue.object.deleting()) {
    queue.inactive_reason = "Terminating";
    queue.inactive_message = "Can't admit new workloads; clusterQueue is terminating";
    return;
  }
  std::vector<std::pair<std::string, std::string>> problems;
  if (const std::string_view stop = queue.object.spec()["stopPolicy"].as_string();
      !stop.empty() && stop != "None") {
    problems.emplace_back("Stopped", "is stopped");
  }
  std::string missing_flavors;  // in the order of the spec
  for (const ResourceGroup& group : queue.groups) {
    for (const FlavorQuotas& flavor : group.flavors) {
      if (!snapshot.flavors.contains(flavor.name)) {
        missing_flavors += (missing_flavors.empty() ? "" : ",") + flavor.name;
      }
    }
  }
  if (!missing_flavors.empty()) {
    problems.emplace_back("FlavorNotFound",
                          fmt::format("references missing ResourceFlavor(s): {}", missing_flavors));
  }
  std::set<std::string> missing_checks;
  std::set<std::string> inactive_checks;
  for (const Value& entry :
       queue.object.spec().at({"admissionChecksStrategy", "admissionChecks"}).items()) {
    const auto found = checks.find(entry["name"].str());
    if (found == checks.end()) {
      missing_checks.insert(entry["name"].str());
    } else if (!found->second) {
      inactive_checks.insert(entry["name"].str());
    }
  }
  if (!missing_checks.empty()) {
    problems.emplace_back(
        "AdmissionCheckNotFound",
        fmt::format("references missing AdmissionCheck(s): {}", joined_names(missing_checks)));
  }
  if (!inactive_checks.empty()) {
    problems.emplace_back(
        "AdmissionCheckInactive",
        fmt::format("references inactive AdmissionCheck(s): {}", joined_names(inactive_checks)));
  }
  if (!cycle.empty()) {
    problems.emplace_back("CohortCycle",
                          fmt::format("is below a cycle of Cohorts: {}", joined_names(cycle)));
  }
  if (problems.empty()) {
    return;
  }
  queue.inactive_reason = problems.front().first;
  std::string messages;
  for (const auto& [reason, message] : problems) {
    messages += (messages.empty() ? "" : ", ") + message;
  }
  queue.inactive_message = fmt::format("Can't admit new workloads: {}.", messages);
}

// Cohorts as nodes, parents first; a cohort that is only named has no quota of its own. A cycle of
// parents is cut at one of them; ClusterQueues below it admit nothing.
class CohortTree {
 public:
  CohortTree(const std::vector<Object>& cohorts, QuotaTree& tree) : tree_(tree) {
    for (const Object& cohort : cohorts) {
      cohorts_.emplace(cohort.name(), cohort);
    }
  }

  QuotaTree::NodeId node_of(const std::string& name) {
    if (const auto found = nodes_.find(name); found != nodes_.end()) {
      return found->second;
    }
    std::optional<QuotaTree::NodeId> parent;
    const auto cohort = cohorts_.find(name);
    if (cohort != cohorts_.end()) {
      const std::string parent_name = cohort->second.spec()["parentName"].str();
      if (!parent_name.empty() && open_.insert(name).second) {
        if (!open_.contains(parent_name)) {
          parent = node_of(parent_name);
        }
        open_.erase(name);
      }
    }
    const QuotaTree::NodeId node = tree_.add_node(parent);
    nodes_.emplace(name, node);
    if (cohort != cohorts_.end()) {
      read_groups(cohort->second.spec()["resourceGroups"], tree_, node, nullptr);
    }
    return node;
  }

  void add_all() {
    for (const auto& [name, cohort] : cohorts_) {
      node_of(name);
    }
  }
  [[nodiscard]] const std::map<std::string, QuotaTree::NodeId>& nodes() const { return nodes_; }
  // Returns the Cohorts of the cycle that the way up from a Cohort ends in; none: it ends at a
  // root.
  [[nodiscard]] std::set<std::string> cycle_above(std::string name) const {
    std::vector<std::string> way;
    while (!name.empty()) {
      if (const auto again = std::ranges::find(way, name); again != way.end()) {
        return {again, way.end()};
      }
      const auto cohort = cohorts_.find(name);
      way.push_back(std::move(name));
      name = cohort == cohorts_.end() ? "" : cohort->second.spec()["parentName"].str();
    }
    return {};
  }
  [[nodiscard]] double weight_of(const std::string& name) const {
    const auto cohort = cohorts_.find(name);
    return cohort == cohorts_.end() ? 1 : fair_weight(cohort->second);
  }

 private:
  QuotaTree& tree_;
  std::map<std::string, Object> cohorts_{};
  std::map<std::string, QuotaTree::NodeId> nodes_{};
  std::set<std::string> open_{};
};

PreemptionPolicy policy_of(std::string_view text) {
  return text == "LowerPriority"               ? PreemptionPolicy::LowerPriority
         : text == "LowerOrNewerEqualPriority" ? PreemptionPolicy::LowerOrNewerEqualPriority
         : text == "Any"                       ? PreemptionPolicy::Any
                                               : PreemptionPolicy::Never;
}

void read_preemption(const Value& spec, ClusterQueue& queue) {
  const Value& fungibility = spec["flavorFungibility"];
  queue.try_next_when_borrowing = fungibility["whenCanBorrow"].as_string() == "TryNextFlavor";
  const std::string_view preempt = fungibility["whenCanPreempt"].as_string();
  queue.try_next_when_preempting = preempt != "MayStopSearch" && preempt != "Preempt";
  queue.prefers_preemption = fungibility["preference"].as_string() == "PreemptionOverBorrowing";
  const Value& preemption = spec["preemption"];
  queue.within_queue = policy_of(preemption["withinClusterQueue"].as_string());
  queue.reclaim = policy_of(preemption["reclaimWithinCohort"].as_string());
  const Value& borrow = preemption["borrowWithinCohort"];
  queue.preempts_while_borrowing =
      policy_of(borrow["policy"].as_string()) != PreemptionPolicy::Never;
  if (const Value& threshold = borrow["maxPriorityThreshold"]; !threshold.is_null()) {
    queue.borrow_threshold = threshold.as_int();
  }
}

ClusterQueue read_cluster_queue(const Object& object, CohortTree& cohorts, QuotaTree& tree) {
  ClusterQueue queue;
  queue.object = object;
  queue.name = object.name();
  const Value& spec = object.spec();
  std::optional<QuotaTree::NodeId> parent;
  if (const std::string cohort = spec["cohortName"].str(); !cohort.empty()) {
    parent = cohorts.node_of(cohort);
  }
  queue.node = tree.add_node(parent);
  read_groups(spec["resourceGroups"], tree, queue.node, &queue.groups);
  if (auto selector = LabelSelector::from_value(spec["namespaceSelector"]); selector.ok()) {
    queue.namespaces = *std::move(selector);
  }
  queue.strict_fifo = spec["queueingStrategy"].as_string() == "StrictFIFO";
  queue.strict_per_flavor = object.annotation(kStrictFifo) == kPerFlavor;
  read_preemption(spec, queue);
  return queue;
}

}  // namespace

std::string sum_name(std::string_view flavor, std::string_view resource) {
  return fmt::format("{}{}{}", flavor, kSumSeparator, resource);
}

bool ClusterQueue::covers(std::string_view resource) const {
  return std::ranges::any_of(groups, [&](const ResourceGroup& group) {
    return std::ranges::find(group.covered, resource) != group.covered.end();
  });
}

namespace {

// What the flavors of a queue say.
void find_flavors(ClusterQueue& queue, const Snapshot& snapshot) {
  for (ResourceGroup& group : queue.groups) {
    for (FlavorQuotas& quotas : group.flavors) {
      const auto found = snapshot.flavors.find(quotas.name);
      if (found == snapshot.flavors.end()) {
        continue;
      }
      quotas.flavor = &found->second;
      for (const Member& label : found->second.node_labels.members()) {
        group.label_keys.emplace(label.key());
      }
    }
  }
}

// Who is below whom.
void set_up_nodes(Snapshot& snapshot, const CohortTree& cohorts) {
  snapshot.nodes.resize(snapshot.quota.nodes());
  for (const auto& [name, node] : snapshot.cohorts) {
    snapshot.nodes[node].name = name;
    snapshot.nodes[node].weight = cohorts.weight_of(name);
    if (const auto parent = snapshot.quota.parent(node)) {
      snapshot.nodes[*parent].cohorts.push_back(node);
    }
  }
  for (const auto& [name, queue] : snapshot.cluster_queues) {
    TreeNode& node = snapshot.nodes[queue.node];
    node.name = name;
    node.queue = &queue;
    node.weight = fair_weight(queue.object);
    if (const auto parent = snapshot.quota.parent(queue.node)) {
      snapshot.nodes[*parent].queues.push_back(&queue);
    }
  }
}

std::shared_ptr<const void> make_snapshot(const View& view) {
  const auto made = std::make_shared<Snapshot>();
  Snapshot& snapshot = *made;
  for (const Object& object : view.list(api::kueue::kResourceFlavor)) {
    const Value& spec = object.spec();
    snapshot.flavors.emplace(object.name(), Flavor{.name = std::string(object.name()),
                                                   .node_labels = spec["nodeLabels"],
                                                   .node_taints = spec["nodeTaints"],
                                                   .tolerations = spec["tolerations"]});
  }
  std::map<std::string, bool> checks;
  for (const Object& check : view.list(api::kueue::kAdmissionCheck)) {
    checks.emplace(check.name(), condition_is(check.status()["conditions"], "Active", "True"));
  }
  CohortTree cohorts(view.list(api::kueue::kCohort), snapshot.quota);
  cohorts.add_all();  // those without ClusterQueues lend what they have, too
  for (const Object& object : view.list(api::kueue::kClusterQueue)) {
    ClusterQueue queue = read_cluster_queue(object, cohorts, snapshot.quota);
    find_flavors(queue, snapshot);
    judge(queue, snapshot, checks, cohorts.cycle_above(object.spec()["cohortName"].str()));
    snapshot.cluster_queues.emplace(queue.name, std::move(queue));
  }
  snapshot.cohorts = cohorts.nodes();
  set_up_nodes(snapshot, cohorts);
  snapshot.quota.finish();
  for (const auto& [cell, id] : snapshot.quota.cells()) {
    snapshot.sums.emplace_back(sum_name(cell.flavor, cell.resource), id);
  }
  std::ranges::sort(snapshot.sums);
  for (const Object& object : view.list(api::kueue::kLocalQueue)) {
    const std::string_view stop = object.spec()["stopPolicy"].as_string();
    const auto max_wait = parse_go_duration(object.annotation(kMaxWait));
    snapshot.local_queues.emplace(
        object.key(), LocalQueue{.object = object,
                                 .cluster_queue = object.spec()["clusterQueue"].str(),
                                 .stopped = !stop.empty() && stop != "None",
                                 .max_wait = max_wait.ok() && *max_wait > Duration::zero()
                                                 ? std::optional<Duration>(*max_wait)
                                                 : std::nullopt});
  }
  return made;
}

}  // namespace

std::string path_of(const Snapshot& snapshot, QuotaTree::NodeId node) {
  std::string path = "/" + snapshot.nodes[node].name;
  while (const auto parent = snapshot.quota.parent(node)) {
    node = *parent;
    path.insert(0, "/" + snapshot.nodes[node].name);
  }
  return path;
}

bool makes_same_snapshot(const Kind& kind, const Object& before, const Object& after) {
  if (&kind == &api::kueue::kAdmissionCheck) {
    return condition_is(before.status()["conditions"], "Active", "True") ==
           condition_is(after.status()["conditions"], "Active", "True");
  }
  return before.deleting() == after.deleting() && before.spec() == after.spec() &&
         before.metadata()["annotations"] == after.metadata()["annotations"];
}

std::shared_ptr<const Snapshot> read_queues(const View& view) {
  static const Kind* const kKinds[] = {&api::kueue::kResourceFlavor, &api::kueue::kAdmissionCheck,
                                       &api::kueue::kCohort, &api::kueue::kClusterQueue,
                                       &api::kueue::kLocalQueue};
  return view.derived<Snapshot>(
      {.kinds = kKinds, .make = make_snapshot, .overlooks = makes_same_snapshot});
}

}  // namespace athanor::kueue
