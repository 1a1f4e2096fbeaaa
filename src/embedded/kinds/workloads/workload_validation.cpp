// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/workloads/workload_validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "embedded/kinds/edit.hpp"
#include "embedded/kinds/pods/pod_spec.hpp"
#include "embedded/kinds/pods/volume_rules.hpp"
#include "embedded/kinds/workloads/workload_status.hpp"
#include "kube/names/selector.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kMismatch = "`selector` does not match template `labels`";

// The template of pods that always run; `kind` as the reference calls it here.
void check_template(FieldErrors& errors, const Value& pod_template, std::string_view kind) {
  append(errors, validate_pod_template(pod_template, "spec.template"));
  const Value& policy = pod_template["spec"]["restartPolicy"];
  if (policy.as_string() != "Always") {
    errors.push_back(
        FieldError::not_supported("spec.template.spec.restartPolicy", policy, {"Always"}));
  }
  if (pod_template["spec"].contains("activeDeadlineSeconds")) {
    errors.push_back(
        FieldError::forbidden("spec.template.spec.activeDeadlineSeconds",
                              fmt::format("activeDeadlineSeconds in {} is not Supported", kind)));
  }
}

void check_match(FieldErrors& errors, const Value& spec) {
  const Value& selector = spec["selector"];
  const Value& labels = spec["template"]["metadata"]["labels"];
  if (!selector.is_null() && selector["matchLabels"].empty() &&
      selector["matchExpressions"].empty()) {
    return;
  }
  const auto parsed = LabelSelector::from_value(selector);
  if (selector.is_null() || (parsed.ok() && !parsed->matches(labels))) {
    errors.push_back(
        FieldError::invalid("spec.template.metadata.labels", shown_labels(labels), kMismatch));
  }
}

// What the rules of a kind call things.
struct Names {
  std::string_view selector{};  // "empty selector is invalid for ..."
  std::string_view broken{};    // what is said of a selector that cannot be read
};

// A metav1.LabelSelector that is there, is not empty and selects the template's pods. False where
// it cannot be read: then the reference does not look at the template.
bool check_selector(FieldErrors& errors, const Value& spec, const Names& names) {
  const Value& selector = spec["selector"];
  const std::size_t before = errors.size();
  check_label_selector(errors, "spec.selector", selector);
  const bool readable = errors.size() == before;
  if (!selector.is_null() && selector["matchLabels"].empty() &&
      selector["matchExpressions"].empty()) {
    errors.push_back(
        FieldError::invalid("spec.selector", selector,
                            fmt::format("empty selector is invalid for {}", names.selector)));
  }
  const bool required = names.selector != "daemonset";
  if (selector.is_null() && required) {
    errors.push_back(FieldError::required("spec.selector"));
  }
  if (readable) {
    check_match(errors, spec);
  } else if (required) {
    errors.push_back(FieldError::invalid("spec.selector", shown_selector(selector), names.broken));
  }
  return readable || !required;
}

// An int-or-string that counts pods or is a percentage of them.
struct Amount {
  std::int64_t number = 0;
  bool percent = false;
};

Amount read_amount(const Value& value) {
  if (value.is_number()) {
    return {.number = value.as_int()};
  }
  const std::string_view text = value.as_string();
  const bool digits = !text.empty() && text.front() >= '0' && text.front() <= '9';
  std::int64_t number = 0;
  const char* last = text.data() + text.size();
  const auto [end, code] = std::from_chars(text.data(), last, number);
  if (code == std::errc() && end == last) {
    return {.number = number};
  }
  if (digits && code == std::errc() && end + 1 == last && *end == '%') {
    return {.number = number, .percent = true};
  }
  return {};
}

Amount check_amount(FieldErrors& errors, const std::string& path, const Value& value) {
  const Amount amount = read_amount(value);
  if (!value.is_string()) {
    check_not_negative(errors, path, value);
  } else if (!amount.percent) {
    errors.push_back(FieldError::invalid(
        path, value,
        "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
        "'93%', regex used for validation is '[0-9]+%')"));
  }
  return amount;
}

void check_at_most_all(FieldErrors& errors, const std::string& path, const Value& value) {
  const Amount amount = read_amount(value);
  if (amount.percent && amount.number > 100) {
    errors.push_back(FieldError::invalid(path, value, "must not be greater than 100%"));
  }
}

// Nothing would ever be replaced if no pod may be missing and none be surplus.
void check_deployment_update(FieldErrors& errors, const Value& update) {
  const std::string path = "spec.strategy.rollingUpdate";
  const Value& missing = update["maxUnavailable"];
  const Amount unavailable = check_amount(errors, path + ".maxUnavailable", missing);
  const Amount surge = check_amount(errors, path + ".maxSurge", update["maxSurge"]);
  if (unavailable.number == 0 && surge.number == 0) {
    errors.push_back(FieldError::invalid(path + ".maxUnavailable", missing,
                                         "may not be 0 when `maxSurge` is 0"));
  }
  check_at_most_all(errors, path + ".maxUnavailable", missing);
}

