// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/workloads/autoscaler_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "embedded/kinds/edit.hpp"
#include "embedded/kinds/resource_names.hpp"
#include "embedded/kinds/workloads/autoscaler_converter.hpp"
#include "kube/text/quantity.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::int64_t kDefaultCpuPercent = 80;
constexpr std::int64_t kMaxWindowSeconds = 3600;
constexpr std::int64_t kMaxPeriodSeconds = 1800;

struct Source {
  std::string_view type{};
  std::string_view field{};
};

// In the order in which the reference looks at them.
constexpr std::array<Source, 5> kSources = {{{"Object", "object"},
                                             {"External", "external"},
                                             {"Pods", "pods"},
                                             {"Resource", "resource"},
                                             {"ContainerResource", "containerResource"}}};

void require_segment(FieldErrors& errors, const std::string& path, const Value& name,
                     std::string_view text = {}) {
  if (require(errors, path, name, text)) {
    check_name(errors, path, name.as_string(), &validate_path_segment);
  }
}

enum class CoreGroup : std::uint8_t { Allowed, Refused };

void check_version(FieldErrors& errors, const std::string& path, std::string_view version,
                   CoreGroup core) {
  const auto slashes = std::count(version.begin(), version.end(), '/');
  if (slashes > 1) {
    errors.push_back(FieldError::invalid(
        path, version, fmt::format("unexpected GroupVersion string: {}", version)));
  } else if (core == CoreGroup::Refused && (slashes == 0 || version.starts_with('/'))) {
    errors.push_back(FieldError::invalid(path, version, "apiVersion must specify API group"));
  }
}

// What is scaled, or what a metric describes.
void check_reference(FieldErrors& errors, const Value& reference, const std::string& path) {
  require_segment(errors, path + ".kind", reference["kind"]);
  require_segment(errors, path + ".name", reference["name"]);
}

void check_positive(FieldErrors& errors, const std::string& path, const Value& quantity) {
  const auto amount = Quantity::parse(quantity);
  if (!quantity.is_null() && amount && (amount->is_zero() || amount->is_negative())) {
    errors.push_back(FieldError::invalid(path, amount->text(), "must be positive"));
  }
}

void check_target(FieldErrors& errors, const Value& target, const std::string& path) {
  const std::string_view type = target["type"].as_string();
  if (type.empty()) {
    errors.push_back(FieldError::required(path + ".type", "must specify a metric target type"));
  }
  if (!is_one_of(type, {"Utilization", "Value", "AverageValue"})) {
    errors.push_back(FieldError::invalid(path + ".type", type,
                                         "must be either Utilization, Value, or AverageValue"));
  }
  check_positive(errors, path + ".value", target["value"]);
  check_positive(errors, path + ".averageValue", target["averageValue"]);
  const Value& percent = target["averageUtilization"];
  if (percent.is_number() && percent.as_int() < 1) {
    errors.push_back(
        FieldError::invalid(path + ".averageUtilization", percent, "must be greater than 0"));
  }
}

// Exactly one of two ways to say how much.
void check_resource_target(FieldErrors& errors, const Value& target, const std::string& path) {
  check_target(errors, target, path);
  const bool percent = !target["averageUtilization"].is_null();
  const bool raw = !target["averageValue"].is_null();
  if (!percent && !raw) {
    errors.push_back(
        FieldError::required(path + ".averageUtilization",
                             "must set either a target raw value or a target utilization"));
  } else if (percent && raw) {
    errors.push_back(FieldError::forbidden(
        path + ".averageValue", "may not set both a target raw value and a target utilization"));
  }
}

