// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/jobs/job_workload.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/kueue_integration.hpp"
#include "embedded/kueue/jobs/identifiers.hpp"
#include "embedded/kueue/jobs/names.hpp"
#include "kube/value/condition.hpp"

namespace athanor::kueue::jobs {
namespace {

// What decides whether a Workload still fits, of one pod set.
Value compared(const Value& pod_set, bool reserved) {
  const Value& spec = pod_set.at({"template", "spec"});
  Value part = Value::object({{"name", pod_set["name"]},
                              {"containers", spec["containers"]},
                              {"initContainers", spec["initContainers"]}});
  if (!reserved) {  // else admission has a say in them
    part.set("count", pod_set["count"]);
    part.set("minCount", pod_set["minCount"]);
    part.set("nodeSelector", spec["nodeSelector"]);
    part.set("tolerations", spec["tolerations"]);
  }
  return part;
}

// The counts of a job that runs are those of its admission, or those of its Workload.
bool counts_fit(const Object& workload, const Value& wanted) {
  const Value& assignments = workload.status().at({"admission", "podSetAssignments"});
  const Value& present = workload.spec()["podSets"];
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Value& count = wanted[i]["count"];
    if (count != present[i]["count"] && count != assignments[i]["count"]) {
      return false;
    }
  }
  return true;
}

}  // namespace

NameLength name_length(const Integrations& settings) {
  return settings.short_workload_names ? NameLength::Short : NameLength::Object;
}

std::string workload_name(const Kind& kind, const Object& job, NameLength longest) {
  return api::kueue::workload_name(kind, job.name(), job.uid(), longest);
}

Value pod_sets_of(const Adapter& adapter, const Integrations& settings, const Object& job) {
  Value list = Value::list();
  for (const PodSetPlace& place : adapter.pod_sets(job)) {
    const Value& pod_template = look_up(job.body(), place.pod_template);
    Value pod_set =
        Value::object({{"name", place.name},
                       {"count", place.count},
                       {"template", pod_template.is_object() ? pod_template : Value::object()}});
    if (place.min_count && settings.partial_admission) {
      pod_set.set("minCount", *place.min_count);
    }
    list.push_back(std::move(pod_set));
  }
  return list;
}

Value max_execution_time(const Object& job) {
  const std::string_view text = job.label(name::kMaxExecTime);
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  return error == std::errc() && end == text.data() + text.size() && seconds > 0 ? Value(seconds)
                                                                                 : Value();
}

bool is_equivalent(const Adapter& adapter, const Integrations& settings, const Object& workload,
                   const Object& job) {
  const bool prebuilt = !prebuilt_name(job).empty();
  if (!prebuilt && workload.spec()["maximumExecutionTimeSeconds"] != max_execution_time(job)) {
    return false;
  }
  // A job that was stopped keeps what admission gave it until that is taken back.
  const bool reserved = condition_is(workload.status()["conditions"], "QuotaReserved", "True") ||
                        !is_suspended(adapter, job.body());
  const Value wanted = pod_sets_of(adapter, settings, job);
  const Value& present = workload.spec()["podSets"];
  if (present.size() != wanted.size() || (reserved && !counts_fit(workload, wanted))) {
    return false;
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (compared(present[i], reserved) != compared(wanted[i], reserved)) {
      return false;
    }
  }
  return true;
}

Result<Priority> priority_of(const View& view, const Object& job, const Value& pod_sets) {
  const auto by_class = [&](const Kind& kind, std::string_view class_name) -> Result<Priority> {
    const auto found = view.get(kind, {"", std::string(class_name)});
    if (!found) {
      return Error::not_found(fmt::format("{} \"{}\" not found", kind.name, class_name));
    }
    return Priority{.class_ref = Value::object(
                        {{"group", kind.group}, {"kind", kind.name}, {"name", class_name}}),
                    .value = found->body()["value"].as_int()};
  };
  if (const std::string_view wanted = job.label(name::kPriorityClass); !wanted.empty()) {
    return by_class(api::kueue::kWorkloadPriorityClass, wanted);
  }
  for (const Value& pod_set : pod_sets.items()) {
    const Value& wanted = pod_set.at({"template", "spec", "priorityClassName"});
    if (!wanted.as_string().empty()) {
      return by_class(api::kPriorityClass, wanted.as_string());
    }
  }
  for (const Object& one : view.list(api::kPriorityClass)) {
    if (one.body()["globalDefault"].as_bool()) {
      return Priority{.value = one.body()["value"].as_int()};
    }
  }
  return Priority{};
}

Value new_workload(const std::string& name, const Object& job, Value owners, Value pod_sets,
                   const Priority& priority) {
  Value metadata = Value::object({{"name", name},
                                  {"namespace", job.ns()},
                                  {"labels", Value::object({{name::kJobUid, job.uid()}})},
                                  {"finalizers", Value::list({api::kueue::kInUseFinalizer})},
                                  {"ownerReferences", std::move(owners)}});
  for (const Member& annotation : job.metadata()["annotations"].members()) {
    if (api::kueue::is_copied_annotation(annotation.key())) {
      metadata.member("annotations").set(annotation.key(), annotation.value);
    }
  }
  Value spec = Value::object({{"podSets", std::move(pod_sets)}, {"priority", priority.value}});
  if (!job.label(name::kQueue).empty()) {
    spec.set("queueName", job.label(name::kQueue));
  }
  if (!priority.class_ref.is_null()) {
    spec.set("priorityClassRef", priority.class_ref);
  }
  if (const Value limit = max_execution_time(job); !limit.is_null()) {
    spec.set("maximumExecutionTimeSeconds", limit);
  }
  return Value::object({{"apiVersion", api::kueue::kWorkload.api_version()},
                        {"kind", api::kueue::kWorkload.name},
                        {"metadata", std::move(metadata)},
                        {"spec", std::move(spec)}});
}

Ref ref_to(const Object& workload) {
  return {&api::kueue::kWorkload, workload.key()};
}

Guard guard_for(const Object& object) {
  return {.uid = std::string(object.uid()),
          .resource_version = std::string(object.resource_version())};
}

void tell(Plan& plan, const Kind& kind, const Object& about, std::string_view reason,
          std::string note, std::string_view type) {
  plan.then(Emit{.about = {&kind, about.key()},
                 .about_uid = std::string(about.uid()),
                 .type = std::string(type),
                 .reason = std::string(reason),
                 .note = std::move(note)});
}

void drop_finalizer(Plan& plan, const Kind& kind, const Object& object,
                    std::string_view finalizer) {
  Value kept = Value::list();
  for (const Value& one : object.metadata()["finalizers"].items()) {
    if (one.as_string() != finalizer) {
      kept.push_back(one);
    }
  }
  plan.then(Patch{
      .target = {&kind, object.key()},
      .merge = Value::object({{"metadata", Value::object({{"finalizers", std::move(kept)}})}}),
      .guard = guard_for(object)});
}

}  // namespace athanor::kueue::jobs
