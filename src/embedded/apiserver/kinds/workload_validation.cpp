// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/kinds/workload_validation.hpp"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <map>
#include <string>

#include "embedded/apiserver/kinds/edit.hpp"
#include "embedded/apiserver/kinds/pod_spec.hpp"
#include "kube/selector.hpp"

namespace athanor::apiserver {
namespace {

void check_template(FieldErrors& errors, const Value& spec) {
  append(errors, validate_pod_template(spec["template"], "spec.template"));
  const Value& policy = spec["template"]["spec"]["restartPolicy"];
  if (policy.as_string() != "Always") {
    errors.push_back(
        FieldError::not_supported("spec.template.spec.restartPolicy", policy, {"Always"}));
  }
  if (spec["template"]["spec"].contains("activeDeadlineSeconds")) {
    errors.push_back(FieldError::forbidden("spec.template.spec.activeDeadlineSeconds",
                                           "activeDeadlineSeconds in ReplicaSet is not Supported"));
  }
}

// As messages show labels: sorted, nothing for none.
Value shown_labels(const Value& labels) {
  std::map<std::string, Value> sorted;
  for (const Member& label : labels.members()) {
    sorted.emplace(label.key(), label.value);
  }
  Value shown;
  for (const auto& [key, value] : sorted) {
    shown = shown.is_null() ? Value::object() : std::move(shown);
    shown.set(key, value);
  }
  return shown;
}

// A metav1.LabelSelector that is there, is not empty and selects the template's pods.
void check_selector(FieldErrors& errors, const Value& spec, std::string_view kind) {
  const Value& selector = spec["selector"];
  if (selector.is_null()) {  // selects nothing, the template's pods included
    if (kind != "daemonset") {
      errors.push_back(FieldError::required("spec.selector"));
    }
    const Value& labels = spec["template"]["metadata"]["labels"];
    errors.push_back(FieldError::invalid("spec.template.metadata.labels", shown_labels(labels),
                                         "`selector` does not match template `labels`"));
    return;
  }
  check_label_selector(errors, "spec.selector", selector);
  const auto parsed = LabelSelector::from_value(selector);
  if (selector["matchLabels"].empty() && selector["matchExpressions"].empty()) {
    errors.push_back(FieldError::invalid("spec.selector", selector,
                                         "empty selector is invalid for " + std::string(kind)));
    return;
  }
  const Value& labels = spec["template"]["metadata"]["labels"];
  if (parsed.ok() && !parsed->matches(labels)) {
    errors.push_back(FieldError::invalid("spec.template.metadata.labels", shown_labels(labels),
                                         "`selector` does not match template `labels`"));
  }
}

struct Amount {
  std::int64_t number = 0;
  bool valid = true;
};

// An int-or-string that counts pods or is a percentage of them.
Amount check_amount(FieldErrors& errors, const std::string& path, const Value& value) {
  if (value.is_number()) {
    check_not_negative(errors, path, value);
    return {.number = value.as_int(), .valid = value.as_int() >= 0};
  }
  const std::string_view text = value.as_string();
  std::int64_t percent = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (code != std::errc() || end + 1 != text.data() + text.size() || *end != '%' || percent < 0) {
    errors.push_back(FieldError::invalid(
        path, value,
        "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
        "'93%', regex used for validation is '[0-9]+%')"));
    return {.number = 0, .valid = false};
  }
  return {.number = percent, .valid = true};
}

bool over_all(const Value& value, const Amount& amount) {
  return value.is_string() && amount.number > 100;
}

void check_rolling_update(FieldErrors& errors, const Value& update, const std::string& path) {
  const Amount unavailable =
      check_amount(errors, path + ".maxUnavailable", update["maxUnavailable"]);
  const Amount surge = check_amount(errors, path + ".maxSurge", update["maxSurge"]);
  if (!unavailable.valid || !surge.valid) {
    return;
  }
  if (over_all(update["maxUnavailable"], unavailable)) {
    errors.push_back(FieldError::invalid(path + ".maxUnavailable", update["maxUnavailable"],
                                         "must not be greater than 100%"));
  }
  if (unavailable.number == 0 && surge.number == 0) {
    errors.push_back(FieldError::invalid(path + ".maxUnavailable", update["maxUnavailable"],
                                         "may not be 0 when `maxSurge` is 0"));
  }
}

void check_counts(FieldErrors& errors, const Value& spec) {
  for (const std::string_view field : {"replicas", "minReadySeconds", "revisionHistoryLimit"}) {
    check_not_negative(errors, below("spec", field), spec[field]);
  }
}

bool is_spec_write(const KindContext& context) {
  return context.subresource.empty() || context.subresource == "scale";
}

}  // namespace

FieldErrors validate_deployment(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  const Value& spec = object["spec"];
  check_counts(errors, spec);
  check_selector(errors, spec, "deployment");
  check_template(errors, spec);
  const Value& strategy = spec["strategy"];
  check_choice(errors, "spec.strategy.type", strategy["type"], {"Recreate", "RollingUpdate"});
  if (strategy["type"].as_string() == "Recreate" && !strategy["rollingUpdate"].is_null()) {
    errors.push_back(FieldError::forbidden(
        "spec.strategy.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'"));
  } else if (strategy["type"].as_string() == "RollingUpdate") {
    check_rolling_update(errors, strategy["rollingUpdate"], "spec.strategy.rollingUpdate");
  }
  const Value& deadline = spec["progressDeadlineSeconds"];
  check_not_negative(errors, "spec.progressDeadlineSeconds", deadline);
  if (deadline.is_number() && deadline.as_int() <= spec["minReadySeconds"].as_int()) {
    errors.push_back(FieldError::invalid("spec.progressDeadlineSeconds", deadline,
                                         "must be greater than minReadySeconds"));
  }
  return errors;
}

namespace {

// The counters of a status: none below zero, none above the replicas.
FieldErrors validate_counters(const Value& status, std::initializer_list<std::string_view> parts,
                              std::string_view ready_text) {
  FieldErrors errors;
  const std::int64_t replicas = status["replicas"].as_int();
  check_not_negative(errors, "status.replicas", status["replicas"]);
  for (const std::string_view part : parts) {
    const std::string path = below("status", part);
    check_not_negative(errors, path, status[part]);
    if (status[part].as_int() > replicas) {
      errors.push_back(
          FieldError::invalid(path, status[part], "cannot be greater than status.replicas"));
    }
  }
  if (status["availableReplicas"].as_int() > status["readyReplicas"].as_int()) {
    errors.push_back(
        FieldError::invalid("status.availableReplicas", status["availableReplicas"], ready_text));
  }
  return errors;
}

}  // namespace

FieldErrors validate_deployment_update(const Value& object, const Value& old_object,
                                       const KindContext& context) {
  if (context.subresource == "status") {
    return validate_counters(object["status"],
                             {"updatedReplicas", "readyReplicas", "availableReplicas"},
                             "cannot be greater than readyReplicas");
  }
  if (!is_spec_write(context) || object["spec"] == old_object["spec"]) {
    return {};
  }
  FieldErrors errors = validate_deployment(object, context);
  check_unchanged(errors, "spec.selector", object["spec"]["selector"],
                  old_object["spec"]["selector"]);
  return errors;
}

FieldErrors validate_replica_set(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  check_counts(errors, object["spec"]);
  check_selector(errors, object["spec"], "deployment");
  check_template(errors, object["spec"]);
  return errors;
}

FieldErrors validate_replica_set_update(const Value& object, const Value& old_object,
                                        const KindContext& context) {
  if (!is_spec_write(context) || object["spec"] == old_object["spec"]) {
    return {};
  }
  FieldErrors errors = validate_replica_set(object, context);
  check_unchanged(errors, "spec.selector", object["spec"]["selector"],
                  old_object["spec"]["selector"]);
  return errors;
}

FieldErrors validate_replication_controller(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  const Value& spec = object["spec"];
  check_counts(errors, spec);
  if (spec["selector"].empty()) {
    errors.push_back(FieldError::required("spec.selector"));
  }
  if (spec["template"].is_null()) {
    errors.push_back(FieldError::required("spec.template"));
    return errors;
  }
  const Value& labels = spec["template"]["metadata"]["labels"];
  for (const Member& wanted : spec["selector"].members()) {
    if (labels[wanted.key()] != wanted.value) {
      errors.push_back(FieldError::invalid("spec.template.metadata.labels",
                                           labels.is_null() ? Value::object() : labels,
                                           "`selector` does not match template `labels`"));
      break;
    }
  }
  check_template(errors, spec);
  return errors;
}

FieldErrors validate_replication_controller_update(const Value& object, const Value& old_object,
                                                   const KindContext& context) {
  if (!is_spec_write(context) || object["spec"] == old_object["spec"]) {
    return {};
  }
  return validate_replication_controller(object, context);
}

FieldErrors validate_stateful_set(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  const Value& spec = object["spec"];
  check_counts(errors, spec);
  check_choice(errors, "spec.podManagementPolicy", spec["podManagementPolicy"],
               {"OrderedReady", "Parallel"});
  check_choice(errors, "spec.updateStrategy.type", spec["updateStrategy"]["type"],
               {"RollingUpdate", "OnDelete"});
  check_not_negative(errors, "spec.updateStrategy.rollingUpdate.partition",
                     spec["updateStrategy"]["rollingUpdate"]["partition"]);
  check_selector(errors, spec, "statefulset");
  check_template(errors, spec);
  return errors;
}

FieldErrors validate_stateful_set_update(const Value& object, const Value& old_object,
                                         const KindContext& context) {
  if (context.subresource == "status") {
    return validate_counters(
        object["status"],
        {"readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"},
        "cannot be greater than status.readyReplicas");
  }
  if (!is_spec_write(context) || object["spec"] == old_object["spec"]) {
    return {};
  }
  Value spec = object["spec"];
  const Value& old_spec = old_object["spec"];
  for (const std::string_view field :
       {"replicas", "ordinals", "template", "updateStrategy",
        "persistentVolumeClaimRetentionPolicy", "minReadySeconds", "revisionHistoryLimit"}) {
    if (const Value* old = old_spec.find(field)) {
      spec.set(field, *old);
    } else {
      spec.erase(field);
    }
  }
  FieldErrors errors = validate_stateful_set(object, context);
  if (spec != old_spec) {
    errors.push_back(FieldError::forbidden(
        "spec",
        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
        "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
        "'minReadySeconds' are forbidden"));
  }
  return errors;
}

FieldErrors validate_daemon_set(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  const Value& spec = object["spec"];
  check_counts(errors, spec);
  check_selector(errors, spec, "daemonset");
  check_template(errors, spec);
  const Value& strategy = spec["updateStrategy"];
  check_choice(errors, "spec.updateStrategy.type", strategy["type"], {"RollingUpdate", "OnDelete"});
  if (strategy["type"].as_string() == "RollingUpdate") {
    check_rolling_update(errors, strategy["rollingUpdate"], "spec.updateStrategy.rollingUpdate");
  }
  return errors;
}

FieldErrors validate_daemon_set_update(const Value& object, const Value& old_object,
                                       const KindContext& context) {
  if (!is_spec_write(context) || object["spec"] == old_object["spec"]) {
    return {};
  }
  FieldErrors errors = validate_daemon_set(object, context);
  check_unchanged(errors, "spec.selector", object["spec"]["selector"],
                  old_object["spec"]["selector"]);
  return errors;
}

FieldErrors validate_controller_revision(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  if (object["data"].is_null()) {
    errors.push_back(FieldError::required("data", "data is mandatory"));
  } else if (!object["data"].is_object()) {
    errors.push_back(FieldError::required("data", "data must be a valid JSON object"));
  }
  return errors;
}

FieldErrors validate_controller_revision_update(const Value& object, const Value& old_object,
                                                const KindContext& /*context*/) {
  FieldErrors errors;
  check_unchanged(errors, "data", object["data"], old_object["data"]);
  return errors;
}

}  // namespace athanor::apiserver
