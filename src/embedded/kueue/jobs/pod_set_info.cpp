// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/jobs/pod_set_info.hpp"

#include <string_view>
#include <utility>

#include "api/kueue.hpp"

namespace athanor::kueue::jobs {

using api::kueue::merge_list;
using api::kueue::merge_map;

namespace {

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

// Labels that the API server gives to a Job's template, which cannot change: a prebuilt Workload
// has none of them.
constexpr std::string_view kGenerated[] = {"controller-uid", "job-name",
                                           "batch.kubernetes.io/controller-uid",
                                           "batch.kubernetes.io/job-name"};

// Returns the labels of `original`, and the generated ones of `labels`.
Value with_generated(Value original, const Value& labels) {
  for (const std::string_view name : kGenerated) {
    if (labels.contains(name) && !original.contains(name)) {
      if (!original.is_object()) {
        original = Value::object();
      }
      original.set(name, labels[name]);
    }
  }
  return original;
}

}  // namespace

Result<std::vector<PodSetInfo>> pod_set_infos(const View& view, const Object& workload) {
  std::vector<PodSetInfo> infos;
  for (const Value& assignment : workload.status().at({"admission", "podSetAssignments"}).items()) {
    std::vector<Object> flavors;
    for (const std::string& name : api::kueue::assigned_flavors(assignment)) {
      if (auto flavor = view.get(api::kueue::kResourceFlavor, {"", name})) {
        flavors.push_back(*std::move(flavor));
      }
    }
    ATHANOR_TRY(PodSetInfo info, api::kueue::pod_set_info(workload, assignment, flavors));
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
  Value labels = with_generated(original["metadata"]["labels"], metadata["labels"]);
  put_back(metadata, Value::object({{"labels", std::move(labels)}}), "labels");
  put_back(metadata, original["metadata"], "annotations");
  Value& spec = part(pod_template, "spec");
  for (const std::string_view field : {"nodeSelector", "tolerations", "schedulingGates"}) {
    put_back(spec, original["spec"], field);
  }
  if (metadata.empty() && original["metadata"].is_null()) {
    pod_template.erase("metadata");
  }
}

}  // namespace athanor::kueue::jobs
