// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/jobs/pod_set_info.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "api/kueue.hpp"
#include "embedded/kueue/jobs/names.hpp"

namespace athanor::kueue::jobs {
namespace {

// Adds members; a key that is there must have the same value.
Result<void> merge_map(Value& into, const Value& from, std::string_view field) {
  for (const Member& entry : from.members()) {
    const Value& present = into[entry.key()];
    if (!present.is_null() && present != entry.value) {
      return Error::bad_request(
          fmt::format("conflict for {}: conflict for key={}, value1={}, "
                      "value2={}",
                      field, entry.key(), present.as_string(), entry.value.as_string()));
    }
    into.set(entry.key(), entry.value);
  }
  return {};
}

void merge_list(Value& into, const Value& from) {
  for (const Value& item : from.items()) {
    const auto known = into.items();
    if (std::ranges::find(known, item) == known.end()) {
      into.push_back(item);
    }
  }
}

void add_flavors(const View& view, const Value& assignment, PodSetInfo& info) {
  std::set<std::string> names;
  for (const Member& entry : assignment["flavors"].members()) {
    names.insert(entry.value.str());
  }
  for (const std::string& name : names) {
    const auto flavor = view.get(api::kueue::kResourceFlavor, {"", name});
    if (!flavor) {
      continue;
    }
    for (const Member& label : flavor->spec()["nodeLabels"].members()) {
      info.node_selector.set(label.key(), label.value);
    }
    merge_list(info.tolerations, flavor->spec()["tolerations"]);
  }
}

// What the checks of a Workload add to one of its pod sets.
Result<void> add_updates(const Object& workload, PodSetInfo& info) {
  const auto wrong = [](const Error& error) {
    return error.with_context("invalid admission check PodSetUpdate");
  };
  for (const Value& check : workload.status()["admissionChecks"].items()) {
    for (const Value& update : check["podSetUpdates"].items()) {
      if (update["name"].as_string() != info.name) {
        continue;
      }
      for (const auto& [field, into] : {std::pair{"labels", &info.labels},
                                        {"annotations", &info.annotations},
                                        {"nodeSelector", &info.node_selector}}) {
        if (auto merged = merge_map(*into, update[std::string_view(field)], field); !merged.ok()) {
          return wrong(merged.error());
        }
      }
      merge_list(info.tolerations, update["tolerations"]);
    }
  }
  return {};
}

// A member of an object that may be missing or Null.
Value& part(Value& of, std::string_view name) {
  Value& found = of.member(name);
  if (!found.is_object()) {
    found = Value::object();
  }
  return found;
}

void put_back(Value& into, const Value& from, std::string_view field) {
  if (!from[field].is_null()) {
    into.set(field, from[field]);
  } else if (into.contains(field)) {
    into.erase(field);
  }
}

}  // namespace

Result<std::vector<PodSetInfo>> pod_set_infos(const View& view, const Object& workload) {
  const Value& admission = workload.status()["admission"];
  std::vector<PodSetInfo> infos;
  for (const Value& assignment : admission["podSetAssignments"].items()) {
    PodSetInfo info{.name = assignment["name"].str(), .count = assignment["count"].as_int(1)};
    info.labels.set(name::kPodSet, info.name);
    info.labels.set(name::kLocalQueue, workload.spec()["queueName"].str());
    info.labels.set(name::kClusterQueue, admission["clusterQueue"].str());
    info.annotations.set(name::kWorkload, workload.name());
    add_flavors(view, assignment, info);
    ATHANOR_TRY_VOID(add_updates(workload, info));
    infos.push_back(std::move(info));
  }
  return infos;
}

Result<void> inject(Value& pod_template, const PodSetInfo& info) {
  Value& metadata = part(pod_template, "metadata");
  ATHANOR_TRY_VOID(merge_map(part(metadata, "labels"), info.labels, "labels"));
  ATHANOR_TRY_VOID(merge_map(part(metadata, "annotations"), info.annotations, "annotations"));
  Value& spec = part(pod_template, "spec");
  if (!info.node_selector.empty()) {
    ATHANOR_TRY_VOID(merge_map(part(spec, "nodeSelector"), info.node_selector, "nodeSelector"));
  }
  if (!info.tolerations.empty()) {
    Value& tolerations = spec.member("tolerations");
    if (!tolerations.is_list()) {
      tolerations = Value::list();
    }
    merge_list(tolerations, info.tolerations);
  }
  return {};
}

void restore(Value& pod_template, const Value& original) {
  Value& metadata = part(pod_template, "metadata");
  for (const std::string_view field : {"labels", "annotations"}) {
    put_back(metadata, original["metadata"], field);
  }
  Value& spec = part(pod_template, "spec");
  for (const std::string_view field : {"nodeSelector", "tolerations", "schedulingGates"}) {
    put_back(spec, original["spec"], field);
  }
  if (metadata.empty() && original["metadata"].is_null()) {
    pod_template.erase("metadata");
  }
}

}  // namespace athanor::kueue::jobs
