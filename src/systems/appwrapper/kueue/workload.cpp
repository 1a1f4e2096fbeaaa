// SPDX-License-Identifier: Apache-2.0
// Workloads from AppWrappers, and PodSet infos from admissions.
#include "systems/appwrapper/kueue/workload.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/kueue_integration.hpp"
#include "api/kueue_pod_set_info.hpp"
#include "base/ascii.hpp"
#include "kube/value/condition.hpp"
#include "systems/appwrapper/kueue/normal_form.hpp"
#include "systems/appwrapper/model/names.hpp"
#include "systems/appwrapper/pod_sets/pod_sets.hpp"
#include "systems/appwrapper/pod_sets/template_path.hpp"

namespace athanor::appwrapper {
namespace {

Value max_execution_time(const AppWrapper& app) {
  const std::string_view text = app.object.label(name::kMaxExecTime);
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  return error == std::errc() && end == text.data() + text.size() && seconds > 0 ? Value(seconds)
                                                                                 : Value();
}

// What decides whether a Workload still fits, of one PodSet.
Value compared(const Value& pod_set, bool with_tolerations) {
  const Value pod_template = normal_pod_template(pod_set["template"]);
  const Value& spec = pod_template["spec"];
  Value part = Value::object({{"count", pod_set["count"]},
                              {"minCount", pod_set["minCount"]},
                              {"containers", spec["containers"]},
                              {"initContainers", spec["initContainers"]}});
  if (with_tolerations) {
    part.set("tolerations", spec["tolerations"]);
  }
  return part;
}

// One entry of podSetInfos: what admission adds to the pods of a PodSet.
Result<Value> pod_set_info(const View& view, const Object& workload, const Value& assignment) {
  std::vector<Object> flavors;
  for (const std::string& name : api::kueue::assigned_flavors(assignment)) {
    if (auto flavor = view.get(api::kueue::kResourceFlavor, {"", name})) {
      flavors.push_back(*std::move(flavor));
    }
  }
  ATHANOR_TRY(api::kueue::PodSetInfo added,
              api::kueue::pod_set_info(workload, assignment, flavors));
  Value info = Value::object(
      {{"labels", std::move(added.labels)}, {"annotations", std::move(added.annotations)}});
  if (!added.node_selector.empty()) {
    info.set("nodeSelector", std::move(added.node_selector));
  }
  if (!added.tolerations.empty()) {
    info.set("tolerations", std::move(added.tolerations));
  }
  return info;
}

}  // namespace

std::string workload_name(const Object& app, api::kueue::NameLength longest) {
  return api::kueue::workload_name(kAppWrapper, app.name(), app.uid(), longest);
}

Value workload_pod_sets(const AppWrapper& app) {
  Value list = Value::list();
  const auto pod_sets = pod_sets_of(app);
  for (std::size_t i = 0; i < pod_sets.size(); ++i) {
    for (const PodSet& one : pod_sets[i]) {
      const Value pod_template =
          resolve_path(app.spec.components[i].template_value, one.path).value_or(Value::object());
      list.push_back(
          Value::object({{"name", fmt::format("{}-{}", lower(app.object.name()), list.size())},
                         {"count", one.count()},
                         {"template", normal_pod_template(pod_template)}}));
    }
  }
  return list;
}

bool is_equivalent(const Object& workload, const AppWrapper& app) {
  if (workload.spec()["maximumExecutionTimeSeconds"] != max_execution_time(app)) {
    return false;
  }
  const bool admitted = condition_is(workload.status()["conditions"], "QuotaReserved", "True");
  const Value wanted = workload_pod_sets(app);
  const Value& present = workload.spec()["podSets"];
  if (present.size() != wanted.size()) {
    return false;
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (compared(present[i], !admitted) != compared(wanted[i], !admitted)) {
      return false;
    }
  }
  return true;
}

Result<Priority> priority_of(const View& view, const AppWrapper& app) {
  if (const std::string_view wanted = app.object.label(name::kPriorityClass); !wanted.empty()) {
    const auto found = view.get(api::kueue::kWorkloadPriorityClass, {"", std::string(wanted)});
    if (!found) {
      return Error::not_found(fmt::format("WorkloadPriorityClass \"{}\" not found", wanted));
    }
    return Priority{
        .class_ref = Value::object(
            {{"group", api::kueue::kGroup}, {"kind", "WorkloadPriorityClass"}, {"name", wanted}}),
        .value = found->body()["value"].as_int()};
  }
  const Value pod_sets = workload_pod_sets(app);
  for (const Value& pod_set : pod_sets.items()) {
    const std::string name = pod_set.at({"template", "spec", "priorityClassName"}).str();
    if (name.empty()) {
      continue;
    }
    const auto found = view.get(api::kPriorityClass, {"", name});
    if (!found) {
      return Error::not_found(fmt::format("PriorityClass \"{}\" not found", name));
    }
    return Priority{
        .class_ref = Value::object(
            {{"group", "scheduling.k8s.io"}, {"kind", "PriorityClass"}, {"name", name}}),
        .value = found->body()["value"].as_int()};
  }
  for (const Object& one : view.list(api::kPriorityClass)) {
    if (one.body()["globalDefault"].as_bool()) {
      return Priority{.value = one.body()["value"].as_int()};
    }
  }
  return Priority{};
}

Value owner_of_workload(const AppWrapper& app) {
  return OwnerReference{.api_version = kAppWrapper.api_version(),
                        .kind = std::string(kAppWrapper.name),
                        .name = std::string(app.object.name()),
                        .uid = std::string(app.object.uid()),
                        .controller = true,
                        .block_owner_deletion = true}
      .to_value();
}

Value new_workload(const AppWrapper& app, const Priority& priority, const Queueing& queueing) {
  const Object& object = app.object;
  const auto length = queueing.short_workload_names ? api::kueue::NameLength::Short
                                                    : api::kueue::NameLength::Object;
  Value metadata = Value::object({{"name", workload_name(object, length)},
                                  {"namespace", object.ns()},
                                  {"labels", Value::object({{name::kJobUid, object.uid()}})},
                                  {"finalizers", Value::list({api::kueue::kInUseFinalizer})},
                                  {"ownerReferences", Value::list({owner_of_workload(app)})}});
  for (const Member& annotation : object.metadata()["annotations"].members()) {
    if (api::kueue::is_copied_annotation(annotation.key())) {
      metadata.member("annotations").set(annotation.key(), annotation.value);
    }
  }
  for (const std::string& key : queueing.copied_labels) {
    if (const Value& label = object.metadata()["labels"][key]; !label.is_null()) {
      metadata.member("labels").set(key, label);
    }
  }
  Value spec = Value::object({{"podSets", workload_pod_sets(app)}, {"priority", priority.value}});
  if (const std::string_view queue = object.label(name::kQueueName); !queue.empty()) {
    spec.set("queueName", queue);
  }
  if (!priority.class_ref.is_null()) {
    spec.set("priorityClassRef", priority.class_ref);
  }
  if (const Value limit = max_execution_time(app); !limit.is_null()) {
    spec.set("maximumExecutionTimeSeconds", limit);
  }
  return Value::object({{"apiVersion", api::kueue::kWorkload.api_version()},
                        {"kind", api::kueue::kWorkload.name},
                        {"metadata", std::move(metadata)},
                        {"spec", std::move(spec)}});
}

Result<Value> started_components(const View& view, const AppWrapper& app, const Object& workload) {
  const Value& assignments = workload.status().at({"admission", "podSetAssignments"});
  const auto pod_sets = pod_sets_of(app);
  std::size_t expected = 0;
  for (const auto& component : pod_sets) {
    expected += component.size();
  }
  if (assignments.size() != expected) {
    return Error::bad_request(fmt::format("invalid podset infos: expecting {} podsets, got {}",
                                          expected, assignments.size()));
  }
  Value components = app.object.spec()["components"];
  std::size_t next = 0;
  for (std::size_t i = 0; i < pod_sets.size(); ++i) {
    Value infos = Value::list();
    for (std::size_t j = 0; j < pod_sets[i].size(); ++j, ++next) {
      ATHANOR_TRY(Value info, pod_set_info(view, workload, assignments[next]));
      infos.push_back(std::move(info));
    }
    if (infos.empty()) {
      components.item(i).erase("podSetInfos");
    } else {
      components.item(i).set("podSetInfos", std::move(infos));
    }
  }
  return components;
}

Value stopped_components(const AppWrapper& app) {
  Value components = app.object.spec()["components"];
  for (std::size_t i = 0; i < components.size(); ++i) {
    if (components[i].contains("podSetInfos")) {
      components.item(i).erase("podSetInfos");
    }
  }
  return components;
}

}  // namespace athanor::appwrapper
