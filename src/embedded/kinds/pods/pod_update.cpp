// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/pods/pod_update.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

namespace athanor::apiserver {
namespace {

constexpr std::string_view kOnly =
    "pod updates may not change fields other than "
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

bool includes(const Value& list, const Value& item) {
  const auto items = list.items();
  return std::find(items.begin(), items.end(), item) != items.end();
}

void check_deadline(FieldErrors& errors, const Value& now, const Value& before) {
  constexpr std::string_view kField = "spec.activeDeadlineSeconds";
  if (before.is_null() || now == before) {
    return;
  }
  if (now.is_null()) {
    errors.push_back(FieldError::invalid(kField, Value(),
                                         "must not update from a positive integer to nil value"));
  } else if (now.as_int() > before.as_int()) {
    errors.push_back(
        FieldError::invalid(kField, now, "must be less than or equal to previous value"));
  }
}

// All of a toleration but its tolerationSeconds.
using Toleration =
    std::tuple<std::string_view, std::string_view, std::string_view, std::string_view>;

Toleration without_seconds(const Value& toleration) {
  return {toleration["key"].as_string(), toleration["operator"].as_string(),
          toleration["value"].as_string(), toleration["effect"].as_string()};
}

void check_new_tolerations(FieldErrors& errors, const Value& now, const Value& before) {
  std::set<Toleration> kept;
  for (const Value& toleration : now.items()) {
    kept.insert(without_seconds(toleration));
  }
  for (const Value& old : before.items()) {
    if (!kept.contains(without_seconds(old))) {
      errors.push_back(FieldError::forbidden(
          "spec.tolerations",
          "existing toleration can not be modified except its tolerationSeconds"));
      return;
    }
  }
}

void check_gate_update(FieldErrors& errors, const Value& now, const Value& before) {
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (!includes(before, now[i])) {
      errors.push_back(FieldError::forbidden(
          fmt::format("spec.schedulingGates[{}].name", i),
          fmt::format("only deletion is allowed, but found new scheduling gate '{}'",
                      now[i]["name"].as_string())));
    }
  }
}

// Every old label stays as it was.
bool narrows_labels(const Value& now, const Value& before) {
  const auto labels = before.members();
  return std::all_of(labels.begin(), labels.end(),
                     [&](const Member& label) { return now[label.key()] == label.value; });
}

// The internal form in which the reference prints errors of a list of requirements or
// terms.
Value as_printed(const Value& list, Value (*item_as_printed)(const Value&)) {
  if (list.empty()) {
    return {};
  }
  Value printed = Value::list();
  for (const Value& item : list.items()) {
    printed.push_back(item_as_printed(item));
  }
  return printed;
}

Value requirement_as_printed(const Value& requirement) {
  return Value::object({{"Key", requirement["key"]},
                        {"Operator", requirement["operator"]},
                        {"Values", requirement["values"]}});
}

Value term_as_printed(const Value& term) {
  return Value::object(
      {{"MatchExpressions", as_printed(term["matchExpressions"], requirement_as_printed)},
       {"MatchFields", as_printed(term["matchFields"], requirement_as_printed)}});
}

// Whether a term goes on with all that it asked for; one that asked for nothing still does.
bool narrows_term(const Value& now, const Value& before) {
  const auto continues = [&](std::string_view list) {
    const auto old_items = before[list].items();
    const auto items = now[list].items();
    return items.size() >= old_items.size() &&
           std::equal(old_items.begin(), old_items.end(), items.begin());
  };
  const auto is_empty = [](const Value& term) {
    return term["matchExpressions"].empty() && term["matchFields"].empty();
  };
  return is_empty(before) ? is_empty(now)
                          : continues("matchExpressions") && continues("matchFields");
}

// Where there were terms, each may ask for more, and there are as many.
void check_node_affinity(FieldErrors& errors, const Value& now, const Value& before) {
  constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  const std::string field =
      fmt::format("spec.affinity.nodeAffinity.{}.nodeSelectorTerms", kRequired);
  const Value& old_terms = before[kRequired]["nodeSelectorTerms"];
  const Value& terms = now[kRequired]["nodeSelectorTerms"];
  if (old_terms.empty()) {
    return;
  }
  if (terms.size() != old_terms.size()) {
    errors.push_back(FieldError::invalid(
        field, as_printed(terms, term_as_printed),
        "no additions/deletions to non-empty NodeSelectorTerms list are allowed"));
    return;
  }
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (!narrows_term(terms[i], old_terms[i])) {
      errors.push_back(
          FieldError::invalid(fmt::format("{}[{}]", field, i), term_as_printed(terms[i]),
                              "only additions are allowed (no mutations or deletions)"));
    }
  }
}

