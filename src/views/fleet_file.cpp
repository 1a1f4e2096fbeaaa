// SPDX-License-Identifier: Apache-2.0
#include "views/fleet_file.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "kube/text/quantity.hpp"

namespace athanor::views {
namespace {

// Returns true for a queue whose flavors are clusters: it has quota of their slots or GPUs.
bool hands_out_clusters(const Object& queue) {
  constexpr std::string_view kOfClusters = "fournos/";
  for (const Value& group : queue.spec()["resourceGroups"].items()) {
    for (const Value& flavor : group["flavors"].items()) {
      for (const Value& resource : flavor["resources"].items()) {
        if (resource["name"].as_string().starts_with(kOfClusters)) {
          return true;
        }
      }
    }
  }
  return false;
}

}  // namespace

Value fleet_of(const FleetSource& source) {
  std::set<std::string, std::less<>> of_clusters;
  for (const Object& queue : source.cluster_queues) {
    if (hands_out_clusters(queue)) {
      of_clusters.emplace(queue.name());
    }
  }
  std::set<std::string, std::less<>> used;
  Value queues = Value::list();
  for (const Object& queue : source.local_queues) {
    if (queue.ns() == source.ns && of_clusters.contains(queue.spec()["clusterQueue"].as_string())) {
      used.insert(queue.spec()["clusterQueue"].str());
      queues.push_back(Value::object({{"name", queue.name()}}));
    }
  }
  // In the order in which the queue tries them.
  std::vector<std::string> order;
  std::map<std::string, std::map<std::string, Quantity>> quotas;
  for (const Object& queue : source.cluster_queues) {
    if (!used.contains(queue.name())) {
      continue;
    }
    for (const Value& group : queue.spec()["resourceGroups"].items()) {
      for (const Value& flavor : group["flavors"].items()) {
        const std::string name = flavor["name"].str();
        if (std::ranges::find(order, name) == order.end()) {
          order.push_back(name);
        }
        for (const Value& resource : flavor["resources"].items()) {
          if (const auto quota = Quantity::parse(resource["nominalQuota"])) {
            quotas[name][resource["name"].str()] += *quota;
          }
        }
      }
    }
  }
  Value clusters = Value::list();
  for (const std::string& name : order) {
    Value quota = Value::object();
    for (const auto& [resource, amount] : quotas[name]) {
      quota.set(resource, amount.text());
    }
    clusters.push_back(Value::object({{"name", name}, {"quota", std::move(quota)}}));
  }
  Value priorities = Value::object();
  for (const Object& one : source.priorities) {
    priorities.set(one.name(), one.body()["value"].as_int());
  }
  return Value::object({{"apiVersion", "athanor.dev/v1"},
                        {"kind", "Lab"},
                        {"namespace", source.ns},
                        {"clusters", std::move(clusters)},
                        {"queues", std::move(queues)},
                        {"priorityClasses", std::move(priorities)}});
}

}  // namespace athanor::views
