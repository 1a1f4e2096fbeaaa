// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/resources/pod_resize.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "api/builtin.hpp"
#include "kube/text/quantity.hpp"
#include "kube/value/condition.hpp"

namespace athanor::nodes {
namespace {

constexpr std::string_view kIndexName = "node-pods";
constexpr const char* kPending = "PodResizePending";
constexpr const char* kLists[] = {"initContainers", "containers"};

// In thousandths of a processor, and in bytes.
struct Need {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;

  Need& operator+=(const Need& other) {
    cpu += other.cpu;
    memory += other.memory;
    return *this;
  }
};

Need need_of(const Value& amounts) {
  const auto cpu = Quantity::parse(amounts["cpu"]);
  const auto memory = Quantity::parse(amounts["memory"]);
  return {.cpu = cpu ? cpu->milli_value() : 0, .memory = memory ? memory->value() : 0};
}

Need most(const Need& a, const Need& b) {
  return {.cpu = std::max(a.cpu, b.cpu), .memory = std::max(a.memory, b.memory)};
}

Need plus(Need a, const Need& b) {
  return a += b;
}

// Requests of the pod: containers and sidecars run together, init containers before them.
Need pod_need(const Value& spec) {
  Need together;
  Need peak;
  for (const Value& container : spec["initContainers"].items()) {
    const Need own = need_of(container["resources"]["requests"]);
    peak = most(peak, plus(together, own));
    if (container["restartPolicy"].as_string() == "Always") {
      together += own;
    }
  }
  for (const Value& container : spec["containers"].items()) {
    together += need_of(container["resources"]["requests"]);
  }
  Need need = most(together, peak);
  const Value& whole = spec["resources"]["requests"];
  if (whole.contains("cpu")) {
    need.cpu = need_of(whole).cpu;
  }
  if (whole.contains("memory")) {
    need.memory = need_of(whole).memory;
  }
  return plus(need, need_of(spec["overhead"]));
}

bool is_pending(const Object& pod) {
  return condition_is(pod.status()["conditions"], kPending, "True");
}

bool is_over(const Object& pod) {
  const std::string_view phase = pod.status()["phase"].as_string();
  return phase == "Succeeded" || phase == "Failed";
}

bool comes_before(const Object& a, const Object& b) {
  const auto rank = [](const Object& pod) {
    return std::tuple(-pod.spec()["priority"].as_int(), pod.creation_time(), pod.uid());
  };
  return rank(a) < rank(b);
}

// Why `more` does not fit beside `used`; empty: it does.
std::string shortage(const Need& more, const Need& used, const Need& node) {
  constexpr std::string_view kText =
      "Node didn't have enough resource: {}, requested: {}, used: {}, capacity: {}";
  if (more.cpu > 0 && used.cpu + more.cpu > node.cpu) {
    return fmt::format(fmt::runtime(kText), "cpu", more.cpu, used.cpu, node.cpu);
  }
  if (more.memory > 0 && used.memory + more.memory > node.memory) {
    return fmt::format(fmt::runtime(kText), "memory", more.memory, used.memory, node.memory);
  }
  return {};
}

// Sums the resources of the other pods of the node; pods whose resize waits before this one count
// with the size that they ask for.
Need used_beside(const View& view, const Object& pod, const Need& node) {
  Need used;
  std::vector<Object> earlier;
  const auto all = view.list(
      api::kPod, {.index = std::string(kIndexName), .index_value = pod.spec()["nodeName"].str()});
  for (const Object& other : all) {
    if (other.uid() == pod.uid() || is_over(other)) {
      continue;
    }
    used += pod_need(granted_pod(other).spec());
    if (is_pending(other) && comes_before(other, pod)) {
      earlier.push_back(other);
    }
  }
  std::ranges::sort(earlier, comes_before);
  for (const Object& other : earlier) {
    const Need now = pod_need(granted_pod(other).spec());
    const Need then = pod_need(other.spec());
    const Need without{.cpu = used.cpu - now.cpu, .memory = used.memory - now.memory};
    if (shortage(then, without, node).empty()) {
      used = plus(without, then);
    }
  }
  return used;
}

bool is_changed(const Value& now, const Value& before, std::string_view name) {
  return now["requests"][name] != before["requests"][name] ||
         now["limits"][name] != before["limits"][name];
}

Value restarts_of(const Object& pod, const Value& granted) {
  Value restarts = Value::list();
  for (const char* list : kLists) {
    for (const Value& container : pod.spec()[list].items()) {
      const Value& before = granted[container["name"].as_string()];
      const bool restarts_it =
          std::ranges::any_of(container["resizePolicy"].items(), [&](const Value& policy) {
            return policy["restartPolicy"].as_string() == "RestartContainer" &&
                   is_changed(container["resources"], before, policy["resourceName"].as_string());
          });
      if (restarts_it) {
        restarts.push_back(container["name"]);
      }
    }
  }
  return restarts;
}

std::vector<std::string> node_of(const Object& pod) {
  const std::string_view node = pod.spec()["nodeName"].as_string();
  return node.empty() ? std::vector<std::string>() : std::vector{std::string(node)};
}

}  // namespace

Value pod_resources(const Object& pod) {
  Value resources = Value::object();
  for (const char* list : kLists) {
    for (const Value& container : pod.spec()[list].items()) {
      resources.set(container["name"].as_string(),
                    container["resources"].is_object() ? container["resources"] : Value::object());
    }
  }
  return resources;
}

Object with_resources(const Object& pod, const Value& resources) {
  Value body = pod.body();
  Value& spec = body.member("spec");
  for (const char* list : kLists) {
    for (std::size_t i = 0; i < spec[list].size(); ++i) {
      const Value& known = resources[spec[list][i]["name"].as_string()];
      if (known.is_object() && known != spec[list][i]["resources"]) {
        spec.member(list).item(i).set("resources", known);
      }
    }
  }
  return Object(std::move(body));
}

Object granted_pod(const Object& pod) {
  if (!is_pending(pod)) {
    return pod;
  }
  Value resources = Value::object();
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    for (const Value& status : pod.status()[list].items()) {
      if (status["resources"].is_object()) {
        resources.set(status["name"].as_string(), status["resources"]);
      }
    }
  }
  return with_resources(pod, resources);
}

ResizeAnswer answer_resize(const View& view, const Object& pod, const Value& granted) {
  ResizeAnswer answer{.restarts = restarts_of(pod, granted)};
  const auto found = view.get(api::kNode, {"", pod.spec()["nodeName"].str()});
  if (!found || !found->status()["allocatable"].contains("cpu")) {
    return answer;
  }
  const Need node = need_of(found->status()["allocatable"]);
  const Need wanted = pod_need(pod.spec());
  if (wanted.memory > node.memory || wanted.cpu > node.cpu) {
    const bool memory = wanted.memory > node.memory;
    answer.reason = "Infeasible";
    answer.message =
        fmt::format("Node didn't have enough capacity: {}, requested: {}, capacity: {}",
                    memory ? "memory" : "cpu", memory ? wanted.memory : wanted.cpu,
                    memory ? node.memory : node.cpu);
    return answer;
  }
  answer.message = shortage(wanted, used_beside(view, pod, node), node);
  answer.reason = answer.message.empty() ? "" : "Deferred";
  return answer;
}

Index node_pods_index() {
  return {.kind = &api::kPod, .name = kIndexName, .values = node_of};
}

}  // namespace athanor::nodes
