// SPDX-License-Identifier: Apache-2.0
// Pods and PodTemplates (docs/spec/apiserver.md 14).
#include <algorithm>
#include <array>

#include "embedded/kinds/checks.hpp"
#include "embedded/kinds/edit.hpp"
#include "embedded/kinds/kind_table.hpp"
#include "embedded/kinds/pods/pod_cells.hpp"
#include "embedded/kinds/pods/pod_resize.hpp"
#include "embedded/kinds/pods/pod_spec.hpp"
#include "embedded/kinds/pods/pod_update.hpp"
#include "embedded/kinds/pods/pod_warnings.hpp"

namespace athanor::apiserver {
namespace {

void default_pod(Value& pod, const KindContext& /*context*/) {
  edit_member(pod, "spec", [](Value& spec) { default_pod_spec(spec, PodSpecOf::Pod); });
  const std::string_view qos = qos_class(pod["spec"]);
  edit_member(pod, "status", [&](Value& status) {
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
  pod.set_path({"status", "phase"}, "Pending");
  if (pod["spec"]["terminationGracePeriodSeconds"].as_int() < 0) {
    pod.member("spec").set("terminationGracePeriodSeconds", 1);
  }
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

// Without an account there are no tokens of it.
void check_no_tokens(FieldErrors& errors, const Value& volumes) {
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const Value& sources = volumes[i]["projected"]["sources"];
    for (std::size_t k = 0; k < sources.size(); ++k) {
      if (!sources[k]["serviceAccountToken"].is_null()) {
        errors.push_back(FieldError::forbidden(
            at(at("spec.volumes", i) + ".projected.sources", k) + ".serviceAccountToken",
            "must not be specified when serviceAccountName is not set"));
      }
    }
  }
}

// What holds for pods and not for templates.
FieldErrors validate_whole_pod(const Value& pod) {
  const Value& spec = pod["spec"];
  FieldErrors errors = validate_pod_spec(spec, "spec");
  for (const std::string_view list : {"containers", "initContainers"}) {
    for (std::size_t i = 0; i < spec[list].size(); ++i) {
      const std::string_view image = spec[list][i]["image"].as_string();
      if (!image.empty() && (image.front() == ' ' || image.back() == ' ')) {
        errors.push_back(FieldError::invalid(at(below("spec", list), i) + ".image", image,
                                             "must not have leading or trailing whitespace"));
      }
    }
  }
  if (spec["serviceAccountName"].as_string().empty()) {
    check_no_tokens(errors, spec["volumes"]);
  }
  return errors;
}

FieldErrors validate_pod(const Value& pod, const KindContext& /*context*/) {
  FieldErrors errors = validate_whole_pod(pod);
  const Value& spec = pod["spec"];
  if (!spec["ephemeralContainers"].empty()) {
    errors.push_back(FieldError::forbidden("spec.ephemeralContainers", "cannot be set on create"));
  }
  if (!spec["nodeName"].as_string().empty() && !spec["schedulingGates"].empty()) {
    errors.push_back(FieldError::forbidden(
        "spec.nodeName", "cannot be set until all schedulingGates have been cleared"));
  }
  return errors;
}

// The addresses of a status: valid where they are new, one for each family of addresses.
void check_status_addresses(FieldErrors& errors, const Value& now, const Value& before,
                            const std::string& path) {
  std::size_t newer = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const Value& address = now[i]["ip"];
    const auto& known = before.items();
    if (std::ranges::none_of(known, [&](const Value& old) { return old["ip"] == address; })) {
      check_ip(errors, at(path, i), address.as_string());
    }
    newer += address.as_string().find(':') != std::string_view::npos ? 1U : 0U;
  }
  if (now.size() > 2 || (now.size() == 2 && newer != 1)) {
    Value shown = Value::list();  // as the reference shows its own type
    for (const Value& address : now.items()) {
      shown.push_back(Value::object({{"IP", address["ip"]}}));
    }
    errors.push_back(
        FieldError::invalid(path, shown, "may specify no more than one IP for each IP family"));
  }
}

FieldErrors validate_pod_status(const Value& pod, const Value& old_pod) {
  FieldErrors errors;
  const Value& status = pod["status"];
  const Value& conditions = status["conditions"];
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const std::string_view type = conditions[i]["type"].as_string();
    if (!is_one_of(type, {"PodScheduled", "Ready", "Initialized"})) {
      check_name(errors, at("status.conditions", i) + ".Type", type, &validate_qualified_name);
    }
  }
  const std::string_view nominated = status["nominatedNodeName"].as_string();
  if (!nominated.empty() && status["nominatedNodeName"] != old_pod["status"]["nominatedNodeName"]) {
    check_name(errors, "status.nominatedNodeName", nominated, &validate_dns1123_subdomain);
  }
  check_status_addresses(errors, status["podIPs"], old_pod["status"]["podIPs"], "status.podIPs");
  const Value& hosts = status["hostIPs"];
  if (!hosts.empty() && hosts[0]["ip"].as_string() != status["hostIP"].as_string()) {
    errors.push_back(FieldError::invalid("status.hostIPs[0].ip", hosts[0]["ip"].as_string(),
                                         "must be equal to `hostIP`"));
  }
  check_status_addresses(errors, hosts, old_pod["status"]["hostIPs"], "status.hostIPs");
  return errors;
}

FieldErrors validate_pod_change(const Value& pod, const Value& old_pod,
                                const KindContext& context) {
  if (context.subresource == "ephemeralcontainers") {
    return validate_ephemeral_update(pod, old_pod);
  }
  if (context.subresource == "status") {
    return validate_pod_status(pod, old_pod);
  }
  const bool resizes = context.subresource == "resize";
  if ((!context.subresource.empty() && !resizes) || pod["spec"] == old_pod["spec"]) {
    return {};
  }
  FieldErrors errors = validate_whole_pod(pod);
  if (resizes) {
    append(errors, validate_pod_resize(pod, old_pod));
    return errors;
  }
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

// These subresources write their part alone.
void prepare_pod_update(Value& pod, const Value& old_pod, const KindContext& context) {
  if (context.subresource == "resize") {
    pod.set("spec", resized_spec(pod["spec"], old_pod["spec"]));
  }
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
