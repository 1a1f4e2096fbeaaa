// SPDX-License-Identifier: Apache-2.0
// LimitRanges, ResourceQuotas, PriorityClasses, RuntimeClasses and PodDisruptionBudgets
// (docs/spec/apiserver.md 14).
#include <fmt/format.h>

#include <array>
#include <map>

#include "embedded/kinds/cells.hpp"
#include "embedded/kinds/checks.hpp"
#include "embedded/kinds/edit.hpp"
#include "embedded/kinds/kind_table.hpp"
#include "embedded/kinds/limit_range_rules.hpp"
#include "embedded/kinds/pods/containers.hpp"
#include "embedded/kinds/pods/placement_rules.hpp"
#include "embedded/kinds/resource_names.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::int64_t kMaxUserPriority = 1'000'000'000;
constexpr std::string_view kSystemPrefix = "system-";

// Containers alone have defaults: from the most they may have down to what they ask for.
void default_limits(Value& limit) {
  if (limit["type"].as_string() != "Container") {
    return;
  }
  const auto fill = [&](std::string_view to, std::string_view from) {
    const Value source = limit[from];
    for (const Member& amount : source.members()) {
      if (!limit[to].contains(amount.key())) {
        limit.member(to).set(amount.key(), amount.value);
      }
    }
  };
  fill("default", "max");
  fill("defaultRequest", "default");
  fill("defaultRequest", "min");
}

void default_limit_range(Value& object, const KindContext& /*context*/) {
  edit_member(object, "spec", [](Value& spec) { edit_items(spec, "limits", default_limits); });
}

// Without a name it gets one.
void prepare_limit_range(Value& object, const KindContext& context) {
  if (object["metadata"]["name"].as_string().empty()) {
    object.member("metadata").set("name", context.entropy.uuid());
  }
}

FieldErrors validate_limit_range(const Value& object, const KindContext& /*context*/) {
  return check_limits(object["spec"]["limits"]);
}

FieldErrors validate_limit_range_update(const Value& object, const Value& /*old_object*/,
                                        const KindContext& context) {
  return validate_limit_range(object, context);
}

Cells policy_cells(const Value& object, Instant /*now*/) {
  return {name_cell(object), object["metadata"]["creationTimestamp"].str()};
}

FieldErrors validate_quota(const Value& object, const KindContext& context) {
  FieldErrors errors;
  const auto check_amounts = [&](std::string_view part, std::string_view list) {
    for (const Member& amount : object[part][list].members()) {
      const std::string path = at(below(std::string(part), list), amount.key());
      check_quota_resource(errors, path, amount.key());
      check_resource_amount(errors, path, amount.key(), amount.value);
    }
  };
  if (context.subresource == "status") {
    check_amounts("status", "hard");
    check_amounts("status", "used");
    return errors;
  }
  check_amounts("spec", "hard");
  const Value& scopes = object["spec"]["scopes"];
  for (std::size_t i = 0; i < scopes.size(); ++i) {
    check_choice_always(
        errors, "spec.scopes", scopes[i],
        {"BestEffort", "CrossNamespacePodAffinity", "NotBestEffort", "NotTerminating",
         "PriorityClass", "Terminating", "VolumeAttributesClass"});
  }
  return errors;
}

FieldErrors validate_quota_update(const Value& object, const Value& old_object,
                                  const KindContext& context) {
  FieldErrors errors = validate_quota(object, context);
  check_unchanged(errors, "spec.scopes", object["spec"]["scopes"], old_object["spec"]["scopes"]);
  return errors;
}

Cells quota_cells(const Value& object, Instant now) {
  std::map<std::string, Value> hard;
  for (const Member& amount : object["status"]["hard"].members()) {
    hard.emplace(amount.key(), amount.value);
  }
  std::vector<std::string> requests;
  std::vector<std::string> limits;
  for (const auto& [name, most] : hard) {
    const Value& used = object["status"]["used"][name];
    (name.starts_with("limits.") ? limits : requests)
        .push_back(fmt::format("{}: {}/{}", name, used.is_null() ? "0" : scalar_text(used),
                               scalar_text(most)));
  }
  return {name_cell(object), join(requests, ", "), join(limits, ", "), age_cell(object, now)};
}

void default_priority_class(Value& object, const KindContext& /*context*/) {
  default_to(object, "preemptionPolicy", "PreemptLowerPriority");
}

