// SPDX-License-Identifier: Apache-2.0
#include "console/data/queue_rows.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "api/kueue.hpp"
#include "console/data/queue_quota.hpp"
#include "console/data/row_texts.hpp"
#include "kube/value/condition.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"
#include "views/cluster_view.hpp"
#include "views/job_labels.hpp"
#include "views/reasons.hpp"

namespace athanor::console {
namespace {

namespace kinds = api::kueue;

double number_of(const Quantity& quantity) {
  return static_cast<double>(quantity.milli_value()) / 1000.0;
}

// Returns the sums of borrowed quota, keyed by cohort.
std::map<std::string, QuotaUses> uses_of_cohorts(const Facts& facts) {
  std::map<std::string, QuotaUses> cohorts;
  for (const Object& queue : facts.all(kinds::kClusterQueue)) {
    if (std::string cohort = queue.spec()["cohortName"].str(); !cohort.empty()) {
      add_uses(cohorts[cohort], uses_of_queue(queue));
    }
  }
  return cohorts;
}

// Returns the part of a queue's unused quota that others of its cohort borrow, at most.
Quantity lent_of(const QuotaUse& own, const QuotaUse& cohort) {
  Quantity unused = own.nominal;
  unused -= own.used;
  Quantity borrowed = cohort.borrowed;
  borrowed -= own.borrowed;
  const Quantity least = borrowed < unused ? borrowed : unused;
  return least.is_negative() ? Quantity() : least;
}

Value quota_value(const std::pair<std::string, std::string>& name, const QuotaUse& use,
                  const Quantity& lent) {
  return Value::object({{"flavor", name.first},
                        {"resource", name.second},
                        {"shortResource", views::short_resource(name.second)},
                        {"nominal", use.nominal.text()},
                        {"nominalNumber", number_of(use.nominal)},
                        {"used", use.used.text()},
                        {"usedNumber", number_of(use.used)},
                        {"reserved", use.reserved.text()},
                        {"reservedNumber", number_of(use.reserved)},
                        {"borrowed", use.borrowed.text()},
                        {"borrowedNumber", number_of(use.borrowed)},
                        {"lent", lent.text()},
                        {"lentNumber", number_of(lent)}});
}

Value cluster_queue_value(const Object& queue, const std::map<std::string, QuotaUses>& cohorts) {
  const Value& active = find_condition(queue.status()["conditions"], "Active");
  Value quotas = Value::list();
  const auto cohort = cohorts.find(queue.spec()["cohortName"].str());
  for (const auto& [name, use] : uses_of_queue(queue)) {
    quotas.push_back(quota_value(
        name, use, cohort == cohorts.end() ? Quantity() : lent_of(use, cohort->second.at(name))));
  }
  Value row = Value::object({{"name", queue.name()},
                             {"active", active["status"].as_string() != "False"},
                             {"strategy", queue.spec()["queueingStrategy"]},
                             {"waiting", queue.status()["pendingWorkloads"].as_int()},
                             {"admitted", queue.status()["admittedWorkloads"].as_int()},
                             {"quotas", std::move(quotas)}});
  set_text(row, "cohort", queue.spec()["cohortName"].as_string());
  if (active["status"].as_string() == "False") {
    row.set("inactiveReason", active["message"]);
  }
  return row;
}

// Clusters against GPU types and slots, summed over all ClusterQueues.
Value matrix_of(const Facts& facts) {
  QuotaUses sums;
  for (const Object& queue : facts.all(kinds::kClusterQueue)) {
    add_uses(sums, uses_of_queue(queue));
  }
  std::set<std::string> clusters;
  for (const Object& flavor : facts.all(kinds::kResourceFlavor)) {
    if (views::is_cluster_flavor(flavor)) {
      clusters.emplace(flavor.name());
    }
  }
  std::set<std::string> locked;
  for (const Object& cluster : facts.all(api::kFournosCluster)) {
    clusters.emplace(cluster.name());
    if (cluster.status()["locked"].as_bool()) {
      locked.emplace(cluster.name());
    }
  }
  std::set<std::string> columns;
  Value cells = Value::list();
  for (const auto& [name, use] : sums) {
    if (clusters.contains(name.first)) {
      const std::string column = views::short_resource(name.second);
      columns.insert(column);
      cells.push_back(Value::object({{"row", name.first},
                                     {"column", column},
                                     {"used", number_of(use.used)},
                                     {"total", number_of(use.nominal)},
                                     {"locked", locked.contains(name.first)}}));
    }
  }
  Value rows = Value::list();
  for (const std::string& cluster : clusters) {
    rows.push_back(cluster);
  }
  Value titles = Value::list();
  for (const std::string& column : columns) {
    titles.push_back(column);
  }
  return Value::object(
      {{"rows", std::move(rows)}, {"columns", std::move(titles)}, {"cells", std::move(cells)}});
}

std::string state_of(const views::QueueEntry& entry) {
  const Object& workload = entry.workload;
  if (condition_is(workload.status()["conditions"], "Finished", "True")) {
    return "finished";
  }
  if (!workload.spec()["active"].as_bool(true)) {
    return "inactive";
  }
  switch (entry.state) {
    case views::QueueState::Running:
      return "runs";
    case views::QueueState::HasQuota:
      return "has quota";
    case views::QueueState::Waiting:
      return "waits";
    case views::QueueState::Inactive:
      return "inactive";
  }
  return "inactive";
}

Value workload_row(const views::QueueEntry& entry, const std::string& cluster_queue) {
  const Object& workload = entry.workload;
  Value row = row_of(workload);
  row.set("state", state_of(entry));
  set_text(row, "queue", entry.queue);
  set_text(row, "clusterQueue", cluster_queue);
  if (entry.position > 0) {
    row.set("position", entry.position);
  }
  row.set("priority", entry.priority);
  if (const auto owner = workload.controller()) {
    row.set("owner", owner->kind + "/" + owner->name);
    if (owner->kind == "FournosJob") {
      row.set("job", owner->name);
    }
  }
  if (!row.contains("job")) {
    set_text(row, "job", workload.label(views::kJobNameLabel));
  }
  set_text(row, "requests", entry.requests);
  set_text(row, "reason", entry.reason);
  set_text(row, "says", entry.queue_says);
  for (const auto& [column, type] :
       {std::pair{"admitted", "Admitted"}, std::pair{"finished", "Finished"}}) {
    const Value& condition = find_condition(workload.status()["conditions"], type);
    if (condition["status"].as_string() == "True") {
      row.set(column, condition["lastTransitionTime"]);
    }
  }
  return row;
}

}  // namespace

const ListShape& workload_shape() {
  using enum ColumnType;
  static const ListShape kShape{.name = "workloads",
                                .state = "state",
                                .columns = {{"ns", Text},
                                            {"name", Text},
                                            {"uid", Text},
                                            {"resourceVersion", Text},
                                            {"state", Text},
                                            {"queue", Text},
                                            {"clusterQueue", Text},
                                            {"position", Number},
                                            {"priority", Number},
                                            {"owner", Text},
                                            {"job", Text},
                                            {"requests", Text},
                                            {"reason", Text},
                                            {"says", Text},
                                            {"created", Time},
                                            {"admitted", Time},
                                            {"finished", Time}},
                                .words = {{"namespace", "ns"}, {"phase", "state"}}};
  return kShape;
}

std::vector<Value> workload_rows(const Facts& facts, const JobSurroundings& around) {
  std::map<Key, std::string> cluster_queues;
  for (const Object& local : facts.all(kinds::kLocalQueue)) {
    cluster_queues.emplace(local.key(), local.spec()["clusterQueue"].str());
  }
  std::vector<Value> rows;
  rows.reserve(around.queue.size() + around.finished.size());
  for (const std::vector<views::QueueEntry>* part : {&around.queue, &around.finished}) {
    for (const views::QueueEntry& entry : *part) {
      const auto queue = cluster_queues.find({std::string(entry.workload.ns()), entry.queue});
      rows.push_back(workload_row(entry, queue == cluster_queues.end() ? "" : queue->second));
    }
  }
  return rows;
}

Value queue_page(const Facts& facts, const JobSurroundings& around) {
  const auto cohorts = uses_of_cohorts(facts);
  Value cluster_queues = Value::list();
  for (const Object& queue : facts.all(kinds::kClusterQueue)) {
    cluster_queues.push_back(cluster_queue_value(queue, cohorts));
  }
  std::map<Key, std::pair<std::int64_t, std::int64_t>> counts;  // waiting, admitted
  for (const views::QueueEntry& entry : around.queue) {
    auto& [waiting, admitted] = counts[{std::string(entry.workload.ns()), entry.queue}];
    waiting += entry.state == views::QueueState::Waiting ? 1 : 0;
    admitted += entry.state == views::QueueState::Running ? 1 : 0;
  }
  Value local_queues = Value::list();
  for (const Object& local : facts.all(kinds::kLocalQueue)) {
    const auto& [waiting, admitted] = counts[local.key()];
    local_queues.push_back(Value::object(
        {{"ns", local.ns()},
         {"name", local.name()},
         {"clusterQueue", local.spec()["clusterQueue"]},
         {"waiting", waiting},
         {"admitted", admitted},
         {"active", !condition_is(local.status()["conditions"], "Active", "False")}}));
  }
  return Value::object({{"clusterQueues", std::move(cluster_queues)},
                        {"localQueues", std::move(local_queues)},
                        {"matrix", matrix_of(facts)}});
}

}  // namespace athanor::console
