// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/pods/placement_rules.hpp"

#include <fmt/format.h>

#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "embedded/kinds/edit.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

void check_weight(FieldErrors& errors, const Value& term, const std::string& path) {
  const std::int64_t weight = term["weight"].as_int();
  if (weight < 1 || weight > 100) {
    errors.push_back(FieldError::invalid(path + ".weight", weight, "must be in the range 1-100"));
  }
}

// Labels whose values the pod itself gives.
void check_label_keys(FieldErrors& errors, const Value& keys, const Value& selector,
                      const std::string& path) {
  if (!keys.empty() && selector.is_null()) {
    errors.push_back(
        FieldError::forbidden(path, "must not be specified when labelSelector is not set"));
    return;
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    check_name(errors, at(path, i), keys[i].as_string(), &validate_label_key);
  }
}

void check_pod_term(FieldErrors& errors, const Value& term, const std::string& path) {
  check_label_selector(errors, path + ".labelSelector", term["labelSelector"]);
  check_label_selector(errors, path + ".namespaceSelector", term["namespaceSelector"]);
  for (const Value& name : term["namespaces"].items()) {
    check_name(errors, path + ".namespace", name.as_string(), &validate_dns1123_label);
  }
  for (const std::string_view keys : {"matchLabelKeys", "mismatchLabelKeys"}) {
    check_label_keys(errors, term[keys], term["labelSelector"], below(path, keys));
  }
  const std::string_view topology = term["topologyKey"].as_string();
  if (topology.empty()) {
    errors.push_back(FieldError::required(path + ".topologyKey", "can not be empty"));
  }
  check_name(errors, path + ".topologyKey", topology, &validate_label_key);
}

void check_pod_terms(FieldErrors& errors, const Value& affinity, const std::string& path) {
  const Value& required = affinity[kRequired];
  for (std::size_t i = 0; i < required.size(); ++i) {
    check_pod_term(errors, required[i], at(below(path, kRequired), i));
  }
  const Value& preferred = affinity[kPreferred];
  for (std::size_t i = 0; i < preferred.size(); ++i) {
    const std::string here = at(below(path, kPreferred), i);
    check_weight(errors, preferred[i], here);
    check_pod_term(errors, preferred[i]["podAffinityTerm"], here + ".podAffinityTerm");
  }
}

void check_affinity(FieldErrors& errors, const Value& affinity, const std::string& path) {
  const Value& node = affinity["nodeAffinity"];
  const std::string node_path = path + ".nodeAffinity";
  if (!node[kRequired].is_null()) {
    check_node_selector(errors, below(node_path, kRequired), node[kRequired]);
  }
  const Value& preferred = node[kPreferred];
  for (std::size_t i = 0; i < preferred.size(); ++i) {
    const std::string here = at(below(node_path, kPreferred), i);
    check_weight(errors, preferred[i], here);
    check_node_term(errors, here + ".preference", preferred[i]["preference"], LabelValues::Any);
  }
  check_pod_terms(errors, affinity["podAffinity"], path + ".podAffinity");
  check_pod_terms(errors, affinity["podAntiAffinity"], path + ".podAntiAffinity");
}

void check_gates(FieldErrors& errors, const Value& gates, const std::string& path) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < gates.size(); ++i) {
    const std::string name = gates[i]["name"].str();
    check_name(errors, at(path, i), name, &validate_qualified_name);
    if (!seen.insert(name).second) {
      errors.push_back(FieldError::duplicate(at(path, i), name));
    }
  }
}

void check_min_domains(FieldErrors& errors, const Value& constraint, const std::string& path) {
  const Value& least = constraint["minDomains"];
  if (least.is_null()) {
    return;
  }
  if (least.as_int() <= 0) {
    errors.push_back(FieldError::invalid(path + ".minDomains", least, "must be greater than zero"));
  }
  const std::string_view action = constraint["whenUnsatisfiable"].as_string();
  if (action != "DoNotSchedule") {
    errors.push_back(FieldError::invalid(
        path + ".minDomains", least,
        fmt::format("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {}", action)));
  }
}