bool is_system_priority(std::string_view name, std::int64_t value) {
  return (name == "system-node-critical" && value == 2'000'001'000) ||
         (name == "system-cluster-critical" && value == 2'000'000'000);
}

FieldErrors validate_priority_class(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  const std::string name = object["metadata"]["name"].str();
  const std::int64_t value = object["value"].as_int();
  if (name.starts_with(kSystemPrefix)) {
    if (!is_system_priority(name, value)) {
      errors.push_back(FieldError::forbidden(
          "metadata.name",
          fmt::format("priority class names with '{}' prefix are reserved for system use only. "
                      "error: {} is not a known system priority class",
                      kSystemPrefix, name)));
    }
  } else if (value > kMaxUserPriority) {
    errors.push_back(FieldError::forbidden(
        "value",
        fmt::format("maximum allowed value of a user defined priority is {}", kMaxUserPriority)));
  }
  if (!object["preemptionPolicy"].is_null()) {
    require_choice(errors, "preemptionPolicy", object["preemptionPolicy"],
                   {"PreemptLowerPriority", "Never"});
  }
  return errors;
}

FieldErrors validate_priority_class_update(const Value& object, const Value& old_object,
                                           const KindContext& /*context*/) {
  FieldErrors errors;
  if (object["value"] != old_object["value"]) {
    errors.push_back(FieldError::forbidden("value", "may not be changed in an update."));
  }
  check_unchanged(errors, "preemptionPolicy", object["preemptionPolicy"],
                  old_object["preemptionPolicy"]);
  return errors;
}

Cells priority_class_cells(const Value& object, Instant now) {
  return {name_cell(object), object["value"].as_int(), object["globalDefault"].as_bool(),
          age_cell(object, now), text_cell(object["preemptionPolicy"], "PreemptLowerPriority")};
}

FieldErrors validate_runtime_class(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  check_name(errors, "handler", object["handler"].as_string(), &validate_dns1123_label);
  if (object["overhead"].is_object()) {
    check_resources(errors, Value::object({{"limits", object["overhead"]["podFixed"]}}),
                    "overhead");
  }
  check_labels(errors, "scheduling.nodeSelector", object["scheduling"]["nodeSelector"]);
  check_tolerations(errors, object["scheduling"]["tolerations"], "scheduling.tolerations");
  return errors;
}

FieldErrors validate_runtime_class_update(const Value& object, const Value& old_object,
                                          const KindContext& context) {
  FieldErrors errors = validate_runtime_class(object, context);
  check_unchanged(errors, "handler", object["handler"], old_object["handler"]);
  return errors;
}

Cells runtime_class_cells(const Value& object, Instant now) {
  return {name_cell(object), object["handler"].str(), age_cell(object, now)};
}

// A number of pods or a percentage of them.
void check_amount(FieldErrors& errors, const std::string& path, const Value& amount) {
  if (!amount.is_string()) {
    check_not_negative(errors, path, amount);
    return;
  }
  const std::string_view text = amount.as_string();
  const std::string_view digits = text.substr(0, text.empty() ? 0 : text.size() - 1);
  const bool is_percent = text.ends_with('%') && !digits.empty() &&
                          digits.find_first_not_of("0123456789") == std::string_view::npos;
  if (!is_percent) {
    errors.push_back(FieldError::invalid(
        path, amount,
        "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
        "'93%', regex used for validation is '[0-9]+%')"));
  } else if (digits.size() > 3 || (digits.size() == 3 && digits > "100")) {
    errors.push_back(FieldError::invalid(path, amount, "must not be greater than 100%"));
  }
}

FieldErrors validate_budget(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  const Value& spec = object["spec"];
  if (!spec["minAvailable"].is_null() && !spec["maxUnavailable"].is_null()) {
    errors.push_back(
        FieldError::invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set"));
  }
  for (const std::string_view field : {"minAvailable", "maxUnavailable"}) {
    check_amount(errors, below("spec", field), spec[field]);
  }
  check_label_selector(errors, "spec.selector", spec["selector"]);
  check_choice(errors, "spec.unhealthyPodEvictionPolicy", spec["unhealthyPodEvictionPolicy"],
               {"AlwaysAllow", "IfHealthyBudget"});
  return errors;
}

FieldErrors validate_budget_update(const Value& object, const Value& /*old_object*/,
                                   const KindContext& context) {
  if (context.subresource.empty()) {
    return validate_budget(object, context);
  }
  FieldErrors errors;
  for (const std::string_view field :
       {"disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"}) {
    check_not_negative(errors, below("status", field), object["status"][field]);
  }
  return errors;
}

Cells budget_cells(const Value& object, Instant now) {
  const Value& spec = object["spec"];
  const auto amount = [&](std::string_view field) {
    return spec[field].is_null() ? std::string("N/A") : scalar_text(spec[field]);
  };
  return {name_cell(object), amount("minAvailable"), amount("maxUnavailable"),
          object["status"]["disruptionsAllowed"].as_int(), age_cell(object, now)};
}

constexpr std::array kPolicyRows = {
    KindRow{.group = "",
            .plural = "limitranges",
            .behaviour = {.apply_defaults = &default_limit_range,
                          .prepare_create = &prepare_limit_range,
                          .validate_create = &validate_limit_range,
                          .validate_update = &validate_limit_range_update,
                          .cells = &policy_cells}},
    KindRow{.group = "",
            .plural = "resourcequotas",
            .behaviour = {.validate_create = &validate_quota,
                          .validate_update = &validate_quota_update,
                          .cells = &quota_cells}},
    KindRow{.group = "scheduling.k8s.io",
            .plural = "priorityclasses",
            .behaviour = {.apply_defaults = &default_priority_class,
                          .validate_create = &validate_priority_class,
                          .validate_update = &validate_priority_class_update,
                          .cells = &priority_class_cells}},
    KindRow{.group = "node.k8s.io",
            .plural = "runtimeclasses",
            .behaviour = {.validate_create = &validate_runtime_class,
                          .validate_update = &validate_runtime_class_update,
                          .cells = &runtime_class_cells}},
    KindRow{.group = "policy",
            .plural = "poddisruptionbudgets",
            .behaviour = {.validate_create = &validate_budget,
                          .validate_update = &validate_budget_update,
                          .cells = &budget_cells}},
};

}  // namespace

std::span<const KindRow> policy_rows() {
  return kPolicyRows;
}

}  // namespace athanor::apiserver
