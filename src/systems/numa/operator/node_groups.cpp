// SPDX-License-Identifier: Apache-2.0
// Checks of node groups.
#include "systems/numa/operator/node_groups.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "api/builtin.hpp"
#include "base/time.hpp"
#include "kube/names/selector.hpp"

namespace athanor::numa {
namespace {

constexpr const char* kReason = "ValidationErrorUnderNodeGroups";
constexpr std::size_t kMostAnnotations = 8;
constexpr const char* kMultiplePools = "config.node.openshift-kni.io/multiple-pools-per-tree";
constexpr const char* kSelinuxPolicy = "config.node.openshift-kni.io/selinux-policy";

bool has_selector(const NodeGroup& group) {
  return !group.machine_config_pool_selector.is_null();
}

std::optional<std::string> specifier_problem(const std::vector<NodeGroup>& groups) {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (!has_selector(groups[i]) && !groups[i].pool_name) {
      return fmt::format("node group {} missing any pool specifier", i);
    }
    if (has_selector(groups[i]) && groups[i].pool_name) {
      return fmt::format(
          "node group {} must have only a single specifier set: either PoolName or "
          "MachineConfigPoolSelector",
          i);
    }
  }
  return std::nullopt;
}

std::optional<std::string> name_problem(const std::vector<NodeGroup>& groups) {
  std::string empty;
  std::set<std::string> names;
  std::string duplicates;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (!groups[i].pool_name) {
      continue;
    }
    if (groups[i].pool_name->empty()) {
      empty +=
          fmt::format("{}pool name for pool #{} cannot be empty", empty.empty() ? "" : "\n", i);
    } else if (!names.insert(*groups[i].pool_name).second) {
      duplicates += fmt::format("{}the pool name \"{}\" has duplicates",
                                duplicates.empty() ? "" : "\n", *groups[i].pool_name);
    }
  }
  if (!empty.empty()) {
    return empty;
  }
  return duplicates.empty() ? std::nullopt : std::optional(duplicates);
}

std::optional<std::string> annotation_problem(const std::vector<NodeGroup>& groups) {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].annotations.size() > kMostAnnotations) {
      return fmt::format("pool #{} has too many annotations {} max {}", i,
                         groups[i].annotations.size(), kMostAnnotations);
    }
  }
  return std::nullopt;
}

// Checks periods here: a wrong one would otherwise show in the exporters' logs alone.
std::optional<std::string> period_problem(const std::vector<NodeGroup>& groups) {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (!groups[i].config || !groups[i].config->info_refresh_period) {
      continue;
    }
    const auto period = parse_go_duration(*groups[i].config->info_refresh_period);
    if (!period.ok()) {
      return fmt::format("node group {}: infoRefreshPeriod: {}", i, period.error().message);
    }
    if (*period < Duration(0)) {
      return fmt::format("node group {}: infoRefreshPeriod must not be negative", i);
    }
  }
  return std::nullopt;
}

std::optional<std::string> hypershift_problem(const std::vector<NodeGroup>& groups) {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (has_selector(groups[i])) {
      return fmt::format(
          "node group {} specifies MachineConfigPoolSelector on Hypershift platform; Should "
          "specify PoolName only",
          i);
    }
    if (!groups[i].pool_name) {
      return fmt::format("node group {} must specify PoolName on Hypershift platform", i);
    }
  }
  return std::nullopt;
}

std::optional<std::string> selector_problem(const std::vector<NodeGroup>& groups) {
  std::set<std::string> seen;
  std::string duplicates;
  for (const NodeGroup& group : groups) {
    if (!has_selector(group)) {
      continue;
    }
    const std::string text = selector_text(group.machine_config_pool_selector);
    if (!seen.insert(text).second) {
      duplicates +=
          fmt::format("{}the node group with the machineConfigPoolSelector \"{}\" has duplicates",
                      duplicates.empty() ? "" : "\n", text);
    }
  }
  if (!duplicates.empty()) {
    return duplicates;
  }
  for (const NodeGroup& group : groups) {
    if (has_selector(group)) {
      if (const auto parsed = LabelSelector::from_value(group.machine_config_pool_selector);
          !parsed.ok()) {
        return parsed.error().message;
      }
    }
  }
  return std::nullopt;
}

std::string name_of(const NodeGroup& group) {
  return group.pool_name ? *group.pool_name : selector_text(group.machine_config_pool_selector);
}

std::vector<Object> selected(const NodeGroup& group, const std::vector<Object>& all) {
  std::vector<Object> found;
  if (group.pool_name) {
    std::ranges::copy_if(all, std::back_inserter(found),
                         [&](const Object& pool) { return pool.name() == *group.pool_name; });
    return found;
  }
  const auto selector = LabelSelector::from_value(group.machine_config_pool_selector);
  if (selector.ok()) {
    std::ranges::copy_if(all, std::back_inserter(found), [&](const Object& pool) {
      return selector->matches(pool.metadata()["labels"]);
    });
  }
  return found;
}

