// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/jobs/pods.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/digest.hpp"
#include "embedded/kueue/jobs/identifiers.hpp"
#include "embedded/kueue/jobs/names.hpp"
#include "kube/text/json.hpp"
#include "kube/text/quantity.hpp"

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

// The same value with the members of its objects in order: equal values print equally. What is
// empty counts as absent.
Value sorted(const Value& value) {
  if (value.is_list()) {
    Value list = Value::list();
    for (const Value& item : value.items()) {
      list.push_back(sorted(item));
    }
    return list.empty() ? Value() : list;
  }
  if (!value.is_object()) {
    return value;
  }
  std::map<std::string_view, Value> members;
  for (const Member& member : value.members()) {
    members.emplace(member.key(), sorted(member.value));
  }
  Value object = Value::object();
  for (auto& [key, member] : members) {
    object.set(key, std::move(member));
  }
  return object.empty() ? Value() : object;
}

// Resources with their quantities in canonical form.
Value amounts_of(const Value& resources) {
  Value amounts = Value::object();
  for (const Member& one : resources.members()) {
    const auto amount = Quantity::parse(one.value);
    amounts.set(one.key(), amount ? Value(amount->text()) : one.value);
  }
  return sorted(amounts);
}

Value shape_of(const Value& containers) {
  Value list = Value::list();
  for (const Value& container : containers.items()) {
    list.push_back(Value::object({{"requests", amounts_of(container["resources"]["requests"])},
                                  {"ports", sorted(container["ports"])}}));
  }
  return list;
}

// The order in which pods keep their places: those that Kueue holds, those that may run, the
// oldest.
bool stays_before(const Object* left, const Object* right) {
  const auto rank = [](const Object* pod) {
    return std::tuple(!pod->has_finalizer(name::kManaged), is_gated(*pod), pod->creation_time());
  };
  return rank(left) < rank(right);
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

bool is_succeeded(const Object& pod) {
  return pod.status()["phase"].as_string() == "Succeeded";
}

bool is_over(const Object& pod) {
  const std::string_view phase = pod.status()["phase"].as_string();
  return phase == "Succeeded" || phase == "Failed" ||
         (pod.deleting() && pod.spec()["nodeName"].as_string().empty());
}

bool is_living(const Object& pod) {
  return !is_over(pod) && !pod.deleting();
}

std::optional<Instant> lost_at(const Object& pod) {
  const auto end = parse_time(pod.metadata()["deletionTimestamp"].as_string());
  if (!end) {
    return std::nullopt;
  }
  // The time of deletion contains the grace period once; the second one is for a slow node.
  const std::int64_t grace = pod.metadata()["deletionGracePeriodSeconds"].as_int();
  return *end + std::chrono::seconds(grace + 1);
}

bool holds_nothing(const Object& pod, Instant now) {
  const auto lost = lost_at(pod);
  return is_over(pod) || (lost && now >= *lost);
}

std::string role_of(const Object& pod) {
  const std::string_view hash = pod.annotation(name::kRoleHash);
  return group_name(pod).empty() || hash.empty() ? "main" : std::string(hash);
}

std::string role_hash(const Value& pod_spec) {
  constexpr std::size_t kDigits = 8;
  Value shape = Value::object({{"containers", shape_of(pod_spec["containers"])},
                               {"initContainers", shape_of(pod_spec["initContainers"])},
                               {"overhead", amounts_of(pod_spec["overhead"])},
                               {"requests", amounts_of(pod_spec["resources"]["requests"])}});
  for (const std::string_view field :
       {"nodeSelector", "affinity", "tolerations", "runtimeClassName", "topologySpreadConstraints",
        "resourceClaims"}) {
    shape.set(field, sorted(pod_spec[field]));
  }
  // A class is resolved before the webhooks, unless it is missing.
  shape.set("priority",
            pod_spec["priority"].is_null() ? pod_spec["priorityClassName"] : pod_spec["priority"]);
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
  return std::ranges::count_if(pods, is_succeeded);
}

bool PodGroup::is_unretriable() const {
  return std::ranges::any_of(
      pods, [](const Object& pod) { return pod.annotation(name::kRetriable) == "false"; });
}

RoleMembers members_of(const PodGroup& group, std::string_view role, std::int64_t count) {
  RoleMembers members;
  std::vector<const Object*> living;
  std::vector<const Object*> failed;
  std::int64_t succeeded = 0;
  std::int64_t running = 0;  // also those that are being deleted
  for (const Object& pod : group.pods) {
    if (role_of(pod) != role) {
      continue;
    }
    running += !is_over(pod) && !is_gated(pod) ? 1 : 0;
    if (is_succeeded(pod)) {
      ++succeeded;
    } else if (is_living(pod)) {
      living.push_back(&pod);
    } else if (is_over(pod)) {
      failed.push_back(&pod);
    }
  }
  const auto gated =
      std::ranges::count_if(living, [](const Object* pod) { return is_gated(*pod); });
  members.absent = std::max<std::int64_t>(0, count - succeeded - running - gated);
  std::ranges::stable_sort(living, stays_before);
  const auto places = static_cast<std::size_t>(std::max<std::int64_t>(0, count - succeeded));
  while (living.size() > places) {
    members.excess.push_back(living.back());
    living.pop_back();
  }
  const auto free = static_cast<std::int64_t>(places - living.size());
  std::ranges::stable_sort(failed, {}, [](const Object* pod) { return pod->creation_time(); });
  std::ranges::copy_n(failed.begin(),
                      std::max<std::int64_t>(0, static_cast<std::int64_t>(failed.size()) - free),
                      std::back_inserter(members.replaced));
  std::int64_t room = count - succeeded - running;
  for (const Object* pod : living) {
    if (is_gated(*pod) && room > 0) {
      members.startable.push_back(pod);
      --room;
    }
  }
  return members;
}

PodGroup group_of(std::vector<Object> pods) {
  PodGroup group;
  group.name = pods.empty() ? std::string() : std::string(group_name(pods.front()));
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

Value pod_set_of_first(const PodGroup& group) {
  const std::vector<Object> alive = group.living();
  return Value::list({Value::object({{"name", role_of(alive.front())},
                                     {"count", group.total},
                                     {"template", template_of(alive.front())}})});
}

Value reclaimable_of(const PodGroup& group) {
  std::map<std::string, std::int64_t> roles;
  for (const Object& pod : group.pods) {
    if (is_succeeded(pod)) {
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
