// SPDX-License-Identifier: Apache-2.0
// Anti-affinities from resource taints, and pods on nodes that must be left.
#include "systems/appwrapper/node_health/autopilot.hpp"

#include <algorithm>
#include <initializer_list>
#include <map>

#include "api/builtin.hpp"
#include "kube/text/quantity.hpp"
#include "kube/value/condition.hpp"

namespace athanor::appwrapper {
namespace {

bool asks_for(const Value& container, std::string_view resource) {
  for (const std::string_view group : {"requests", "limits"}) {
    const auto amount = Quantity::parse(container["resources"][group][resource]);
    if (amount && !amount->is_zero() && !amount->is_negative()) {
      return true;
    }
  }
  return false;
}

bool pod_asks_for(const Value& pod_spec, std::string_view resource,
                  std::initializer_list<std::string_view> lists) {
  return std::ranges::any_of(lists, [&](std::string_view list) {
    return std::ranges::any_of(pod_spec[list].items(), [&](const Value& container) {
      return asks_for(container, resource);
    });
  });
}

// NotIn expressions by key: keys sorted, values in the order of the configuration.
using Excluded = std::map<std::string, Value>;

Value expressions(const Excluded& excluded) {
  Value list = Value::list();
  for (const auto& [key, values] : excluded) {
    list.push_back(Value::object({{"key", key}, {"operator", "NotIn"}, {"values", values}}));
  }
  return list;
}

// Null or a value of the type that the schema wants there.
bool is_well_formed(const Value& affinity) {
  constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
  const auto object = [](const Value& value) { return value.is_null() || value.is_object(); };
  const auto list = [](const Value& value) { return value.is_null() || value.is_list(); };
  const Value& node = affinity["nodeAffinity"];
  const Value& terms = node[kRequired]["nodeSelectorTerms"];
  return object(affinity) && object(node) && object(node[kRequired]) && list(terms) &&
         list(node[kPreferred]) && std::ranges::all_of(terms.items(), [&](const Value& term) {
           return object(term) && list(term["matchExpressions"]);
         });
}

void add_required(Value& node_affinity, const Excluded& excluded) {
  Value& terms = node_affinity.member("requiredDuringSchedulingIgnoredDuringExecution")
                     .member("nodeSelectorTerms");
  if (terms.empty()) {
    terms.push_back(Value::object());
  }
  const Value added = expressions(excluded);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    Value& list = terms.item(i).member("matchExpressions");
    for (const Value& expression : added.items()) {
      list.push_back(expression);
    }
  }
}

bool is_out_of_reach(const Value& taint) {
  return taint["key"].as_string() == "node.kubernetes.io/unreachable" ||
         taint["key"].as_string() == "node.kubernetes.io/not-ready";
}

bool carries(const Object& node, const ResourceTaint& taint) {
  return node.metadata()["labels"].contains(taint.key) && node.label(taint.key) == taint.value;
}

// When the node was last reached; nullopt: it is reached.
std::optional<Instant> unreachable_since(const Object& node) {
  for (const Value& taint : node.spec()["taints"].items()) {
    if (is_out_of_reach(taint)) {
      const auto added = parse_time(taint["timeAdded"].as_string());
      return added ? added
                   : parse_time(
                         find_condition(node.status()["conditions"], "Ready")["lastTransitionTime"]
                             .as_string());
    }
  }
  return std::nullopt;
}

void add_amount(std::map<std::string, Quantity>& sums, std::string_view resource,
                const Value& amount) {
  const auto parsed = Quantity::parse(amount);
  if (parsed && !parsed->is_zero() && !parsed->is_negative()) {
    const auto [sum, fresh] = sums.emplace(resource, *parsed);
    if (!fresh) {
      sum->second += *parsed;
    }
  }
}

}  // namespace

void add_anti_affinities(Value& pod_spec, const Autopilot& autopilot) {
  if (!autopilot.enabled || !autopilot.inject_anti_affinities ||
      !is_well_formed(pod_spec["affinity"])) {
    return;
  }
  Excluded required;
  Excluded preferred;
  for (const auto& [resource, taints] : autopilot.resource_taints) {
    if (!pod_asks_for(pod_spec, resource, {"containers", "initContainers"})) {
      continue;
    }
    for (const ResourceTaint& taint : taints) {
      (taint.effect == "PreferNoSchedule" ? preferred : required)[taint.key].push_back(taint.value);
    }
  }
  if (required.empty() && preferred.empty()) {
    return;
  }
  Value& node_affinity = pod_spec.member("affinity").member("nodeAffinity");
  if (!required.empty()) {
    add_required(node_affinity, required);
  }
  if (!preferred.empty()) {
    node_affinity.member("preferredDuringSchedulingIgnoredDuringExecution")
        .push_back(Value::object(
            {{"weight", autopilot.prefer_no_schedule_weight},
             {"preference", Value::object({{"matchExpressions", expressions(preferred)}})}}));
  }
}

std::set<std::string> nodes_to_leave(const View& view, const std::vector<Object>& running_pods,
                                     const Autopilot& autopilot) {
  std::set<std::string> nodes;
  if (!autopilot.enabled || !autopilot.monitor_nodes) {
    return nodes;
  }
  for (const Object& pod : running_pods) {
    for (const auto& [resource, taints] : autopilot.resource_taints) {
      if (pod.spec()["nodeName"].as_string().empty() ||
          !pod_asks_for(pod.spec(), resource, {"containers"})) {
        continue;
      }
      const auto node = view.get(api::kNode, {"", pod.spec()["nodeName"].str()});
      const bool leave =
          node && !node->deleting() && std::ranges::any_of(taints, [&](const ResourceTaint& taint) {
            return taint.effect == "NoExecute" && carries(*node, taint);
          });
      if (leave) {
        nodes.insert(std::string(node->name()));
      }
    }
  }
  return nodes;
}

Unreachable unreachable_nodes(const View& view, const std::vector<Object>& running_pods,
                              Duration grace, Instant now) {
  Unreachable result;
  for (const Object& pod : running_pods) {
    const std::string name = pod.spec()["nodeName"].str();
    const auto node = name.empty() ? std::nullopt : view.get(api::kNode, {"", name});
    const auto since = node ? unreachable_since(*node) : std::nullopt;
    if (!since) {
      continue;
    }
    const Instant over = *since + grace;
    if (now >= over) {
      result.nodes.insert(name);
    } else {
      result.next = std::min(result.next.value_or(over), over);
    }
  }
  return result;
}

std::map<std::string, Quantity> unusable_resources(const std::vector<Object>& nodes,
                                                   const Autopilot& autopilot) {
  std::map<std::string, Quantity> sums;
  for (const Object& node : nodes) {
    if (node.deleting()) {
      continue;
    }
    const Value& capacity = node.status()["capacity"];
    const auto& taints = node.spec()["taints"].items();
    if (node.spec()["unschedulable"].as_bool() || std::ranges::any_of(taints, is_out_of_reach)) {
      for (const Member& one : capacity.members()) {
        if (one.key() != "pods") {
          add_amount(sums, one.key(), one.value);
        }
      }
      continue;
    }
    for (const auto& [resource, marks] : autopilot.resource_taints) {
      const bool marked = std::ranges::any_of(marks, [&](const ResourceTaint& mark) {
        return mark.effect != "PreferNoSchedule" && carries(node, mark);
      });
      if (marked) {
        add_amount(sums, resource, capacity[resource]);
      }
    }
  }
  return sums;
}

}  // namespace athanor::appwrapper