void check_measured(FieldErrors& errors, const Value& source, std::string_view field,
                    const std::string& path) {
  require_segment(errors, path + ".metric.name", source["metric"]["name"],
                  "must specify a metric name");
  const Value& target = source["target"];
  check_target(errors, target, path + ".target");
  const bool value = !target["value"].is_null();
  const bool average = !target["averageValue"].is_null();
  const std::string missing = path + ".target.averageValue";
  if (field == "pods") {
    if (!average) {
      errors.push_back(
          FieldError::required(missing, "must specify a positive target averageValue"));
    }
  } else if (!value && !average) {
    errors.push_back(FieldError::required(
        missing, field == "object"
                     ? "must set either a target value or averageValue"
                     : "must set either a target value for metric or a per-pod target"));
  } else if (field == "external" && value && average) {
    errors.push_back(FieldError::forbidden(
        path + ".target.value", "may not set both a target value for metric and a per-pod target"));
  }
}

void check_source(FieldErrors& errors, const Value& source, std::string_view field,
                  const std::string& path) {
  if (field != "resource" && field != "containerResource") {
    if (field == "object") {
      const std::string described = path + ".describedObject";
      check_reference(errors, source["describedObject"], described);
      check_version(errors, described + ".apiVersion",
                    source["describedObject"]["apiVersion"].as_string(), CoreGroup::Allowed);
    }
    check_measured(errors, source, field, path);
    return;
  }
  if (require(errors, path + ".name", source["name"], "must specify a resource name") &&
      field == "containerResource") {
    check_container_resource(errors, path + ".name", source["name"].as_string());
  }
  if (field == "containerResource" &&
      require(errors, path + ".container", source["container"], "must specify a container")) {
    check_name(errors, path + ".container", source["container"].as_string(),
               &validate_dns1123_label);
  }
  check_resource_target(errors, source["target"], path + ".target");
}

void check_metric(FieldErrors& errors, const Value& metric, const std::string& path) {
  const std::string_view type = metric["type"].as_string();
  if (type.empty()) {
    errors.push_back(FieldError::required(path + ".type", "must specify a metric source type"));
  }
  std::string_view expected;
  std::vector<std::string_view> present;
  for (const Source& source : kSources) {
    if (source.type == type) {
      expected = source.field;
    }
    if (!metric[source.field].is_null()) {
      present.push_back(source.field);
      if (present.size() == 1) {
        check_source(errors, metric[source.field], source.field, below(path, source.field));
      }
    }
  }
  if (expected.empty()) {
    const FieldError unknown =
        FieldError::not_supported(path + ".type", Value(type),
                                  {"ContainerResource", "External", "Object", "Pods", "Resource"});
    errors.insert(errors.end(), 2, unknown);  // of the name, and of its value
  } else if (metric[expected].is_null()) {
    errors.push_back(FieldError::required(below(path, expected),
                                          "must populate information for the given metric source"));
  }
  for (const std::string_view field : present) {
    if (present.size() > 1 && field != expected) {
      errors.push_back(
          FieldError::forbidden(below(path, field), "must populate the given metric source only"));
    }
  }
}

void check_scaling_policy(FieldErrors& errors, const Value& policy, const std::string& path) {
  check_choice_always(errors, path + ".type", policy["type"], {"Percent", "Pods"});
  const std::int64_t value = policy["value"].as_int();
  if (value <= 0) {
    errors.push_back(FieldError::invalid(path + ".value", value, "must be greater than zero"));
  }
  const std::int64_t period = policy["periodSeconds"].as_int();
  if (period <= 0) {
    errors.push_back(
        FieldError::invalid(path + ".periodSeconds", period, "must be greater than zero"));
  } else if (period > kMaxPeriodSeconds) {
    errors.push_back(
        FieldError::invalid(path + ".periodSeconds", period,
                            fmt::format("must be less than or equal to {}", kMaxPeriodSeconds)));
  }
}

