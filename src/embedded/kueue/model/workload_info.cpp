// SPDX-License-Identifier: Apache-2.0
// Reading Workloads.
#include "embedded/kueue/model/workload_info.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/saturate.hpp"
#include "kube/value/condition.hpp"

namespace athanor::kueue {
namespace {

Amounts requests_of(const Value& container, const Value& defaults) {
  Amounts requests;
  for (const Value* source :
       {&container["resources"]["requests"], &container["resources"]["limits"], &defaults}) {
    for (const Member& entry : source->members()) {
      requests.try_emplace(std::string(entry.key()), amount_of(entry.key(), entry.value));
    }
  }
  return requests;
}

void add(Amounts& total, const Amounts& more) {
  for (const auto& [resource, amount] : more) {
    Amount& sum = total[resource];
    sum = saturating_add(sum, amount);
  }
}

void raise(Amounts& total, const Amounts& least) {
  for (const auto& [resource, amount] : least) {
    Amount& current = total[resource];
    current = std::max(current, amount);
  }
}

std::int64_t reclaimed(const Object& workload, std::string_view pod_set) {
  for (const Value& entry : workload.status()["reclaimablePods"].items()) {
    if (entry["name"].as_string() == pod_set) {
      return entry["count"].as_int();
    }
  }
  return 0;
}

// Returns the names of requests above their limits, quoted; empty: none.
std::string above_limit(const Value& resources) {
  std::string wrong;
  for (const Member& request : resources["requests"].members()) {
    const Value* limit = resources["limits"].find(request.key());
    if (limit != nullptr &&
        amount_of(request.key(), request.value) > amount_of(request.key(), *limit)) {
      wrong += fmt::format("{}\"{}\"", wrong.empty() ? "" : ", ", request.key());
    }
  }
  return wrong;
}

}  // namespace

bool has_quota(const Object& workload) {
  return condition_is(workload.status()["conditions"], "QuotaReserved", "True");
}

bool is_finished(const Object& workload) {
  return condition_is(workload.status()["conditions"], "Finished", "True");
}

bool is_active(const Object& workload) {
  return workload.spec()["active"].as_bool(true);
}

bool is_evicted(const Object& workload) {
  return condition_is(workload.status()["conditions"], "Evicted", "True");
}

std::int64_t times_preempted(const Object& workload) {
  std::int64_t count = 0;
  for (const Value& entry : workload.status().at({"schedulingStats", "evictions"}).items()) {
    if (entry["reason"].as_string() == "Preempted") {
      count += entry["count"].as_int();
    }
  }
  return count;
}

QueueOrder queue_order(const Object& workload, RequeueTimestamp timestamp) {
  std::string queued = workload.metadata()["creationTimestamp"].str();
  const Value& evicted = find_condition(workload.status()["conditions"], "Evicted");
  const std::string_view reason = evicted["reason"].as_string();
  if (evicted["status"].as_string() == "True" &&
      ((reason == "PodsReadyTimeout" && timestamp == RequeueTimestamp::Eviction) ||
       reason == "AdmissionCheck")) {
    queued = evicted["lastTransitionTime"].str();
  }
  return {-workload.spec()["priority"].as_int(), std::move(queued), std::string(workload.uid())};
}

bool awaits_preemption(const Object& workload) {
  const Value& reserved = find_condition(workload.status()["conditions"], "QuotaReserved");
  return reserved["status"].as_string() == "False" &&
         reserved["message"].as_string().find(kPendingPreemption) != std::string_view::npos;
}

namespace {

// Returns what containers request together, without what the pod says for itself.
Amounts container_requests(const Value& pod_spec, const Value& defaults) {
  Amounts total;
  for (const Value& container : pod_spec["containers"].items()) {
    add(total, requests_of(container, defaults));
  }
  // Init containers run one after another beside the sidecars that were started before them.
  Amounts sidecars;
  Amounts largest_init;
  for (const Value& container : pod_spec["initContainers"].items()) {
    Amounts requests = requests_of(container, defaults);
    if (container["restartPolicy"].as_string() == "Always") {
      add(sidecars, requests);
      continue;
    }
    add(requests, sidecars);
    raise(largest_init, requests);
  }
  add(total, sidecars);
  raise(total, largest_init);
  return total;
}

}  // namespace

Amounts pod_requests(const Value& pod_spec, const Value& defaults) {
  Amounts total = container_requests(pod_spec, defaults);
  // What the pod says for itself as a whole counts instead; of its limits the API server makes
  // requests where no container has one.
  const Amounts of_containers = container_requests(pod_spec, Value());
  for (const auto& [resource, amount] : requests_of(pod_spec, Value())) {
    const bool stated = pod_spec["resources"]["requests"].contains(resource);
    if (stated || !of_containers.contains(resource)) {
      total[resource] = amount;
    }
  }
  Amounts overhead;
  for (const Member& entry : pod_spec["overhead"].members()) {
    overhead.emplace(entry.key(), amount_of(entry.key(), entry.value));
  }
  add(total, overhead);
  return total;
}

void PodSetRequests::set_count(std::int64_t pods) {
  count = pods;
  total.clear();
  for (const auto& [resource, amount] : single_pod) {
    total[resource] = std::min(kMostAmount, saturating_multiply(amount, count));
  }
}

std::vector<PodSetRequests> pod_set_counts(const Object& workload) {
  std::vector<PodSetRequests> result;
  for (const Value& pod_set : workload.spec()["podSets"].items()) {
    PodSetRequests requests;
    requests.name = pod_set["name"].str();
    const std::int64_t gone = reclaimed(workload, requests.name);
    requests.count = std::max<std::int64_t>(0, pod_set["count"].as_int(1) - gone);
    if (!pod_set["minCount"].is_null()) {
      requests.min_count = std::max<std::int64_t>(0, pod_set["minCount"].as_int() - gone);
    }
    requests.pod_spec = pod_set["template"]["spec"];
    result.push_back(std::move(requests));
  }
  return result;
}

std::vector<PodSetRequests> pod_set_requests(const Object& workload,
                                             const Value& limit_range_defaults) {
  std::vector<PodSetRequests> result = pod_set_counts(workload);
  for (PodSetRequests& requests : result) {
    requests.single_pod = pod_requests(requests.pod_spec, limit_range_defaults);
    requests.set_count(requests.count);
  }
  return result;
}

std::string request_above_limit(const Object& workload) {
  std::vector<std::string> errors;
  const Value& pod_sets = workload.spec()["podSets"];
  for (std::size_t i = 0; i < pod_sets.size(); ++i) {
    const Value& spec = pod_sets[i]["template"]["spec"];
    const std::string path = fmt::format("spec.podSets[{}].template.spec", i);
    const auto check = [&](const std::string& at, const Value& resources) {
      if (const std::string wrong = above_limit(resources); !wrong.empty()) {
        errors.push_back(
            fmt::format("{}: Invalid value: [{}]: requests must not exceed its limits", at, wrong));
      }
    };
    for (const char* list : {"initContainers", "containers"}) {
      for (std::size_t j = 0; j < spec[list].size(); ++j) {
        check(fmt::format("{}.{}[{}]", path, list, j), spec[list][j]["resources"]);
      }
    }
    check(path + ".resources", spec["resources"]);
  }
  if (errors.empty()) {
    return {};
  }
  std::string joined;
  for (const std::string& error : errors) {
    joined += (joined.empty() ? "" : ", ") + error;
  }
  return fmt::format("resources validation failed: {}",
                     errors.size() == 1 ? joined : "[" + joined + "]");
}

std::vector<std::pair<FlavorResource, Amount>> held_quota(const Object& workload) {
  std::vector<std::pair<FlavorResource, Amount>> held;
  for (const Value& assignment : workload.status()["admission"]["podSetAssignments"].items()) {
    const std::int64_t count = std::max<std::int64_t>(1, assignment["count"].as_int(1));
    const std::int64_t gone = std::min(count, reclaimed(workload, assignment["name"].as_string()));
    for (const Member& entry : assignment["resourceUsage"].members()) {
      const Amount total = std::min(kMostAmount, amount_of(entry.key(), entry.value));
      held.push_back({{assignment["flavors"][entry.key()].str(), std::string(entry.key())},
                      total / count * (count - gone)});
    }
  }
  return held;
}

}  // namespace athanor::kueue