// Which constraints have the same topologyKey and whenUnsatisfiable as a later one.
std::vector<bool> repeated_later(const Value& constraints) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  std::vector<bool> repeated(constraints.size());
  for (std::size_t i = constraints.size(); i-- > 0;) {
    repeated[i] = !seen.emplace(constraints[i]["topologyKey"].as_string(),
                                constraints[i]["whenUnsatisfiable"].as_string())
                       .second;
  }
  return repeated;
}

void check_spread(FieldErrors& errors, const Value& constraints, const std::string& path) {
  const std::vector<bool> repeated = repeated_later(constraints);
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    const Value& one = constraints[i];
    const std::string here = at(path, i);
    const std::string_view action = one["whenUnsatisfiable"].as_string();
    if (one["maxSkew"].as_int() <= 0) {
      errors.push_back(FieldError::invalid(here + ".maxSkew", one["maxSkew"].as_int(),
                                           "must be greater than zero"));
    }
    require(errors, here + ".topologyKey", one["topologyKey"], "can not be empty");
    if (!is_one_of(action, {"DoNotSchedule", "ScheduleAnyway"})) {
      errors.push_back(FieldError::not_supported(here + ".whenUnsatisfiable", Value(action),
                                                 {"DoNotSchedule", "ScheduleAnyway"}));
    }
    if (repeated[i]) {
      errors.push_back(FieldError::duplicate(
          here + ".{topologyKey, whenUnsatisfiable}",
          Value(fmt::format("{{{}, {}}}", one["topologyKey"].as_string(), action))));
    }
    check_min_domains(errors, one, here);
    for (const std::string_view policy : {"nodeAffinityPolicy", "nodeTaintsPolicy"}) {
      if (!one[policy].is_null()) {
        check_choice_always(errors, below(here, policy), one[policy], {"Honor", "Ignore"});
      }
    }
    check_label_keys(errors, one["matchLabelKeys"], one["labelSelector"], here + ".matchLabelKeys");
    check_label_selector(errors, here + ".labelSelector", one["labelSelector"]);
  }
}

}  // namespace

void check_tolerations(FieldErrors& errors, const Value& tolerations, const std::string& path) {
  for (std::size_t i = 0; i < tolerations.size(); ++i) {
    const Value& toleration = tolerations[i];
    const std::string here = at(path, i);
    const std::string_view key = toleration["key"].as_string();
    const std::string_view op = toleration["operator"].as_string();
    if (!key.empty()) {
      check_name(errors, here + ".key", key, &validate_label_key);
    } else if (op != "Exists") {
      errors.push_back(FieldError::invalid(here + ".operator", toleration["operator"].str(),
                                           "operator must be Exists when `key` is empty, which "
                                           "means \"match all values and all keys\""));
    }
    if (toleration.contains("tolerationSeconds") &&
        toleration["effect"].as_string() != "NoExecute") {
      errors.push_back(
          FieldError::invalid(here + ".effect", toleration["effect"].str(),
                              "effect must be 'NoExecute' when `tolerationSeconds` is set"));
    }
    if (op == "Exists") {
      if (!toleration["value"].as_string().empty()) {
        errors.push_back(FieldError::invalid(here + ".operator", toleration["value"],
                                             "value must be empty when `operator` is 'Exists'"));
      }
    } else if (op.empty() || op == "Equal") {
      check_name(errors, here + ".operator", toleration["value"].as_string(),
                 &validate_label_value);
    } else {
      const bool compares = is_one_of(op, {"Lt", "Gt"});  // known, but not switched on
      errors.push_back(FieldError::not_supported(
          here + ".operator", toleration["operator"],
          compares ? std::vector<std::string>{"Equal", "Exists", "Lt", "Gt"}
                   : std::vector<std::string>{"Equal", "Exists"}));
    }
    check_choice(errors, here + ".effect", toleration["effect"],
                 {"NoSchedule", "PreferNoSchedule", "NoExecute"});
  }
}

void check_placement(FieldErrors& errors, const Value& spec, const std::string& path) {
  check_labels(errors, path + ".nodeSelector", spec["nodeSelector"]);
  check_affinity(errors, spec["affinity"], path + ".affinity");
  check_tolerations(errors, spec["tolerations"], path + ".tolerations");
  check_gates(errors, spec["schedulingGates"], path + ".schedulingGates");
  check_spread(errors, spec["topologySpreadConstraints"], path + ".topologySpreadConstraints");
}

}  // namespace athanor::apiserver
