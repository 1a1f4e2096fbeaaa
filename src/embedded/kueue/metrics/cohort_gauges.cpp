// SPDX-License-Identifier: Apache-2.0
// Gauges of cohorts: quota, reservations and admitted Workloads of all below them.
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "api/kueue.hpp"
#include "embedded/kueue/metrics/names.hpp"
#include "embedded/kueue/metrics/samples.hpp"
#include "kube/text/quantity.hpp"

namespace athanor::kueue {
namespace {

// Cohort, flavor, resource.
using CohortAmounts = std::map<std::tuple<std::string, std::string, std::string>, double>;

double units(const Value& value) {
  const auto quantity = Quantity::parse(value);
  return quantity ? static_cast<double>(quantity->milli_value()) / 1000 : 0;
}

// The sums of each cohort over its subtree.
class Subtrees {
 public:
  explicit Subtrees(const View& view) {
    const std::vector<Object> cohorts = view.list(api::kueue::kCohort);
    for (const Object& cohort : cohorts) {
      parents_[std::string(cohort.name())] = cohort.spec()["parentName"].str();
    }
    for (const Object& cohort : cohorts) {
      add_quotas(std::string(cohort.name()), cohort.spec());
    }
    for (const Object& queue : view.list(api::kueue::kClusterQueue)) {
      const std::string cohort = queue.spec()["cohortName"].str();
      if (cohort.empty()) {
        continue;
      }
      add_quotas(cohort, queue.spec());
      for (const Value& flavor : queue.status()["flavorsReservation"].items()) {
        for (const Value& resource : flavor["resources"].items()) {
          for (const std::string& one : path_of(cohort)) {
            reserved_[{one, flavor["name"].str(), resource["name"].str()}] +=
                units(resource["total"]);
          }
        }
      }
      for (const std::string& one : path_of(cohort)) {
        active_[one] += static_cast<double>(queue.status()["admittedWorkloads"].as_int());
      }
    }
  }

  void put(Samples& samples) const {
    put_amounts(metric::kCohortQuota, quotas_, samples);
    put_amounts(metric::kCohortReservations, reserved_, samples);
    for (const auto& [cohort, count] : active_) {
      samples.push_back(
          {.metric = metric::kCohortActive, .labels = {{"cohort", cohort}}, .value = count});
    }
  }

 private:
  // The cohort and those above it; of a cycle each once.
  [[nodiscard]] std::vector<std::string> path_of(const std::string& cohort) const {
    std::vector<std::string> path;
    std::set<std::string> seen;
    std::string one = cohort;
    while (!one.empty() && seen.insert(one).second) {
      path.push_back(one);
      const auto parent = parents_.find(one);
      one = parent == parents_.end() ? std::string() : parent->second;
    }
    return path;
  }

  void add_quotas(const std::string& cohort, const Value& spec) {
    for (const Value& group : spec["resourceGroups"].items()) {
      for (const Value& flavor : group["flavors"].items()) {
        for (const Value& resource : flavor["resources"].items()) {
          for (const std::string& one : path_of(cohort)) {
            quotas_[{one, flavor["name"].str(), resource["name"].str()}] +=
                units(resource["nominalQuota"]);
          }
        }
      }
    }
  }

  static void put_amounts(std::string_view name, const CohortAmounts& amounts, Samples& samples) {
    for (const auto& [key, amount] : amounts) {
      const auto& [cohort, flavor, resource] = key;
      samples.push_back({.metric = name,
                         .labels = {{"cohort", cohort}, {"flavor", flavor}, {"resource", resource}},
                         .value = amount});
    }
  }

  std::map<std::string, std::string> parents_{};
  CohortAmounts quotas_{};
  CohortAmounts reserved_{};
  std::map<std::string, double> active_{};
};

}  // namespace

double share_gauge(const Value& fair_sharing) {
  const Value& share = fair_sharing["weightedShare"];
  return share.as_int() == std::numeric_limits<std::int64_t>::max() ? std::nan("")
                                                                    : share.as_double();
}

void measure_cohorts(const View& view, bool shares, Samples& samples) {
  Subtrees(view).put(samples);
  if (!shares) {
    return;
  }
  for (const Object& cohort : view.list(api::kueue::kCohort)) {
    if (const Value& sharing = cohort.status()["fairSharing"]; sharing.is_object()) {
      samples.push_back({.metric = metric::kCohortShare,
                         .labels = {{"cohort", std::string(cohort.name())}},
                         .value = share_gauge(sharing)});
    }
  }
}

}  // namespace athanor::kueue
