// SPDX-License-Identifier: Apache-2.0
// From a template to the object that is created.
#include "systems/appwrapper/lifecycle/desired.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "kube/value/object.hpp"
#include "systems/appwrapper/model/fault_tolerance.hpp"
#include "systems/appwrapper/model/names.hpp"
#include "systems/appwrapper/model/wrapped_kinds.hpp"
#include "systems/appwrapper/node_health/autopilot.hpp"
#include "systems/appwrapper/pod_sets/template_path.hpp"

namespace athanor::appwrapper {
namespace {

Error fatal(std::string message) {
  return {.code = 422, .reason = "Invalid", .message = std::move(message)};
}

// Adds entries to the map at `path` of `object`; another value of a key that is there is an error.
Result<void> add_entries(Value& map, const Value& entries, std::string_view what) {
  for (const Member& entry : entries.members()) {
    const Value* present = map.find(entry.key());
    if (present == nullptr) {
      map.set(entry.key(), entry.value);
    } else if (*present != entry.value) {
      return fatal(fmt::format("conflict updating {}: conflict for key={}, value1={}, value2={}",
                               what, entry.key(), present->as_string(), entry.value.as_string()));
    }
  }
  return {};
}

// The map at `path` of `object`, made where it is absent. What has another form there is an error:
// templates hold whatever their author wrote.
Result<Value*> map_at(Value& object, std::initializer_list<std::string_view> path) {
  Value* map = &object;
  std::string at;
  for (const std::string_view step : path) {
    at += fmt::format("{}{}", at.empty() ? "" : ".", step);
    const Value& next = std::as_const(*map)[step];
    if (!next.is_null() && !next.is_object()) {
      return fatal(fmt::format("{} of a template is not a map", at));
    }
    map = &map->member(step);
  }
  return map;
}

Result<void> check_list(const Value& spec, std::string_view field) {
  if (!spec[field].is_null() && !spec[field].is_list()) {
    return fatal(fmt::format("spec.{} of a template is not a list", field));
  }
  return {};
}

Result<void> add_entries(Value& object, std::initializer_list<std::string_view> path,
                         const Value& entries, std::string_view what) {
  if (entries.empty()) {
    return {};
  }
  ATHANOR_TRY(Value* const map, map_at(object, path));
  return add_entries(*map, entries, what);
}

void append_gates(Value& spec, const Value& gates) {
  for (const Value& gate : gates.items()) {
    const bool present =
        std::ranges::any_of(spec["schedulingGates"].items(),
                            [&](const Value& other) { return other["name"] == gate["name"]; });
    if (!present) {
      spec.member("schedulingGates").push_back(gate);
    }
  }
}

Result<void> inject(Value& pod_template, const Value& info, const AppWrapper& app,
                    const Settings& settings) {
  ATHANOR_TRY_VOID(
      add_entries(pod_template, {"metadata", "annotations"}, info["annotations"], "annotations"));
  Value labels = info["labels"].is_object() ? info["labels"] : Value::object();
  labels.set(name::kLabel, app.object.name());
  if (is_gang(app)) {
    labels.set(name::kPodGroupLabel, app.object.name());
  }
  ATHANOR_TRY_VOID(add_entries(pod_template, {"metadata", "labels"}, labels, "labels"));
  ATHANOR_TRY_VOID(
      add_entries(pod_template, {"spec", "nodeSelector"}, info["nodeSelector"], "nodeSelector"));
  ATHANOR_TRY(Value* const place, map_at(pod_template, {"spec"}));
  Value& spec = *place;
  ATHANOR_TRY_VOID(check_list(spec, "tolerations"));
  ATHANOR_TRY_VOID(check_list(spec, "schedulingGates"));
  for (const Value& toleration : info["tolerations"].items()) {
    spec.member("tolerations").push_back(toleration);
  }
  append_gates(spec, info["schedulingGates"]);
  if (!settings.scheduler_name.empty() && spec["schedulerName"].as_string().empty()) {
    spec.set("schedulerName", settings.scheduler_name);
  }
  add_anti_affinities(spec, settings.autopilot);
  return {};
}

Value owner_reference(const AppWrapper& app) {
  return OwnerReference{.api_version = kAppWrapper.api_version(),
                        .kind = std::string(kAppWrapper.name),
                        .name = std::string(app.object.name()),
                        .uid = std::string(app.object.uid()),
                        .controller = true,
                        .block_owner_deletion = true}
      .to_value();
}

Result<void> own(Value& object, const AppWrapper& app) {
  const Object typed(object);
  if (const auto other = typed.controller()) {
    return fatal(fmt::format("object {}/{} is already owned by another {} controller {}",
                             typed.ns(), typed.name(), other->kind, other->name));
  }
  object.member("metadata").member("ownerReferences").push_back(owner_reference(app));
  return {};
}

}  // namespace

Result<Value> desired_object(const AppWrapper& app, std::size_t index,
                             const std::vector<PodSet>& pod_sets, const Settings& settings) {
  const Component& component = app.spec.components[index];
  Value object = component.template_value;
  const std::string_view ns = object["metadata"]["namespace"].as_string();
  if (!ns.empty() && ns != app.object.ns()) {
    return fatal(
        fmt::format("component namespace \"{}\" is different from appwrapper namespace \"{}\"", ns,
                    app.object.ns()));
  }
  ATHANOR_TRY(Value* const metadata, map_at(object, {"metadata"}));
  metadata->set("namespace", app.object.ns());
  ATHANOR_TRY(Value* const labels, map_at(object, {"metadata", "labels"}));
  if (!labels->contains(name::kLabel)) {
    labels->set(name::kLabel, app.object.name());
  }
  const Value& owners = object["metadata"]["ownerReferences"];
  if (!owners.is_null() && !owners.is_list()) {
    return fatal("metadata.ownerReferences of a template is not a list");
  }
  for (std::size_t i = 0; i < pod_sets.size(); ++i) {
    const auto edited = edit_at(object, pod_sets[i].path, [&](Value& pod_template) {
      return inject(pod_template, component.pod_set_infos[i], app, settings);
    });
    if (!edited.ok()) {
      return edited.error();
    }
  }
  ATHANOR_TRY_VOID(own(object, app));
  return object;
}

bool is_gang(const AppWrapper& app) {
  return app.object.annotation(std::string(name::kAnnotationPrefix) +
                               std::string(annotation::kGang)) == "true";
}

Value pod_group_object(const AppWrapper& app, std::int64_t expected_pods) {
  const Kind& kind = pod_group_kind();
  return Value::object(
      {{"apiVersion", kind.api_version()},
       {"kind", kind.name},
       {"metadata", Value::object({{"name", app.object.name()},
                                   {"namespace", app.object.ns()},
                                   {"labels", Value::object({{name::kLabel, app.object.name()}})},
                                   {"ownerReferences", Value::list({owner_reference(app)})}})},
       {"spec", Value::object({{"minMember", expected_pods}})}});
}

}  // namespace athanor::appwrapper
