// SPDX-License-Identifier: Apache-2.0
// Gauges from the queues' status and what waits in them; counters from the changes of Workloads'
// conditions.
#include "embedded/kueue/instruments.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "embedded/kueue/configuration.hpp"
#include "embedded/kueue/cycle/waiting.hpp"
#include "kube/text/quantity.hpp"
#include "kube/value/condition.hpp"

namespace athanor::kueue {
namespace {

constexpr std::string_view kAttempts = "kueue_admission_attempts_total";
constexpr std::string_view kAttemptSeconds = "kueue_admission_attempt_duration_seconds";
constexpr std::string_view kSkips = "kueue_admission_cycle_preemption_skips";
constexpr std::string_view kPending = "kueue_pending_workloads";
constexpr std::string_view kReserved = "kueue_quota_reserved_workloads_total";
constexpr std::string_view kReservedWait = "kueue_quota_reserved_wait_time_seconds";
constexpr std::string_view kAdmitted = "kueue_admitted_workloads_total";
constexpr std::string_view kAdmissionWait = "kueue_admission_wait_time_seconds";
constexpr std::string_view kChecksWait = "kueue_admission_checks_wait_time_seconds";
constexpr std::string_view kReadyWait = "kueue_ready_wait_time_seconds";
constexpr std::string_view kAdmittedUntilReady = "kueue_admitted_until_ready_wait_time_seconds";
constexpr std::string_view kEvicted = "kueue_evicted_workloads_total";
constexpr std::string_view kEvictedOnce = "kueue_evicted_workloads_once_total";
constexpr std::string_view kPreempted = "kueue_preempted_workloads_total";
constexpr std::string_view kFinished = "kueue_finished_workloads_total";
constexpr std::string_view kReserving = "kueue_reserving_active_workloads";
constexpr std::string_view kActive = "kueue_admitted_active_workloads";
constexpr std::string_view kQueueStatus = "kueue_cluster_queue_status";
constexpr std::string_view kResourceReservation = "kueue_cluster_queue_resource_reservation";
constexpr std::string_view kResourceUsage = "kueue_cluster_queue_resource_usage";
constexpr std::string_view kNominal = "kueue_cluster_queue_nominal_quota";
constexpr std::string_view kBorrowing = "kueue_cluster_queue_borrowing_limit";
constexpr std::string_view kLending = "kueue_cluster_queue_lending_limit";
constexpr std::string_view kShare = "kueue_cluster_queue_weighted_share";
constexpr std::string_view kLocalPending = "kueue_local_queue_pending_workloads";
constexpr std::string_view kLocalReserving = "kueue_local_queue_reserving_active_workloads";
constexpr std::string_view kLocalActive = "kueue_local_queue_admitted_active_workloads";
constexpr std::string_view kLocalStatus = "kueue_local_queue_status";
constexpr std::string_view kBuild = "kueue_build_info";

constexpr double kWaits[] = {1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240};

constexpr MetricInfo counter(std::string_view name, std::string_view help) {
  return {.name = name, .help = help, .type = MetricType::Counter};
}
constexpr MetricInfo waits(std::string_view name, std::string_view help) {
  return {.name = name, .help = help, .type = MetricType::Histogram, .buckets = kWaits};
}

constexpr MetricInfo kMetrics[] = {
    counter(kAttempts, "Attempts to admit a Workload, by result."),
    {.name = kAttemptSeconds,
     .help = "How long an admission cycle took, its writes included.",
     .type = MetricType::Histogram},
    {.name = kSkips, .help = "Workloads that wait because others took their preemption targets."},
    {.name = kPending, .help = "Workloads that wait, by ClusterQueue and status."},
    counter(kReserved, "Workloads that quota was reserved for."),
    waits(kReservedWait, "From being queued to the reservation of quota."),
    counter(kAdmitted, "Workloads that were admitted."),
    waits(kAdmissionWait, "From being queued to admission."),
    waits(kChecksWait, "From the reservation of quota to admission."),
    waits(kReadyWait, "From being queued until the pods were ready."),
    waits(kAdmittedUntilReady, "From admission until the pods were ready."),
    counter(kEvicted, "Evictions, by reason."),
    counter(kEvictedOnce, "Workloads that were evicted for the first time, by reason."),
    counter(kPreempted, "Workloads that others pushed aside, by whose queue."),
    counter(kFinished, "Workloads that finished."),
    {.name = kReserving, .help = "Workloads that hold quota."},
    {.name = kActive, .help = "Workloads that are admitted and not finished."},
    {.name = kQueueStatus, .help = "1 for the status that a ClusterQueue has."},
    {.name = kResourceReservation, .help = "Quota reserved."},
    {.name = kResourceUsage, .help = "Quota used by admitted Workloads."},
    {.name = kNominal, .help = "Nominal quota."},
    {.name = kBorrowing, .help = "Borrowing limit."},
    {.name = kLending, .help = "Lending limit."},
    {.name = kShare, .help = "Weighted share of a ClusterQueue."},
    {.name = kLocalPending, .help = "Workloads that wait, by LocalQueue and status."},
    {.name = kLocalReserving, .help = "Workloads of a LocalQueue that hold quota."},
    {.name = kLocalActive, .help = "Workloads of a LocalQueue that are admitted."},
    {.name = kLocalStatus, .help = "1 for the status of a LocalQueue's condition Active."},
    {.name = kBuild, .help = "1, with what this queueing is."},
};

// Every metric but build_info tells which replica speaks.
MetricLabels with_role(MetricLabels labels) {
  labels.emplace_back("replica_role", "standalone");
  return labels;
}

void put(Samples& samples, std::string_view metric, MetricLabels labels, double value = 1) {
  samples.push_back({.metric = metric, .labels = with_role(std::move(labels)), .value = value});
}

// Gauges.

// What waits, by whether it was told so already.
void measure_waiting(const Object& workload, Totals& totals) {
  const Value& reserved = find_condition(workload.status()["conditions"], "QuotaReserved");
  const bool held_back = condition_is(workload.status()["conditions"], "Requeued", "False");
  totals.add(held_back ? "held" : reserved.is_null() ? "new" : "told", 1);
  if (reserved["message"].as_string().find("overlapping preemption targets") !=
      std::string_view::npos) {
    totals.add("skipped", 1);
  }
}

struct Waiting {
  double active = 0, inadmissible = 0, skipped = 0;
};
// Under StrictFIFO what was refused stays in the heap, else it waits for a change (7.2).
Waiting waiting_of(const Totals& totals, bool strict, bool stopped) {
  Waiting sum;
  for (const auto& [name, count] : totals) {
    const auto amount = static_cast<double>(count);
    if (name == "skipped") {
      sum.skipped += amount;
    } else if (name == "held" || stopped || (name == "told" && !strict)) {
      sum.inadmissible += amount;
    } else {
      sum.active += amount;
    }
  }
  return sum;
}

double number(const Value& value) {
  const auto quantity = Quantity::parse(value);
  return quantity ? static_cast<double>(quantity->milli_value()) / 1000 : 0;
}

void put_usage(Samples& samples, std::string_view metric, const Object& queue,
               std::string_view field) {
  for (const Value& flavor : queue.status()[field].items()) {
    for (const Value& resource : flavor["resources"].items()) {
      put(samples, metric,
          {{"cohort", queue.spec()["cohortName"].str()},
           {"cluster_queue", std::string(queue.name())},
           {"flavor", flavor["name"].str()},
           {"resource", resource["name"].str()}},
          number(resource["total"]));
    }
  }
}

void put_quotas(Samples& samples, const Object& queue) {
  for (const Value& group : queue.spec()["resourceGroups"].items()) {
    for (const Value& flavor : group["flavors"].items()) {
      for (const Value& resource : flavor["resources"].items()) {
        for (const auto& [metric, field] : {std::pair{kNominal, "nominalQuota"},
                                            {kBorrowing, "borrowingLimit"},
                                            {kLending, "lendingLimit"}}) {
          const Value& amount = resource[std::string_view(field)];
          if (!amount.is_null()) {
            put(samples, metric,
                {{"cohort", queue.spec()["cohortName"].str()},
                 {"cluster_queue", std::string(queue.name())},
                 {"flavor", flavor["name"].str()},
                 {"resource", resource["name"].str()}},
                number(amount));
          }
        }
      }
    }
  }
}

void put_pending(Samples& samples, std::string_view metric, const MetricLabels& labels,
                 const Waiting& waiting) {
  for (const auto& [status, count] :
       {std::pair{"active", waiting.active}, {"inadmissible", waiting.inadmissible}}) {
    MetricLabels all = labels;
    all.emplace_back("status", status);
    put(samples, metric, std::move(all), count);
  }
}

void put_counts_of(Samples& samples, const Object& queue, const MetricLabels& labels,
                   std::string_view reserving, std::string_view active) {
  put(samples, reserving, labels,
      static_cast<double>(queue.status()["reservingWorkloads"].as_int()));
  put(samples, active, labels, static_cast<double>(queue.status()["admittedWorkloads"].as_int()));
}

// What waits, by LocalQueue. Not by an index: the operators that keep one may not run here.
std::map<Key, Totals> all_waiting(const View& view) {
  std::map<Key, Totals> waiting;
  for (const Object& workload : view.list(api::kueue::kWorkload)) {
    if (is_waiting(workload)) {
      measure_waiting(workload,
                      waiting[{std::string(workload.ns()), workload.spec()["queueName"].str()}]);
    }
  }
  return waiting;
}

void measure_queue(const Object& queue, const std::vector<Object>& locals,
                   std::map<Key, Totals>& waiting_by_queue, bool resources, Samples& samples) {
  const std::string name(queue.name());
  const bool strict = queue.spec()["queueingStrategy"].as_string() == "StrictFIFO";
  const Value& condition = find_condition(queue.status()["conditions"], "Active");
  const bool active = condition["status"].as_string() == "True";
  Waiting all;
  for (const Object& local : locals) {
    if (local.spec()["clusterQueue"].as_string() != name) {
      continue;
    }
    const Waiting waiting = waiting_of(waiting_by_queue[local.key()], strict, !active);
    all.active += waiting.active;
    all.inadmissible += waiting.inadmissible;
    all.skipped += waiting.skipped;
    put_pending(samples, kLocalPending,
                {{"name", std::string(local.name())}, {"namespace", std::string(local.ns())}},
                waiting);
  }
  const MetricLabels labels{{"cluster_queue", name}};
  put_pending(samples, kPending, labels, all);
  put(samples, kSkips, labels, all.skipped);
  put_counts_of(samples, queue, labels, kReserving, kActive);
  const std::string_view now = queue.deleting() ? "terminating" : active ? "active" : "pending";
  for (const std::string_view status : {"pending", "active", "terminating"}) {
    put(samples, kQueueStatus, {{"cluster_queue", name}, {"status", std::string(status)}},
        status == now ? 1 : 0);
  }
  if (!resources) {
    return;
  }
  put_usage(samples, kResourceReservation, queue, "flavorsReservation");
  put_usage(samples, kResourceUsage, queue, "flavorsUsage");
  put_quotas(samples, queue);
  if (const Value& sharing = queue.status()["fairSharing"]; sharing.is_object()) {
    put(samples, kShare, {{"cluster_queue", name}, {"cohort", queue.spec()["cohortName"].str()}},
        sharing["weightedShare"].as_double());
  }
}

void measure(const View& view, Samples& samples) {
  const std::vector<Object> locals = view.list(api::kueue::kLocalQueue);
  std::map<Key, Totals> waiting = all_waiting(view);
  const bool resources = configured_section(view)["clusterQueueResourceMetrics"].as_bool();
  for (const Object& queue : view.list(api::kueue::kClusterQueue)) {
    measure_queue(queue, locals, waiting, resources, samples);
  }
  for (const Object& local : locals) {
    const MetricLabels labels{{"name", std::string(local.name())},
                              {"namespace", std::string(local.ns())}};
    put_counts_of(samples, local, labels, kLocalReserving, kLocalActive);
    const std::string_view now =
        find_condition(local.status()["conditions"], "Active")["status"].as_string();
    for (const std::string_view status : {"True", "False", "Unknown"}) {
      MetricLabels all = labels;
      all.emplace_back("active", status);
      put(samples, kLocalStatus, std::move(all),
          status == (now.empty() ? std::string_view("Unknown") : now) ? 1 : 0);
    }
  }
  samples.push_back(
      {.metric = kBuild, .labels = {{"git_version", "v0.17.2"}, {"engine", "athanor"}}});
}

// Counters.

const Value& condition_of(const Object& workload, std::string_view type) {
  return find_condition(workload.status()["conditions"], type);
}

bool became_true(const ObjectChanged& change, std::string_view type) {
  const Value& after = condition_of(*change.after, type);
  const Value& before = condition_of(*change.before, type);
  return after["status"].as_string() == "True" &&
         (before["status"].as_string() != "True" ||
          before["lastTransitionTime"] != after["lastTransitionTime"]);
}

std::optional<Instant> turned(const Object& workload, std::string_view type) {
  return parse_time(condition_of(workload, type)["lastTransitionTime"].as_string());
}

// Since when it waited for this reservation.
std::optional<Instant> queued(const Object& workload) {
  const bool again = condition_is(workload.status()["conditions"], "Requeued", "True");
  return again ? turned(workload, "Requeued") : workload.creation_time();
}

MetricLabels queue_labels(const Object& workload, const Object& other) {
  std::string queue = workload.status().at({"admission", "clusterQueue"}).str();
  if (queue.empty()) {
    queue = other.status().at({"admission", "clusterQueue"}).str();
  }
  return {{"cluster_queue", std::move(queue)},
          {"priority_class", workload.spec()["priorityClassRef"]["name"].str()}};
}

void put_wait(Samples& samples, std::string_view metric, const MetricLabels& labels,
              std::optional<Instant> from, std::optional<Instant> to) {
  if (from && to && *to >= *from) {
    put_seconds(metric, with_role(labels), *to - *from, samples);
  }
}

// "…; preemptor path: /root/team; preemptee path: …": the last name of the first path.
std::string preemptor_queue(std::string_view message) {
  constexpr std::string_view kMark = "preemptor path: ";
  const std::size_t at = message.find(kMark);
  if (at == std::string_view::npos) {
    return {};
  }
  message.remove_prefix(at + kMark.size());
  const std::string_view path = message.substr(0, message.find(';'));
  return std::string(path.substr(path.rfind('/') + 1));
}

void count_eviction(const ObjectChanged& change, const MetricLabels& labels, Samples& samples) {
  const Value& evicted = condition_of(*change.after, "Evicted");
  const Value& target = condition_of(*change.after, "DeactivationTarget");
  const std::string cause =
      target["status"].as_string() == "True" ? target["reason"].str() : std::string();
  MetricLabels all = labels;
  all.emplace_back("reason", evicted["reason"].str());
  MetricLabels once = all;
  all.emplace_back("underlying_cause", cause);
  put(samples, kEvicted, std::move(all));
  if (change.before->status().at({"schedulingStats", "evictions"}).empty()) {
    once.emplace_back("detailed_reason", cause);
    put(samples, kEvictedOnce, std::move(once));
  }
}

void count_changed(const ObjectChanged& change, Samples& samples) {
  if (&change.kind != &api::kueue::kWorkload || change.before == nullptr ||
      change.after == nullptr) {
    return;
  }
  const Object& workload = *change.after;
  const MetricLabels labels = queue_labels(workload, *change.before);
  if (became_true(change, "QuotaReserved")) {
    put(samples, kAttempts, {{"result", "success"}});
    put(samples, kReserved, labels);
    put_wait(samples, kReservedWait, labels, queued(workload), turned(workload, "QuotaReserved"));
  } else if (const Value& refused = condition_of(workload, "QuotaReserved");
             refused["status"].as_string() == "False" &&
             refused != condition_of(*change.before, "QuotaReserved")) {
    put(samples, kAttempts, {{"result", "inadmissible"}});
  }
  if (became_true(change, "Admitted")) {
    put(samples, kAdmitted, labels);
    put_wait(samples, kAdmissionWait, labels, queued(workload), turned(workload, "Admitted"));
    if (!workload.status()["admissionChecks"].empty()) {
      put_wait(samples, kChecksWait, labels, turned(workload, "QuotaReserved"),
               turned(workload, "Admitted"));
    }
  }
  if (became_true(change, "PodsReady")) {
    put_wait(samples, kReadyWait, labels, queued(workload), turned(workload, "PodsReady"));
    put_wait(samples, kAdmittedUntilReady, labels, turned(workload, "Admitted"),
             turned(workload, "PodsReady"));
  }
  if (became_true(change, "Evicted")) {
    count_eviction(change, labels, samples);
  }
  if (became_true(change, "Preempted")) {
    const Value& preempted = condition_of(workload, "Preempted");
    put(samples, kPreempted,
        {{"preempting_cluster_queue", preemptor_queue(preempted["message"].as_string())},
         {"reason", preempted["reason"].str()}});
  }
  if (became_true(change, "Finished")) {
    put(samples, kFinished, labels);
  }
}

void count_cycle(const Reconciled& run, Samples& samples) {
  if (run.op == "kueue-admission") {
    put_seconds(kAttemptSeconds,
                with_role({{"result", run.code == 0 ? "success" : "inadmissible"}}), run.took,
                samples);
  }
}

constexpr const Kind* kKinds[] = {&api::kueue::kWorkload, &api::kueue::kClusterQueue,
                                  &api::kueue::kLocalQueue, &api::kConfigMap};

}  // namespace

const Instruments& kueue_instruments() {
  static constexpr Instruments kInstruments{.metrics = kMetrics,
                                            .kinds = kKinds,
                                            .state = measure,
                                            .changed = count_changed,
                                            .reconciled = count_cycle};
  return kInstruments;
}

}  // namespace athanor::kueue
