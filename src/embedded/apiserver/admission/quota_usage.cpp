// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/admission/quota_usage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "embedded/kinds/edit.hpp"
#include "embedded/kinds/pods/pod_spec.hpp"
#include "embedded/kinds/resource_names.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kDevices = ".deviceclass.resource.k8s.io/devices";

Quantity one() {
  return Quantity::from_int(1);
}

// Core resources that a quota also knows by their plain name.
constexpr std::array<std::string_view, 7> kPlain = {"configmaps",
                                                    "secrets",
                                                    "services",
                                                    "replicationcontrollers",
                                                    "resourcequotas",
                                                    "persistentvolumeclaims",
                                                    "pods"};

void add_amount(Amounts& amounts, std::string_view name, const Quantity& quantity) {
  const auto [entry, made] = amounts.emplace(name, quantity);
  if (!made) {
    entry->second += quantity;
  }
}

bool has_ended(const Value& pod) {
  return is_one_of(pod["status"]["phase"].as_string(), {"Succeeded", "Failed"});
}

// Without a domain; huge pages have rules of their own.
bool is_compute(std::string_view name) {
  return is_one_of(name, {"cpu", "memory", "ephemeral-storage"});
}

void add_pod(Amounts& usage, const Value& pod) {
  if (has_ended(pod)) {
    return;
  }
  add_amount(usage, "pods", one());
  for (const auto& [name, quantity] : pod_amounts(pod["spec"], "requests")) {
    const bool plain = is_compute(name) || name.starts_with("hugepages-");
    if (plain || is_extended_resource(name)) {
      add_amount(usage, "requests." + name, quantity);
    }
    if (plain) {
      add_amount(usage, name, quantity);
    }
  }
  for (const auto& [name, quantity] : pod_amounts(pod["spec"], "limits")) {
    if (is_compute(name)) {
      add_amount(usage, "limits." + name, quantity);
    }
  }
}

void add_service(Amounts& usage, const Value& service) {
  const Value& spec = service["spec"];
  const std::string_view type = spec["type"].as_string();
  const auto ports = static_cast<std::int64_t>(spec["ports"].size());
  if (type == "LoadBalancer") {
    add_amount(usage, "services.loadbalancers", one());
  }
  if (type == "NodePort" ||
      (type == "LoadBalancer" && spec["allocateLoadBalancerNodePorts"].as_bool(true))) {
    add_amount(usage, "services.nodeports", Quantity::from_int(ports));
  }
}

void add_claim(Amounts& usage, const Value& claim) {
  const auto storage = Quantity::parse(claim["spec"]["resources"]["requests"]["storage"]);
  if (storage) {
    add_amount(usage, "requests.storage", *storage);
  }
  const std::string_view name = claim["spec"]["storageClassName"].as_string();
  if (!name.empty()) {
    add_amount(usage, fmt::format("{}.storageclass.storage.k8s.io/persistentvolumeclaims", name),
               one());
    if (storage) {
      add_amount(usage, fmt::format("{}.storageclass.storage.k8s.io/requests.storage", name),
                 *storage);
    }
  }
}

// Of one request of devices; all devices of a node count as the most that a claim can hold.
Quantity device_count(const Value& request) {
  constexpr std::int64_t kMostDevices = 32;
  return Quantity::from_int(
      request["allocationMode"].as_string() == "All" ? kMostDevices : request["count"].as_int(1));
}

void add_device_claim(Amounts& usage, const Value& claim) {
  for (const Value& request : claim["spec"]["devices"]["requests"].items()) {
    Amounts most;  // alternatives: each class counts once, with the largest of them
    const auto raise = [&](const Value& wanted) {
      const std::string_view name = wanted["deviceClassName"].as_string();
      if (!name.empty()) {
        Quantity& current = most[fmt::format("{}{}", name, kDevices)];
        current = std::max(current, device_count(wanted));
      }
    };
    raise(request["exactly"]);
    raise(request);  // of versions before v1
    for (const Value& alternative : request["firstAvailable"].items()) {
      raise(alternative);
    }
    for (const auto& [name, quantity] : most) {
      add_amount(usage, name, quantity);
    }
  }
}

bool matches_name(const Value& expression, std::string_view name) {
  const std::string_view op = expression["operator"].as_string();
  const auto values = expression["values"].items();
  const bool listed = std::any_of(values.begin(), values.end(),
                                  [&](const Value& value) { return value.as_string() == name; });
  if (op == "In") {
    return listed;
  }
  if (op == "NotIn") {
    return !listed;
  }
  return op == "DoesNotExist" ? name.empty() : !name.empty();
}

// The classes that a claim has, had or is on the way to.
bool matches_attributes_class(const Value& claim, const Value& expression) {
  const Value& status = claim["status"];
  std::vector<std::string_view> names = {
      claim["spec"]["volumeAttributesClassName"].as_string(),
      status["currentVolumeAttributesClassName"].as_string(),
      status["modifyVolumeStatus"]["targetVolumeAttributesClassName"].as_string()};
  std::erase(names, std::string_view());
  if (names.empty()) {
    return matches_name(expression, {});
  }
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return matches_name(expression, name); });
}