void find_machine_config_pools(const View& view, const Object& object, const OperatorSpec& spec,
                               Pools& result) {
  const std::vector<Object> all = view.list(kMachineConfigPool);
  std::set<std::string> taken;
  std::string ambiguous;
  for (const NodeGroup& group : spec.node_groups) {
    const std::vector<Object> found = selected(group, all);
    if (found.empty()) {
      result.refusal = Refusal{
          kReason,
          fmt::format("failed to find MachineConfigPool for the node group {}", name_of(group))};
      return;
    }
    std::string names;
    for (const Object& pool : found) {
      names += fmt::format("{}{}", names.empty() ? "" : " ", pool.name());
      if (!taken.insert(std::string(pool.name())).second) {
        result.refusal =
            Refusal{kReason,
                    fmt::format("the MachineConfigPool \"{}\" selected by at least two node groups",
                                pool.name())};
        return;
      }
      result.pools.push_back({.name = std::string(pool.name()),
                              .object = pool,
                              .group = &group,
                              .config = GroupConfig::of(group)});
    }
    if (found.size() > 1 && object.annotation(kMultiplePools) != "enabled") {
      ambiguous += fmt::format(
          "{}found multiple pools matches for node group {} but expected one. Pools found [{}]",
          ambiguous.empty() ? "" : "\n", name_of(group), names);
    }
  }
  if (!ambiguous.empty()) {
    result.tolerable = Refusal{kReason, ambiguous};
  }
}

// A map as Go prints it inside a selector.
std::string go_map(const Value& labels) {
  std::map<std::string, std::string> sorted;
  for (const Member& label : labels.members()) {
    sorted.emplace(label.key(), label.value.str());
  }
  std::string text = "map[string]string{";
  for (const auto& [key, value] : sorted) {
    text += fmt::format("{}: {},", key, value);
  }
  return text + "}";
}

bool serves_pools(const View& view) {
  const Kind& kind = kMachineConfigPool;
  return view.get(api::kCustomResourceDefinition,
                  {"", fmt::format("{}.{}", kind.plural, kind.group)}) ||
         !view.list(kind).empty();
}

}  // namespace

Platform platform_of(const View& view, const Settings& settings) {
  if (settings.platform == "openshift") {
    return Platform::OpenShift;
  }
  if (settings.platform == "hypershift") {
    return Platform::HyperShift;
  }
  if (settings.platform == "kubernetes" || view.list(kClusterVersion).empty()) {
    return Platform::Kubernetes;
  }
  const auto infrastructure = view.get(kInfrastructure, {"", "cluster"});
  const bool hosted =
      infrastructure && infrastructure->status()["controlPlaneTopology"].as_string() == "External";
  return hosted ? Platform::HyperShift : Platform::OpenShift;
}

const char* text_of(Platform platform) {
  return platform == Platform::OpenShift    ? "OpenShift"
         : platform == Platform::HyperShift ? "HyperShift"
                                            : "Kubernetes";
}

GroupConfig GroupConfig::of(const NodeGroup& group) {
  GroupConfig config;
  if (!group.config) {
    return config;
  }
  const NodeGroupConfig& given = *group.config;
  config.pods_fingerprinting = given.pods_fingerprinting.value_or(config.pods_fingerprinting);
  config.info_refresh_mode = given.info_refresh_mode.value_or(config.info_refresh_mode);
  config.info_refresh_period = given.info_refresh_period.value_or(config.info_refresh_period);
  config.info_refresh_pause = given.info_refresh_pause.value_or(config.info_refresh_pause);
  config.tolerations = given.tolerations;
  return config;
}

Value GroupConfig::to_value() const {
  Value value = Value::object({{"podsFingerprinting", pods_fingerprinting},
                               {"infoRefreshMode", info_refresh_mode},
                               {"infoRefreshPeriod", info_refresh_period},
                               {"infoRefreshPause", info_refresh_pause}});
  if (!tolerations.empty()) {
    value.set("tolerations", Value::list(tolerations));
  }
  return value;
}

bool Pool::custom_policy() const {
  const auto found = group->annotations.find(kSelinuxPolicy);
  return found != group->annotations.end() && found->second == "custom";
}

Pools pools_of(const View& view, const Object& object, const OperatorSpec& spec,
               Platform platform) {
  Pools result;
  const auto refuse = [&](const std::optional<std::string>& problem) {
    if (problem) {
      result.refusal = Refusal{kReason, *problem};
    }
    return problem.has_value();
  };
  if (refuse(specifier_problem(spec.node_groups)) || refuse(name_problem(spec.node_groups)) ||
      refuse(annotation_problem(spec.node_groups)) || refuse(period_problem(spec.node_groups))) {
    return result;
  }
  if (platform == Platform::HyperShift && refuse(hypershift_problem(spec.node_groups))) {
    return result;
  }
  if (platform != Platform::HyperShift && refuse(selector_problem(spec.node_groups))) {
    return result;
  }
  const bool selects = std::ranges::any_of(spec.node_groups, has_selector);
  if (platform == Platform::OpenShift) {
    find_machine_config_pools(view, object, spec, result);
    return result;
  }
  if (platform == Platform::Kubernetes && selects) {
    if (!serves_pools(view)) {
      refuse("unsupported platform");
      return result;
    }
    find_machine_config_pools(view, object, spec, result);
    return result;
  }
  for (const NodeGroup& group : spec.node_groups) {
    result.pools.push_back(
        {.name = *group.pool_name, .group = &group, .config = GroupConfig::of(group)});
  }
  return result;
}

std::string selector_text(const Value& selector) {
  std::string expressions;
  for (const Value& one : selector["matchExpressions"].items()) {
    std::string values;
    for (const Value& value : one["values"].items()) {
      values += fmt::format("{}{}", values.empty() ? "" : " ", value.as_string());
    }
    expressions += fmt::format("LabelSelectorRequirement{{Key:{},Operator:{},Values:[{}],}},",
                               one["key"].as_string(), one["operator"].as_string(), values);
  }
  return fmt::format(
      "&LabelSelector{{MatchLabels:{},MatchExpressions:[]LabelSelectorRequirement{{{}}},}}",
      go_map(selector["matchLabels"]), expressions);
}

}  // namespace athanor::numa
