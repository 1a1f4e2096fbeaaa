// SPDX-License-Identifier: Apache-2.0
// Requests of pods.
#include "systems/numa/scheduling/pod_request.hpp"

#include <algorithm>

namespace athanor::numa {
namespace {

void add_amounts(Amounts& sum, const Amounts& more) {
  for (const auto& [name, amount] : more) {
    sum[name] += amount;
  }
}

void raise(Amounts& most, const Amounts& other) {
  for (const auto& [name, amount] : other) {
    std::int64_t& current = most[name];
    current = std::max(current, amount);
  }
}

// A limit stands for a request that is not given.
Amounts requests_of(const Value& container, const Amounts& limits) {
  Amounts requests = limits;
  for (const auto& [name, amount] : amounts_of(container["resources"]["requests"])) {
    requests.insert_or_assign(name, amount);
  }
  return requests;
}

// Follows the API's rule: cpu and memory of every container have a limit that is the request.
struct Quality {
  bool guaranteed = true;
  bool best_effort = true;

  void look(const Amounts& limits, const Amounts& requests) {
    for (const std::string_view name : {"cpu", "memory"}) {
      const std::int64_t limit = amount_of(limits, name);
      const std::int64_t request = amount_of(requests, name);
      guaranteed = guaranteed && limit > 0 && limit == request;
      best_effort = best_effort && limit <= 0 && request <= 0;
    }
  }
};

Amounts effective_of(const PodRequest& pod, const Amounts& overhead) {
  Amounts running;  // containers, and sidecars started so far
  Amounts peak;     // while init containers run
  for (const ContainerRequest& container : pod.containers) {
    const bool passes =
        container.role == ContainerRequest::Role::Init ||
        (container.role == ContainerRequest::Role::Sidecar && !pod.sidecars_counted);
    if (passes) {
      Amounts together = running;
      add_amounts(together, container.requests);
      raise(peak, together);
    } else {
      add_amounts(running, container.requests);
      raise(peak, running);
    }
  }
  raise(running, peak);
  add_amounts(running, overhead);
  return running;
}

}  // namespace

PodRequest request_of(const Object& pod, Sidecars sidecars) {
  PodRequest request{.sidecars_counted = sidecars == Sidecars::Counted};
  Quality quality;
  const auto take = [&](const Value& container, ContainerRequest::Role role) {
    const Amounts limits = amounts_of(container["resources"]["limits"]);
    request.containers.push_back({.name = container["name"].str(),
                                  .role = role,
                                  .requests = requests_of(container, limits)});
    const Amounts& wanted = request.containers.back().requests;
    quality.look(limits, wanted);
    request.non_native = request.non_native || std::ranges::any_of(wanted, [](const auto& entry) {
                           return entry.second > 0 && !is_native(entry.first);
                         });
  };
  for (const Value& container : pod.spec()["initContainers"].items()) {
    take(container, container["restartPolicy"].as_string() == "Always"
                        ? ContainerRequest::Role::Sidecar
                        : ContainerRequest::Role::Init);
  }
  for (const Value& container : pod.spec()["containers"].items()) {
    take(container, ContainerRequest::Role::App);
  }
  request.guaranteed = quality.guaranteed && !request.containers.empty();
  request.best_effort = quality.best_effort;
  request.effective = effective_of(request, amounts_of(pod.spec()["overhead"]));
  return request;
}

Amounts aligned_request(const PodRequest& pod) {
  return effective_of(pod, {});
}

bool is_exclusive(const PodRequest& pod, const NodeTopology& topology) {
  const auto listed = [&](std::string_view resource) {
    return std::ranges::any_of(topology.zones,
                               [&](const Zone& zone) { return zone.lists(resource); });
  };
  const bool memory = listed("memory");
  const auto takes = [&](const Amounts::value_type& entry) {
    const auto& [name, amount] = entry;
    if (amount <= 0) {
      return false;
    }
    if (!is_native(name)) {
      return listed(name);
    }
    if (!pod.guaranteed) {
      return false;
    }
    return name == "cpu" ? amount % kUnit == 0 : is_numa_affine(name) && memory;
  };
  return std::ranges::any_of(pod.containers, [&](const ContainerRequest& container) {
    return container.role != ContainerRequest::Role::Init &&
           std::ranges::any_of(container.requests, takes);
  });
}

}  // namespace athanor::numa
