// SPDX-License-Identifier: Apache-2.0
// Pods and zones of the tables, written shortly: "10/8Gi nic=1 hugepages-1Gi=2Gi" is cpu, memory
// and more; the name of a device stands for vendor.io/NAME; without a slash there is neither cpu
// nor memory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/ascii.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "systems/numa/scheduling/pod_request.hpp"
#include "systems/numa/scheduling/topology.hpp"

namespace athanor::numa::testing {

inline Value resources_of(std::string_view text) {
  Value resources = Value::object();
  for (const std::string_view word : words_of(text, ' ')) {
    if (const auto equals = word.find('='); equals != std::string_view::npos) {
      const std::string name(word.substr(0, equals));
      const bool native = name.starts_with("hugepages-") || name == "ephemeral-storage";
      resources.set(native ? name : "vendor.io/" + name, word.substr(equals + 1));
    } else if (const auto slash = word.find('/'); slash != std::string_view::npos) {
      resources.set("cpu", word.substr(0, slash));
      resources.set("memory", word.substr(slash + 1));
    }
  }
  return resources;
}

struct PodText {
  std::vector<std::string> init{};
  std::vector<std::string> containers{};
  std::vector<std::string> sidecars{};
  bool burstable = false;  // cpu and memory have no limits
  std::string overhead{};
};

inline Value container_of(const std::string& name, const std::string& text, bool burstable) {
  const Value requests = resources_of(text);
  Value limits = requests;
  if (burstable) {
    limits.erase("cpu");
    limits.erase("memory");
  }
  return Value::object(
      {{"name", name}, {"resources", Value::object({{"requests", requests}, {"limits", limits}})}});
}

inline Object make_pod(const PodText& text, const std::string& name = "pod") {
  Value spec = Value::object();
  int number = 0;
  for (const std::string& one : text.init) {
    spec.member("initContainers")
        .push_back(container_of("i" + std::to_string(number++), one, text.burstable));
  }
  for (const std::string& one : text.sidecars) {
    Value sidecar = container_of("s" + std::to_string(number++), one, text.burstable);
    sidecar.set("restartPolicy", "Always");
    spec.member("initContainers").push_back(sidecar);
  }
  for (const std::string& one : text.containers) {
    spec.member("containers")
        .push_back(container_of("c" + std::to_string(number++), one, text.burstable));
  }
  if (!text.overhead.empty()) {
    spec.set("overhead", resources_of(text.overhead));
  }
  return Object(Value::object(
      {{"apiVersion", "v1"},
       {"kind", "Pod"},
       {"metadata", Value::object({{"name", name}, {"namespace", "ns"}, {"uid", "u-" + name}})},
       {"spec", spec}}));
}

inline PodRequest make_request(const PodText& text) {
  return request_of(make_pod(text));
}

inline Amounts make_amounts(std::string_view text) {
  return amounts_of(resources_of(text));
}

// One zone per text, ids from 0; available is allocatable is capacity.
inline NodeTopology make_topology(const std::vector<std::string>& zones,
                                  const std::string& scope = "container",
                                  const std::string& policy = "single-numa-node") {
  NodeTopology topology{.node = "w", .policy = policy, .scope = scope};
  int id = 0;
  for (const std::string& text : zones) {
    const Amounts amounts = make_amounts(text);
    topology.zones.push_back(
        {.id = id++, .capacity = amounts, .allocatable = amounts, .available = amounts});
  }
  return topology;
}

}  // namespace athanor::numa::testing