bool matches_pod_scope(const Value& pod, const Value& expression) {
  const std::string_view scope = expression["scopeName"].as_string();
  const bool bounded = !pod["spec"]["activeDeadlineSeconds"].is_null();
  const bool best_effort = qos_class(pod["spec"]) == "BestEffort";
  if (scope == "Terminating") {
    return bounded;
  }
  if (scope == "NotTerminating") {
    return !bounded;
  }
  if (scope == "BestEffort") {
    return best_effort;
  }
  if (scope == "NotBestEffort") {
    return !best_effort;
  }
  if (scope == "PriorityClass") {
    return matches_name(expression, pod["spec"]["priorityClassName"].as_string());
  }
  if (scope == "CrossNamespacePodAffinity") {
    const Value& affinity = pod["spec"]["affinity"];
    for (const std::string_view kind : {"podAffinity", "podAntiAffinity"}) {
      for (const Value& term :
           affinity[kind]["requiredDuringSchedulingIgnoredDuringExecution"].items()) {
        if (!term["namespaces"].empty() || term.contains("namespaceSelector")) {
          return true;
        }
      }
    }
  }
  return false;
}

// "pods" and "" for the core group of "pods"; "deployments" and "apps" for "deployments.apps".
std::pair<std::string_view, std::string_view> split_resource(std::string_view storage) {
  const std::size_t dot = storage.find('.');
  return {storage.substr(0, dot),
          dot == std::string_view::npos ? std::string_view() : storage.substr(dot + 1)};
}

// What of the store a limited name depends on.
bool is_counted(std::string_view storage, const Value& hard) {
  const auto [plural, group] = split_resource(storage);
  const std::string count = fmt::format("count/{}", storage);
  for (const Member& amount : hard.members()) {
    const std::string_view name = amount.key();
    if (name == count || (group.empty() && name == plural)) {
      return true;
    }
    if (name.starts_with("count/")) {
      continue;
    }
    if (storage == "services" && name.starts_with("services.")) {
      return true;
    }
    const bool of_claims =
        name == "requests.storage" || name.find(".storageclass.") != std::string_view::npos;
    if (storage == "persistentvolumeclaims" && of_claims) {
      return true;
    }
    if (storage == "resourceclaims.resource.k8s.io" && name.ends_with(kDevices)) {
      return true;
    }
    if (storage == "pods" && !of_claims &&
        (is_compute(name) || name.starts_with("requests.") || name.starts_with("limits.") ||
         name.starts_with("hugepages-"))) {
      return true;
    }
  }
  return false;
}

}  // namespace

Amounts quota_usage(std::string_view group, std::string_view plural, const Value& object) {
  Amounts usage;
  add_amount(usage, fmt::format("count/{}", store::resource_name(plural, group)), one());
  if (group == "resource.k8s.io" && plural == "resourceclaims") {
    add_device_claim(usage, object);
  }
  if (!group.empty()) {
    return usage;
  }
  if (plural == "pods") {
    add_pod(usage, object);
    return usage;
  }
  if (std::find(kPlain.begin(), kPlain.end(), plural) != kPlain.end()) {
    add_amount(usage, plural, one());
  }
  if (plural == "services") {
    add_service(usage, object);
  } else if (plural == "persistentvolumeclaims") {
    add_claim(usage, object);
  }
  return usage;
}

bool in_quota_scope(const Value& quota, std::string_view group, std::string_view plural,
                    const Value& object) {
  const Value& spec = quota["spec"];
  const Value& expressions = spec["scopeSelector"]["matchExpressions"];
  if (spec["scopes"].empty() && expressions.empty()) {
    return true;
  }
  const bool pod = group.empty() && plural == "pods";
  const bool claim = group.empty() && plural == "persistentvolumeclaims";
  const auto matches = [&](const Value& expression) {
    const bool of_claims = expression["scopeName"].as_string() == "VolumeAttributesClass";
    return of_claims ? claim && matches_attributes_class(object, expression)
                     : pod && matches_pod_scope(object, expression);
  };
  for (const Value& scope : spec["scopes"].items()) {
    if (!matches(Value::object({{"scopeName", scope}, {"operator", "Exists"}}))) {
      return false;
    }
  }
  const auto all = expressions.items();
  return std::all_of(all.begin(), all.end(), matches);
}

Amounts namespace_usage(const store::Store& store, const Value& quota, const Value& hard) {
  Amounts used;
  for (const std::string& storage : store.resources()) {
    if (!is_counted(storage, hard)) {
      continue;
    }
    const auto [plural, group] = split_resource(storage);
    const auto page = store.list(storage, {.ns = quota["metadata"]["namespace"].str()});
    if (!page.ok()) {
      continue;
    }
    for (const store::StoredPtr& stored : page->items) {
      if (!in_quota_scope(quota, group, plural, stored->body)) {
        continue;
      }
      for (const auto& [name, quantity] : quota_usage(group, plural, stored->body)) {
        if (hard.contains(name)) {
          add_amount(used, name, quantity);
        }
      }
    }
  }
  return used;
}

Value used_value(const Amounts& used, const Value& hard) {
  Value result = Value::object();
  for (const Member& amount : hard.members()) {
    const auto entry = used.find(amount.key());
    result.set(amount.key(), entry == used.end() ? std::string("0") : entry->second.text());
  }
  return result;
}

std::string missing_amounts(const Value& pod_spec, const Value& hard) {
  if (has_pod_level_resources(pod_spec)) {
    return {};
  }
  std::map<std::string, std::set<std::string>> missing;
  for (const std::string_view name :
       {"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}) {
    if (!hard.contains(name)) {
      continue;
    }
    const bool limit = name.starts_with("limits.");
    const std::size_t dot = name.find('.');
    const std::string_view amount = dot == std::string_view::npos ? name : name.substr(dot + 1);
    for (const Value& container : all_containers(pod_spec)) {
      if (!container["resources"][limit ? "limits" : "requests"].contains(amount)) {
        missing[std::string(name)].insert(container["name"].str());
      }
    }
  }
  std::vector<std::string> parts;
  parts.reserve(missing.size());
  for (const auto& [name, containers] : missing) {
    parts.push_back(fmt::format("{} for: {}", name, fmt::join(containers, ",")));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace athanor::apiserver