void check_scaling_rules(FieldErrors& errors, const Value& rules, const std::string& path) {
  if (rules.is_null()) {
    return;
  }
  const Value& window = rules["stabilizationWindowSeconds"];
  if (window.as_int() < 0) {
    errors.push_back(FieldError::invalid(path + ".stabilizationWindowSeconds", window,
                                         "must be greater than or equal to zero"));
  } else if (window.as_int() > kMaxWindowSeconds) {
    errors.push_back(
        FieldError::invalid(path + ".stabilizationWindowSeconds", window,
                            fmt::format("must be less than or equal to {}", kMaxWindowSeconds)));
  }
  if (!rules["selectPolicy"].is_null()) {
    check_choice_always(errors, path + ".selectPolicy", rules["selectPolicy"],
                        {"Disabled", "Max", "Min"});
  }
  const Value& policies = rules["policies"];
  require(errors, path + ".policies", policies, "must specify at least one Policy");
  for (std::size_t i = 0; i < policies.size(); ++i) {
    check_scaling_policy(errors, policies[i], at(path + ".policies", i));
  }
  if (!rules["tolerance"].is_null()) {
    check_quantity(errors, path + ".tolerance", rules["tolerance"]);
  }
}

}  // namespace

void default_metrics(Value& object, std::string_view version) {
  const bool first_version = version == "v1";
  const bool carries_metrics =
      object["metadata"]["annotations"].contains("autoscaling.alpha.kubernetes.io/metrics");
  edit_member(object, "spec", [&](Value& spec) {
    if (first_version && !carries_metrics) {
      default_to(spec, "targetCPUUtilizationPercentage", kDefaultCpuPercent);
    }
    if (!first_version && spec["metrics"].empty()) {
      spec.set("metrics",
               Value::list({Value::object(
                   {{"type", "Resource"},
                    {"resource",
                     Value::object({{"name", "cpu"},
                                    {"target", Value::object({{"type", "Utilization"},
                                                              {"averageUtilization",
                                                               kDefaultCpuPercent}})}})}})}));
    }
  });
}

void default_autoscaler(Value& object, std::string_view version) {
  edit_member(object, "spec", [](Value& spec) { default_to(spec, "minReplicas", 1); });
  if (version == "v1") {
    tidy_carried(object);
  } else {
    drop_carried(object);
    default_behavior(object);
  }
  default_metrics(object, version);
}

FieldErrors check_autoscaler_spec(const Value& spec, const Value& old_spec) {
  FieldErrors errors;
  const Value& least = spec["minReplicas"];
  const std::int64_t most = spec["maxReplicas"].as_int();
  if (least.is_number() && least.as_int() < 1) {
    errors.push_back(FieldError::invalid("spec.minReplicas", least.as_int(),
                                         "must be greater than or equal to 1"));
  }
  if (most < 1) {
    errors.push_back(FieldError::invalid("spec.maxReplicas", most, "must be greater than 0"));
  }
  if (least.is_number() && most < least.as_int()) {
    errors.push_back(FieldError::invalid("spec.maxReplicas", most,
                                         "must be greater than or equal to `minReplicas`"));
  }
  const Value& target = spec["scaleTargetRef"];
  const Value& old_target = old_spec["scaleTargetRef"];
  check_reference(errors, target, "spec.scaleTargetRef");
  if (old_spec.is_null() || target["apiVersion"] != old_target["apiVersion"] ||
      target["kind"] != old_target["kind"]) {
    check_version(errors, "spec.scaleTargetRef.apiVersion", target["apiVersion"].as_string(),
                  target["kind"].as_string() == "ReplicationController" ? CoreGroup::Allowed
                                                                        : CoreGroup::Refused);
  }
  const Value& metrics = spec["metrics"];
  bool measures_others = false;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    check_metric(errors, metrics[i], at("spec.metrics", i));
    measures_others |= is_one_of(metrics[i]["type"].as_string(), {"Object", "External"});
  }
  if (least.is_number() && least.as_int() == 0 && !measures_others) {
    errors.push_back(FieldError::forbidden(
        "spec.metrics",
        "must specify at least one Object or External metric to support scaling to zero replicas"));
  }
  check_scaling_rules(errors, spec["behavior"]["scaleUp"], "spec.behavior.scaleUp");
  check_scaling_rules(errors, spec["behavior"]["scaleDown"], "spec.behavior.scaleDown");
  return errors;
}

}  // namespace athanor::apiserver