// A gated pod's node selection has rules of its own.
void put_back_node_selection(Value& spec, const Value& old_spec) {
  if (old_spec.contains("nodeSelector")) {
    spec.set("nodeSelector", old_spec["nodeSelector"]);
  } else {
    spec.erase("nodeSelector");
  }
  Value affinity = spec["affinity"];
  const Value& old_node = old_spec["affinity"]["nodeAffinity"];
  if (affinity["nodeAffinity"] == old_node) {
    return;
  }
  if (old_node.is_null()) {
    affinity.erase("nodeAffinity");
  } else {
    affinity.set("nodeAffinity", old_node);
  }
  if (affinity.empty() && !old_spec.contains("affinity")) {
    spec.erase("affinity");
  } else {
    spec.set("affinity", std::move(affinity));
  }
}

// The new spec with everything that may change put back.
Value without_allowed_changes(Value spec, const Value& old_spec) {
  const auto restore = [&](std::string_view field) {
    if (const Value* old = old_spec.find(field)) {
      spec.set(field, *old);
    } else {
      spec.erase(field);
    }
  };
  for (const std::string_view list : {"containers", "initContainers"}) {
    const Value& containers = spec[list];
    const Value& old_containers = old_spec[list];
    if (containers.size() != old_containers.size()) {
      continue;
    }
    Value items = containers;
    for (std::size_t i = 0; i < items.size(); ++i) {
      items.item(i).set("image", old_containers[i]["image"]);
    }
    if (items.is_list()) {
      spec.set(list, std::move(items));
    }
  }
  restore("activeDeadlineSeconds");
  restore("schedulingGates");
  restore("tolerations");  // have a rule of their own
  if (old_spec["terminationGracePeriodSeconds"].as_int() < 0 &&
      spec["terminationGracePeriodSeconds"].as_int() == 1) {
    restore("terminationGracePeriodSeconds");
  }
  if (!old_spec["schedulingGates"].empty()) {
    put_back_node_selection(spec, old_spec);
  }
  return spec;
}

}  // namespace

FieldErrors validate_ephemeral_update(const Value& pod, const Value& old_pod) {
  FieldErrors errors;
  const Value& now = pod["spec"]["ephemeralContainers"];
  const Value& before = old_pod["spec"]["ephemeralContainers"];
  std::map<std::string_view, const Value*> containers;
  for (const Value& container : now.items()) {
    containers.emplace(container["name"].as_string(), &container);
  }
  for (const Value& old : before.items()) {
    const auto found = containers.find(old["name"].as_string());
    if (found == containers.end() || *found->second != old) {
      errors.push_back(FieldError::forbidden(
          "spec.ephemeralContainers",
          fmt::format("existing ephemeral containers \"{}\" may not be {}\n",
                      old["name"].as_string(), found == containers.end() ? "removed" : "changed")));
    }
  }
  return errors;
}

FieldErrors validate_pod_update(const Value& pod, const Value& old_pod) {
  FieldErrors errors;
  const Value& spec = pod["spec"];
  const Value& old_spec = old_pod["spec"];
  if (spec == old_spec) {
    return errors;
  }
  check_deadline(errors, spec["activeDeadlineSeconds"], old_spec["activeDeadlineSeconds"]);
  check_gate_update(errors, spec["schedulingGates"], old_spec["schedulingGates"]);
  check_new_tolerations(errors, spec["tolerations"], old_spec["tolerations"]);
  if (!old_spec["schedulingGates"].empty() &&
      !narrows_labels(spec["nodeSelector"], old_spec["nodeSelector"])) {
    errors.push_back(FieldError::invalid(
        "spec.nodeSelector", spec["nodeSelector"],
        "only additions to spec.nodeSelector are allowed (no mutations or deletions)"));
  }
  if (!old_spec["schedulingGates"].empty()) {
    check_node_affinity(errors, spec["affinity"]["nodeAffinity"],
                        old_spec["affinity"]["nodeAffinity"]);
  }
  const Value rest = without_allowed_changes(spec, old_spec);
  if (rest != old_spec) {
    std::string changed;
    for (const Value* side : {&rest, &old_spec}) {
      for (const Member& member : side->members()) {
        const std::string name = fmt::format("\nspec.{}", member.key());
        if (rest[member.key()] != old_spec[member.key()] &&
            changed.find(name) == std::string::npos) {
          changed += name;
        }
      }
    }
    errors.push_back(FieldError::forbidden("spec", std::string(kOnly) + changed));
  }
  return errors;
}

}  // namespace athanor::apiserver
