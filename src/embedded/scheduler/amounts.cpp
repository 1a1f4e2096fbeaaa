// SPDX-License-Identifier: Apache-2.0
// Requests of pods.
#include "embedded/scheduler/amounts.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "kube/text/quantity.hpp"
#include "kube/value/condition.hpp"

namespace athanor::scheduler {
namespace {

constexpr std::int64_t kSmallCpu = 100;                                 // thousandths
constexpr std::int64_t kSmallMemory = std::int64_t{200} * 1024 * 1024;  // bytes

// A limit replaces a missing request.
Amounts container_requests(const Value& container) {
  Amounts requests = amounts_of(container["resources"]["limits"]);
  for (auto& [name, amount] : amounts_of(container["resources"]["requests"])) {
    requests[name] = amount;
  }
  return requests;
}

Amounts scored_container_requests(const Value& container) {
  Amounts requests = container_requests(container);
  requests.try_emplace("cpu", kSmallCpu);
  requests.try_emplace("memory", kSmallMemory);
  return requests;
}

void raise(Amounts& most, const Amounts& candidate) {
  for (const auto& [name, amount] : candidate) {
    std::int64_t& current = most[name];
    current = std::max(current, amount);
  }
}

Amounts sum_of(const Value& spec, Amounts (*one)(const Value& container)) {
  Amounts running;  // containers, and sidecars started so far
  Amounts peak;     // while init containers run
  for (const Value& container : spec["initContainers"].items()) {
    Amounts requests = one(container);
    if (container["restartPolicy"].as_string() == "Always") {
      add(running, requests);
      raise(peak, running);
    } else {
      add(requests, running);
      raise(peak, requests);
    }
  }
  for (const Value& container : spec["containers"].items()) {
    add(running, one(container));
  }
  raise(running, peak);
  for (auto& [name, amount] : container_requests(spec)) {
    running[name] = amount;
  }
  add(running, amounts_of(spec["overhead"]));
  return running;
}

}  // namespace

Amounts amounts_of(const Value& resources) {
  Amounts amounts;
  for (const Member& resource : resources.members()) {
    if (const auto quantity = Quantity::parse(resource.value)) {
      amounts.emplace(resource.key(),
                      resource.key() == "cpu" ? quantity->milli_value() : quantity->value());
    }
  }
  return amounts;
}

Amounts requests_of(const Value& pod_spec) {
  return sum_of(pod_spec, container_requests);
}

Amounts scored_requests_of(const Value& pod_spec) {
  return sum_of(pod_spec, scored_container_requests);
}

Value counted_spec(const Object& pod) {
  const Value& pending = find_condition(pod.status()["conditions"], "PodResizePending");
  if (pending["status"].as_string() != "True" || pending["reason"].as_string() != "Infeasible") {
    return pod.spec();
  }
  Value spec = pod.spec();
  for (const auto& [list, statuses] : {std::pair("initContainers", "initContainerStatuses"),
                                       std::pair("containers", "containerStatuses")}) {
    for (std::size_t i = 0; i < spec[list].size(); ++i) {
      for (const Value& status : pod.status()[statuses].items()) {
        if (status["name"] == spec[list][i]["name"] && status["resources"].is_object()) {
          spec.member(list).item(i).set("resources", status["resources"]);
        }
      }
    }
  }
  return spec;
}

void add(Amounts& sum, const Amounts& more) {
  for (const auto& [name, amount] : more) {
    sum[name] += amount;
  }
}

}  // namespace athanor::scheduler
