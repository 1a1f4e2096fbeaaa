// SPDX-License-Identifier: Apache-2.0
// Gauges from the queues' status and what waits in them.
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/kueue.hpp"
#include "embedded/kueue/cycle/waiting.hpp"
#include "embedded/kueue/metrics/names.hpp"
#include "embedded/kueue/metrics/samples.hpp"
#include "embedded/kueue/model/configuration.hpp"
#include "kube/text/quantity.hpp"
#include "kube/value/condition.hpp"

namespace athanor::kueue {
namespace {

using namespace metric;

void put_gauge(Samples& samples, std::string_view metric, MetricLabels labels, double value = 1) {
  samples.push_back({.metric = metric, .labels = std::move(labels), .value = value});
}

// Counts what waits: held back, not considered yet, refused.
void measure_waiting(const Object& workload, Totals& totals) {
  const Value& reserved = find_condition(workload.status()["conditions"], "QuotaReserved");
  const bool held_back = condition_is(workload.status()["conditions"], "Requeued", "False");
  totals.add(held_back ? "held" : reserved.is_null() ? "new" : "refused", 1);
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
    } else if (name == "held" || stopped || (name == "refused" && !strict)) {
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

void put_usage(Samples& samples, std::string_view metric, const MetricLabels& labels,
               const Value& flavors) {
  for (const Value& flavor : flavors.items()) {
    for (const Value& resource : flavor["resources"].items()) {
      MetricLabels all = labels;
      all.emplace_back("flavor", flavor["name"].str());
      all.emplace_back("resource", resource["name"].str());
      put_gauge(samples, metric, std::move(all), number(resource["total"]));
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
            put_gauge(samples, metric,
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
    put_gauge(samples, metric, std::move(all), count);
  }
}

void put_counts_of(Samples& samples, const Object& queue, const MetricLabels& labels,
                   std::string_view reserving, std::string_view active) {
  put_gauge(samples, reserving, labels,
            static_cast<double>(queue.status()["reservingWorkloads"].as_int()));
  put_gauge(samples, active, labels,
            static_cast<double>(queue.status()["admittedWorkloads"].as_int()));
}

// What waits and what has finished, by LocalQueue. Not by an index: the operators that keep one may
// not run here.
struct Counted {
  std::map<Key, Totals> waiting{};
  std::map<Key, double> finished{};
};
Counted count_workloads(const View& view) {
  Counted counted;
  for (const Object& workload : view.list(api::kueue::kWorkload)) {
    const Key queue{std::string(workload.ns()), workload.spec()["queueName"].str()};
    if (is_waiting(workload)) {
      measure_waiting(workload, counted.waiting[queue]);
    } else if (condition_is(workload.status()["conditions"], "Finished", "True")) {
      ++counted.finished[queue];
    }
  }
  return counted;
}

void measure_queue(const Object& queue, const std::vector<Object>& locals, Counted& counted,
                   bool resources, Samples& samples) {
  const std::string name(queue.name());
  const bool strict = queue.spec()["queueingStrategy"].as_string() == "StrictFIFO";
  const Value& condition = find_condition(queue.status()["conditions"], "Active");
  const bool active = condition["status"].as_string() == "True";
  Waiting all;
  double finished = 0;
  for (const Object& local : locals) {
    if (local.spec()["clusterQueue"].as_string() != name) {
      continue;
    }
    const Waiting waiting = waiting_of(counted.waiting[local.key()], strict, !active);
    const double ended = counted.finished[local.key()];
    finished += ended;
    put_gauge(samples, kLocalFinishedNow,
              {{"name", std::string(local.name())}, {"namespace", std::string(local.ns())}}, ended);
    all.active += waiting.active;
    all.inadmissible += waiting.inadmissible;
    all.skipped += waiting.skipped;
    put_pending(samples, kLocalPending,
                {{"name", std::string(local.name())}, {"namespace", std::string(local.ns())}},
                waiting);
  }
  const MetricLabels labels{{"cluster_queue", name}};
  put_pending(samples, kPending, labels, all);
  put_gauge(samples, kSkips, labels, all.skipped);
  put_gauge(samples, kFinishedNow, labels, finished);
  put_counts_of(samples, queue, labels, kReserving, kActive);
  const std::string_view now = queue.deleting() ? "terminating" : active ? "active" : "pending";
  for (const std::string_view status : {"pending", "active", "terminating"}) {
    put_gauge(samples, kQueueStatus, {{"cluster_queue", name}, {"status", std::string(status)}},
              status == now ? 1 : 0);
  }
  if (!resources) {
    return;
  }
  const MetricLabels place{{"cohort", queue.spec()["cohortName"].str()}, {"cluster_queue", name}};
  put_usage(samples, kResourceReservation, place, queue.status()["flavorsReservation"]);
  put_usage(samples, kResourceUsage, place, queue.status()["flavorsUsage"]);
  put_quotas(samples, queue);
  if (const Value& sharing = queue.status()["fairSharing"]; sharing.is_object()) {
    put_gauge(samples, kShare,
              {{"cluster_queue", name}, {"cohort", queue.spec()["cohortName"].str()}},
              share_gauge(sharing));
  }
}

}  // namespace

void measure_queues(const View& view, Samples& samples) {
  const std::vector<Object> locals = view.list(api::kueue::kLocalQueue);
  Counted counted = count_workloads(view);
  const bool resources = configured_section(view)["clusterQueueResourceMetrics"].as_bool();
  for (const Object& queue : view.list(api::kueue::kClusterQueue)) {
    measure_queue(queue, locals, counted, resources, samples);
  }
  measure_cohorts(view, resources, samples);
  for (const Object& local : locals) {
    const MetricLabels labels{{"name", std::string(local.name())},
                              {"namespace", std::string(local.ns())}};
    put_counts_of(samples, local, labels, kLocalReserving, kLocalActive);
    if (resources) {
      put_usage(samples, kLocalResourceReservation, labels, local.status()["flavorsReservation"]);
      put_usage(samples, kLocalResourceUsage, labels, local.status()["flavorsUsage"]);
    }
    const std::string_view now =
        find_condition(local.status()["conditions"], "Active")["status"].as_string();
    for (const std::string_view status : {"True", "False", "Unknown"}) {
      MetricLabels all = labels;
      all.emplace_back("active", status);
      put_gauge(samples, kLocalStatus, std::move(all),
                status == (now.empty() ? std::string_view("Unknown") : now) ? 1 : 0);
    }
  }
  samples.push_back(
      {.metric = kBuild, .labels = {{"git_version", "v0.17.2"}, {"engine", "athanor"}}});
}

}  // namespace athanor::kueue
