// SPDX-License-Identifier: Apache-2.0
#include "api/kueue_pod_set_info.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

namespace athanor::api::kueue {
namespace {

// Adds what the checks of a Workload ask for one of its pod sets.
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

}  // namespace

std::vector<std::string> assigned_flavors(const Value& assignment) {
  std::set<std::string> names;
  for (const Member& entry : assignment["flavors"].members()) {
    names.insert(entry.value.str());
  }
  return {names.begin(), names.end()};
}

Result<PodSetInfo> pod_set_info(const Object& workload, const Value& assignment,
                                const std::vector<Object>& flavors) {
  PodSetInfo info{.name = assignment["name"].str(), .count = assignment["count"].as_int(1)};
  info.labels.set("kueue.x-k8s.io/podset", info.name);
  info.labels.set("kueue.x-k8s.io/local-queue-name", workload.spec()["queueName"].str());
  info.labels.set("kueue.x-k8s.io/cluster-queue-name",
                  workload.status().at({"admission", "clusterQueue"}).str());
  info.annotations.set("kueue.x-k8s.io/workload", workload.name());
  for (const Object& flavor : flavors) {
    for (const Member& label : flavor.spec()["nodeLabels"].members()) {
      info.node_selector.set(label.key(), label.value);
    }
    merge_list(info.tolerations, flavor.spec()["tolerations"]);
  }
  ATHANOR_TRY_VOID(add_updates(workload, info));
  return info;
}

Result<void> merge_map(Value& into, const Value& from, std::string_view field) {
  for (const Member& entry : from.members()) {
    const Value& present = into[entry.key()];
    if (!present.is_null() && present != entry.value) {
      return Error::bad_request(
          fmt::format("conflict for {}: conflict for key={}, value1={}, value2={}", field,
                      entry.key(), present.as_string(), entry.value.as_string()));
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

}  // namespace athanor::api::kueue