void check_daemon_update(FieldErrors& errors, const Value& update) {
  const std::string path = "spec.updateStrategy.rollingUpdate";
  const Amount unavailable =
      check_amount(errors, path + ".maxUnavailable", update["maxUnavailable"]);
  const Amount surge = check_amount(errors, path + ".maxSurge", update["maxSurge"]);
  check_at_most_all(errors, path + ".maxUnavailable", update["maxUnavailable"]);
  check_at_most_all(errors, path + ".maxSurge", update["maxSurge"]);
  if (unavailable.number != 0 && surge.number != 0) {
    errors.push_back(FieldError::invalid(path + ".maxSurge", update["maxSurge"],
                                         "may not be set when maxUnavailable is non-zero"));
  } else if (unavailable.number == 0 && surge.number == 0) {
    errors.push_back(
        FieldError::required(path + ".maxUnavailable", "cannot be 0 when maxSurge is 0"));
  }
}

// A strategy as the reference shows its own type: {Type, RollingUpdate}.
Value shown_strategy(const Value& strategy, bool stateful) {
  const Value& update = strategy["rollingUpdate"];
  Value shown;
  if (update.is_object() && stateful) {
    shown = Value::object({{"Partition", update["partition"].as_int()},
                           {"MaxUnavailable", update["maxUnavailable"]}});
  } else if (update.is_object()) {
    const auto amount = [&](std::string_view field) {
      return update[field].is_null() ? Value(0) : update[field];
    };
    shown = Value::object(
        {{"MaxUnavailable", amount("maxUnavailable")}, {"MaxSurge", amount("maxSurge")}});
  }
  return Value::object({{"Type", strategy["type"].as_string()}, {"RollingUpdate", shown}});
}

void check_counts(FieldErrors& errors, const Value& spec) {
  for (const std::string_view field : {"replicas", "minReadySeconds"}) {
    check_not_negative(errors, below("spec", field), spec[field]);
  }
}

void check_history(FieldErrors& errors, const Value& spec) {
  check_not_negative(errors, "spec.revisionHistoryLimit", spec["revisionHistoryLimit"]);
}

bool is_spec_write(const KindContext& context) {
  return context.subresource.empty() || context.subresource == "scale";
}

// What the controller overwrites is not looked at: names of hosts, volumes of claims.
Value effective_template(const Value& spec) {
  Value pod_template = spec["template"];
  for (const std::string_view field : {"subdomain", "hostname"}) {
    if (!pod_template["spec"][field].is_null()) {
      pod_template.member("spec").erase(field);
    }
  }
  const Value& claims = spec["volumeClaimTemplates"];
  if (claims.empty()) {
    return pod_template;
  }
  Value volumes = Value::list();
  const auto has = [&](const Value& name) {
    return std::ranges::any_of(volumes.items(), [&](const Value& volume) {
      return volume["name"].as_string() == name.as_string();
    });
  };
  for (const Value& claim : claims.items()) {
    const Value& name = claim["metadata"]["name"];
    if (!has(name)) {
      volumes.push_back(Value::object(
          {{"name", name.as_string()},
           {"persistentVolumeClaim", Value::object({{"claimName", name.as_string()}})}}));
    }
  }
  for (const Value& volume : pod_template["spec"]["volumes"].items()) {
    if (!has(volume["name"])) {
      volumes.push_back(volume);
    }
  }
  pod_template.member("spec").set("volumes", std::move(volumes));
  return pod_template;
}

void check_stateful_strategy(FieldErrors& errors, const Value& strategy) {
  const std::string path = "spec.updateStrategy";
  const Value& update = strategy["rollingUpdate"];
  const std::string_view type = strategy["type"].as_string();
  if (type == "OnDelete") {
    if (!update.is_null()) {
      errors.push_back(FieldError::invalid(path + ".rollingUpdate",
                                           shown_strategy(strategy, true)["RollingUpdate"],
                                           "only allowed for updateStrategy 'RollingUpdate'"));
    }
  } else if (type == "RollingUpdate") {
    check_not_negative(errors, path + ".rollingUpdate.partition", update["partition"]);
    if (const Value& missing = update["maxUnavailable"]; !missing.is_null()) {
      const std::string here = path + ".rollingUpdate.maxUnavailable";
      if (check_amount(errors, here, missing).number == 0) {
        errors.push_back(FieldError::invalid(here, missing, "cannot be 0"));
      }
      check_at_most_all(errors, here, missing);
    }
  } else {
    errors.push_back(FieldError::invalid(path, shown_strategy(strategy, true),
                                         "must be 'RollingUpdate' or 'OnDelete'"));
  }
}

void check_stateful_spec(FieldErrors& errors, const Value& spec) {
  check_counts(errors, spec);
  if (const Value& policy = spec["podManagementPolicy"];
      !is_one_of(policy.as_string(), {"OrderedReady", "Parallel"})) {
    errors.push_back(FieldError::invalid("spec.podManagementPolicy", policy,
                                         "must be 'OrderedReady' or 'Parallel'"));
  }
  check_stateful_strategy(errors, spec["updateStrategy"]);
  check_not_negative(errors, "spec.ordinals.start", spec["ordinals"]["start"]);
  const bool readable = check_selector(errors, spec, {.selector = "statefulset"});
  const Value pod_template = effective_template(spec);
  if (readable) {
    check_template(errors, pod_template, "StatefulSet");
  } else if (pod_template["spec"]["restartPolicy"].as_string() != "Always") {
    errors.push_back(FieldError::not_supported("spec.template.spec.restartPolicy",
                                               pod_template["spec"]["restartPolicy"], {"Always"}));
  }
}

}  // namespace

