// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/jobs/pods.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "base/digest.hpp"
#include "embedded/kueue/jobs/names.hpp"
#include "kube/text/json.hpp"

namespace athanor::kueue::jobs {
namespace {

// The template of a pod set from one of its pods.
Value template_of(const Object& pod) {
  Value spec = pod.spec();
  Value gates = Value::list();
  for (const Value& gate : pod.spec()["schedulingGates"].items()) {
    if (gate["name"].as_string() != name::kGate) {
      gates.push_back(gate);
    }
  }
  if (gates.empty()) {
    spec.erase("schedulingGates");
  } else {
    spec.set("schedulingGates", std::move(gates));
  }
  spec.erase("nodeName");
  Value metadata = Value::object();
  for (const std::string_view field : {"labels", "annotations"}) {
    if (pod.metadata()[field].is_object()) {
      metadata.set(field, pod.metadata()[field]);
    }
  }
  return Value::object({{"metadata", std::move(metadata)}, {"spec", std::move(spec)}});
}

std::int64_t total_of(const std::vector<Object>& pods) {
  for (const Object& pod : pods) {
    const std::string_view text = pod.annotation(name::kGroupTotal);
    std::int64_t total = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), total);
    if (!text.empty() && error == std::errc() && total > 0) {
      return total;
    }
  }
  return static_cast<std::int64_t>(std::max<std::size_t>(pods.size(), 1));
}

}  // namespace

bool is_gated(const Object& pod) {
  const auto gates = pod.spec()["schedulingGates"].items();
  return std::ranges::any_of(
      gates, [](const Value& gate) { return gate["name"].as_string() == name::kGate; });
}

bool is_over(const Object& pod) {
  const std::string_view phase = pod.status()["phase"].as_string();
  return phase == "Succeeded" || phase == "Failed" ||
         (pod.deleting() && pod.spec()["nodeName"].as_string().empty());
}

bool is_living(const Object& pod) {
  return !is_over(pod) && !pod.deleting();
}

std::string role_of(const Object& pod) {
  const std::string_view hash = pod.annotation(name::kRoleHash);
  return pod.label(name::kGroup).empty() || hash.empty() ? "main" : std::string(hash);
}

std::string role_hash(const Value& pod_spec) {
  constexpr std::size_t kDigits = 8;
  Value shape = Value::object();
  for (const std::string_view field :
       {"containers", "initContainers", "nodeSelector", "affinity", "tolerations",
        "runtimeClassName", "priorityClassName", "overhead", "resources"}) {
    shape.set(field, pod_spec[field]);
  }
  return sha256_hex(json::print(shape)).substr(0, kDigits);
}

std::vector<Object> PodGroup::living() const {
  std::vector<Object> alive;
  std::ranges::copy_if(pods, std::back_inserter(alive), is_living);
  return alive;
}

bool PodGroup::all_over() const {
  return std::ranges::all_of(pods, is_over);
}

std::int64_t PodGroup::succeeded() const {
  return std::ranges::count_if(
      pods, [](const Object& pod) { return pod.status()["phase"].as_string() == "Succeeded"; });
}

PodGroup group_of(std::vector<Object> pods) {
  PodGroup group;
  group.name = pods.empty() ? std::string() : std::string(pods.front().label(name::kGroup));
  group.total = total_of(pods);
  group.pods = std::move(pods);
  return group;
}

Value pod_sets_of(const PodGroup& group) {
  std::map<std::string, std::pair<std::int64_t, const Object*>> roles;
  const std::vector<Object> alive = group.living();
  for (const Object& pod : alive) {
    auto& [count, first] = roles[role_of(pod)];
    ++count;
    first = first == nullptr ? &pod : first;
  }
  Value list = Value::list();
  for (const auto& [role, counted] : roles) {
    list.push_back(Value::object(
        {{"name", role}, {"count", counted.first}, {"template", template_of(*counted.second)}}));
  }
  return list;
}

Value reclaimable_of(const PodGroup& group) {
  std::map<std::string, std::int64_t> roles;
  for (const Object& pod : group.pods) {
    if (pod.status()["phase"].as_string() == "Succeeded") {
      ++roles[role_of(pod)];
    }
  }
  if (group.name.empty() || roles.empty()) {
    return Value();
  }
  Value list = Value::list();
  for (const auto& [role, count] : roles) {
    list.push_back(Value::object({{"name", role}, {"count", count}}));
  }
  return list;
}

}  // namespace athanor::kueue::jobs
