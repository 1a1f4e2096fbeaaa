// SPDX-License-Identifier: Apache-2.0
// Pods and PodTemplates (spec/apiserver.md 14).
#include <array>

#include "embedded/apiserver/kinds/checks.hpp"
#include "embedded/apiserver/kinds/edit.hpp"
#include "embedded/apiserver/kinds/kind_table.hpp"
#include "embedded/apiserver/kinds/pod_cells.hpp"
#include "embedded/apiserver/kinds/pod_spec.hpp"
#include "embedded/apiserver/kinds/pod_update.hpp"
#include "embedded/apiserver/kinds/pod_warnings.hpp"

namespace athanor::apiserver {
namespace {

void default_pod(Value& pod, const KindContext& /*context*/) {
  edit_member(pod, "spec", [](Value& spec) { default_pod_spec(spec, PodSpecOf::Pod); });
  const std::string_view qos = qos_class(pod["spec"]);
  edit_member(pod, "status", [&](Value& status) {
    default_to(status, "phase", "Pending");
    if (!status["podIP"].as_string().empty() &&
        (status["podIPs"].empty() || status["podIPs"][0]["ip"] != status["podIP"])) {
      status.set("podIPs", Value::list({Value::object({{"ip", status["podIP"]}})}));
    } else if (status["podIP"].as_string().empty() && !status["podIPs"].empty()) {
      const Value first = status["podIPs"][0]["ip"];
      status.set("podIP", first);
    }
    // Follows from the spec, which admission may still have changed.
    if (status["qosClass"].as_string() != qos) {
      status.set("qosClass", qos);
    }
  });
}

// A pod behind gates says why it is not scheduled.
void prepare_pod(Value& pod, const KindContext& context) {
  if (!pod["spec"]["schedulingGates"].empty()) {
    Value condition =
        Value::object({{"type", "PodScheduled"},
                       {"status", "False"},
                       {"lastProbeTime", Value()},
                       {"lastTransitionTime", format_time(context.now)},
                       {"reason", "SchedulingGated"},
                       {"message", "Scheduling is blocked due to non-empty scheduling gates"}});
    pod.set_path({"status", "conditions"}, Value::list({std::move(condition)}));
  }
}

void warn_of_pod(const Value& pod, const Value& old_pod, const KindContext& context) {
  if (old_pod.is_null()) {
    warn_of_pod_spec(pod["spec"], "spec", *context.warnings);
  }
}

void warn_of_pod_template(const Value& object, const Value& old_object,
                          const KindContext& context) {
  if (object["template"] != old_object["template"]) {
    warn_of_pod_spec(object["template"]["spec"], "template.spec", *context.warnings);
  }
}

FieldErrors validate_pod(const Value& pod, const KindContext& /*context*/) {
  return validate_pod_spec(pod["spec"], "spec");
}

FieldErrors validate_pod_change(const Value& pod, const Value& old_pod,
                                const KindContext& context) {
  if (context.subresource == "ephemeralcontainers") {
    return validate_ephemeral_update(pod, old_pod);
  }
  if (!context.subresource.empty()) {
    return {};
  }
  if (pod["spec"] == old_pod["spec"]) {
    return {};
  }
  FieldErrors errors = validate_pod_spec(pod["spec"], "spec");
  for (const std::string_view list : {"containers", "initContainers"}) {
    if (pod["spec"][list].size() != old_pod["spec"][list].size()) {
      errors.push_back(FieldError::forbidden(below("spec", list),
                                             "pod updates may not add or remove containers"));
      return errors;
    }
  }
  append(errors, validate_pod_update(pod, old_pod));
  return errors;
}

// The subresource writes its list alone.
void prepare_pod_update(Value& pod, const Value& old_pod, const KindContext& context) {
  if (context.subresource != "ephemeralcontainers") {
    return;
  }
  Value spec = old_pod["spec"];
  if (const Value* containers = pod["spec"].find("ephemeralContainers")) {
    spec.set("ephemeralContainers", *containers);
  } else {
    spec.erase("ephemeralContainers");
  }
  pod.set("spec", std::move(spec));
}

void default_template(Value& object, const KindContext& /*context*/) {
  edit_member(object, "template", default_pod_template);
}

FieldErrors validate_template(const Value& object, const KindContext& /*context*/) {
  return validate_pod_template(object["template"], "template");
}

FieldErrors validate_template_change(const Value& object, const Value& /*old_object*/,
                                     const KindContext& context) {
  return validate_template(object, context);
}

Cells template_cells(const Value& object, Instant /*now*/) {
  const Value& pod_template = object["template"];
  return {name_cell(object), containers_cell(pod_template["spec"]),
          images_cell(pod_template["spec"]), labels_cell(pod_template["metadata"]["labels"])};
}

constexpr std::array kRows = {
    KindRow{.group = "",
            .plural = "pods",
            .behaviour = {.apply_defaults = &default_pod,
                          .prepare_create = &prepare_pod,
                          .prepare_update = &prepare_pod_update,
                          .validate_create = &validate_pod,
                          .validate_update = &validate_pod_change,
                          .warn = &warn_of_pod,
                          .cells = &pod_cells}},
    KindRow{.group = "",
            .plural = "podtemplates",
            .behaviour = {.apply_defaults = &default_template,
                          .validate_create = &validate_template,
                          .validate_update = &validate_template_change,
                          .warn = &warn_of_pod_template,
                          .cells = &template_cells}},
};

}  // namespace

std::span<const KindRow> pod_rows() {
  return kRows;
}

}  // namespace athanor::apiserver