FieldErrors validate_deployment(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  const Value& spec = object["spec"];
  check_counts(errors, spec);
  check_history(errors, spec);
  if (check_selector(errors, spec,
                     {.selector = "deployment", .broken = "invalid label selector"})) {
    check_template(errors, spec["template"], "ReplicaSet");
  }
  const Value& strategy = spec["strategy"];
  if (strategy["type"].as_string() == "Recreate") {
    if (!strategy["rollingUpdate"].is_null()) {
      errors.push_back(
          FieldError::forbidden("spec.strategy.rollingUpdate",
                                "may not be specified when strategy `type` is 'Recreate'"));
    }
  } else if (strategy["type"].as_string() == "RollingUpdate") {
    check_deployment_update(errors, strategy["rollingUpdate"]);
  } else {
    errors.push_back(FieldError::not_supported("spec.strategy", shown_strategy(strategy, false),
                                               {"Recreate", "RollingUpdate"}));
  }
  const Value& deadline = spec["progressDeadlineSeconds"];
  check_not_negative(errors, "spec.progressDeadlineSeconds", deadline);
  if (deadline.is_number() && deadline.as_int() <= spec["minReadySeconds"].as_int()) {
    errors.push_back(FieldError::invalid("spec.progressDeadlineSeconds", deadline,
                                         "must be greater than minReadySeconds"));
  }
  return errors;
}

FieldErrors validate_deployment_update(const Value& object, const Value& old_object,
                                       const KindContext& context) {
  if (context.subresource == "status") {
    return validate_deployment_status(object["status"], old_object["status"]);
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
  const Value& spec = object["spec"];
  check_counts(errors, spec);
  if (check_selector(errors, spec,
                     {.selector = "deployment", .broken = "invalid label selector"})) {
    check_template(errors, spec["template"], "ReplicaSet");
  }
  return errors;
}

FieldErrors validate_replica_set_update(const Value& object, const Value& old_object,
                                        const KindContext& context) {
  if (context.subresource == "status") {
    return validate_replica_status(object["status"]);
  }
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
      errors.push_back(FieldError::invalid(
          "spec.template.metadata.labels",
          labels.is_null() ? Value::object() : shown_labels(labels), kMismatch));
      break;
    }
  }
  check_template(errors, spec["template"], "ReplicationController");
  return errors;
}

FieldErrors validate_replication_controller_update(const Value& object, const Value& old_object,
                                                   const KindContext& context) {
  if (context.subresource == "status") {
    return validate_replica_status(object["status"]);
  }
  if (!is_spec_write(context) || object["spec"] == old_object["spec"]) {
    return {};
  }
  return validate_replication_controller(object, context);
}

FieldErrors validate_stateful_set(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  const Value& spec = object["spec"];
  check_stateful_spec(errors, spec);
  if (const std::string_view service = spec["serviceName"].as_string(); !service.empty()) {
    check_name(errors, "spec.serviceName", service, &validate_dns1123_label);
  }
  const Value& claims = spec["volumeClaimTemplates"];
  for (std::size_t i = 0; i < claims.size(); ++i) {
    check_claim_spec(errors, claims[i]["spec"], at("spec.volumeClaimTemplates", i) + ".spec");
  }
  return errors;
}

FieldErrors validate_stateful_set_update(const Value& object, const Value& old_object,
                                         const KindContext& context) {
  if (context.subresource == "status") {
    return validate_stateful_status(object["status"], old_object["status"]);
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
  FieldErrors errors;
  check_stateful_spec(errors, object["spec"]);
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
  check_history(errors, spec);
  check_selector(errors, spec, {.selector = "daemonset"});
  check_template(errors, spec["template"], "DaemonSet");
  const Value& strategy = spec["updateStrategy"];
  if (strategy["type"].as_string() == "RollingUpdate") {
    check_daemon_update(errors, strategy["rollingUpdate"]);
  } else if (strategy["type"].as_string() != "OnDelete") {
    errors.push_back(FieldError::not_supported(
        "spec.updateStrategy", shown_strategy(strategy, false), {"RollingUpdate", "OnDelete"}));
  }
  return errors;
}

FieldErrors validate_daemon_set_update(const Value& object, const Value& old_object,
                                       const KindContext& context) {
  if (context.subresource == "status") {
    return validate_daemon_status(object["status"]);
  }
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
  check_not_negative(errors, "revision", object["revision"]);
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
  check_not_negative(errors, "revision", object["revision"]);
  check_unchanged(errors, "data", object["data"], old_object["data"]);
  return errors;
}

}  // namespace athanor::apiserver
