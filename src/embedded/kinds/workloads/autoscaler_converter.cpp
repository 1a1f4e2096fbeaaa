// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/workloads/autoscaler_converter.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "embedded/kinds/edit.hpp"
#include "embedded/kinds/workloads/autoscaler_texts.hpp"
#include "kube/text/json.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kPrefix = "autoscaling.alpha.kubernetes.io/";
constexpr std::string_view kCpuField = "targetCPUUtilizationPercentage";
constexpr std::string_view kCurrentCpuField = "currentCPUUtilizationPercentage";
constexpr std::int64_t kCpuPercent = 80;

// One list or object that v1 carries as an annotation.
struct Carried {
  std::string_view annotation{};
  std::string_view part{};  // spec or status
  std::string_view field{};
  const AutoscalerText& text;
};
constexpr std::array<Carried, 4> kCarried = {
    {{"metrics", "spec", "metrics", kMetricsText},
     {"behavior", "spec", "behavior", kBehaviorText},
     {"conditions", "status", "conditions", kConditionsText},
     {"current-metrics", "status", "currentMetrics", kCurrentMetricsText}}};

// These, and two of the past.
constexpr std::array<std::string_view, 6> kCarriedNames = {
    "metrics",         "behavior",           "conditions",
    "current-metrics", "scale-up-tolerance", "scale-down-tolerance"};

constexpr std::int64_t kPeriodSeconds = 15;
constexpr std::int64_t kMostPods = 4;
constexpr std::int64_t kMostPercent = 100;

Value scaling_policy(std::string_view type, std::int64_t value) {
  return Value::object(
      {{"type", Value(type)}, {"value", value}, {"periodSeconds", kPeriodSeconds}});
}

void default_rules(Value& rules, bool up) {
  if (up) {
    default_to(rules, "stabilizationWindowSeconds", 0);
  }
  default_to(rules, "selectPolicy", "Max");
  if (!rules["policies"].is_null()) {
    return;
  }
  Value policies = Value::list();
  if (up) {
    policies.push_back(scaling_policy("Pods", kMostPods));
  }
  policies.push_back(scaling_policy("Percent", kMostPercent));
  rules.set("policies", std::move(policies));
}

std::string annotation_name(std::string_view name) {
  return std::string(kPrefix) + std::string(name);
}

std::optional<Value> read_text(const Carried& carried, const Value& text) {
  if (!text.is_string()) {
    return std::nullopt;
  }
  const auto document = json::parse(text.as_string());
  return document.ok() ? carried.text.read(*document) : std::nullopt;
}

bool is_cpu(const Value& metric) {
  return metric["type"].as_string() == "Resource" &&
         metric["resource"]["name"].as_string() == "cpu";
}

Value cpu_metric(std::string_view target, const Value& utilization) {
  Value values = Value::object({{"averageUtilization", utilization}});
  if (target == "target") {
    values.set("type", "Utilization");
  }
  Value resource = Value::object({{"name", "cpu"}});
  resource.set(target, std::move(values));
  return Value::object({{"type", "Resource"}, {"resource", std::move(resource)}});
}

// The first utilisation of the cpu that is wished has a field in v1; none of them is carried.
void spec_to_v1(Value& spec) {
  Value others = Value::list();
  Value first;
  for (const Value metrics = spec["metrics"]; const Value& metric : metrics.items()) {
    const Value& percent = metric["resource"]["target"]["averageUtilization"];
    if (!is_cpu(metric) || percent.is_null()) {
      others.push_back(metric);
    } else if (first.is_null()) {
      first = percent;
    }
  }
  if (!first.is_null()) {
    spec.set(kCpuField, first);
  }
  spec.set("metrics", std::move(others));
}

// The last one that was measured has a field, and is carried too.
void status_to_v1(Value& status) {
  for (const Value metrics = status["currentMetrics"]; const Value& metric : metrics.items()) {
    if (const Value& percent = metric["resource"]["current"]["averageUtilization"];
        is_cpu(metric) && !percent.is_null()) {
      status.set(kCurrentCpuField, percent);
    }
  }
  if (status["currentReplicas"].is_null()) {  // what each version always shows differs
    status.set("currentReplicas", 0);
  }
}

Value to_v1(Value object) {
  drop_carried(object);
  if (object["spec"].is_object()) {
    spec_to_v1(object.member("spec"));
  }
  if (object["status"].is_object()) {
    status_to_v1(object.member("status"));
  }
  for (const Carried& carried : kCarried) {
    const Value value = object[carried.part][carried.field];
    if (!value.empty() || (value.is_object() && carried.field == "behavior")) {
      object.member("metadata")
          .member("annotations")
          .set(annotation_name(carried.annotation), carried.text.print(value));
    }
    if (object[carried.part].contains(carried.field)) {
      object.member(carried.part).erase(carried.field);
    }
  }
  return object;
}

void spec_to_v2(Value& spec) {
  if (const Value target = spec[kCpuField]; !target.is_null()) {
    spec.erase(kCpuField);
    spec.member("metrics").push_back(cpu_metric("target", target));
  }
  if (spec["metrics"].empty()) {
    spec.set("metrics", Value::list({cpu_metric("target", kCpuPercent)}));
  }
}

void status_to_v2(Value& status) {
  if (const Value measured = status[kCurrentCpuField]; !measured.is_null()) {
    status.erase(kCurrentCpuField);
    if (!status.contains("currentMetrics")) {  // what is carried says more
      status.set("currentMetrics", Value::list({cpu_metric("current", measured)}));
    }
  }
  if (status["currentReplicas"].as_int() == 0) {
    status.erase("currentReplicas");
  }
  if (!status.contains("currentMetrics")) {
    status.set("currentMetrics", Value());
  }
}

}  // namespace

bool carries_texts(const Value& object) {
  const Value& annotations = object["metadata"]["annotations"];
  return std::ranges::any_of(kCarriedNames, [&](std::string_view name) {
    return annotations.contains(annotation_name(name));
  });
}

void drop_carried(Value& object) {
  if (!carries_texts(object)) {
    return;
  }
  Value& annotations = object.member("metadata").member("annotations");
  for (const std::string_view name : kCarriedNames) {
    annotations.erase(annotation_name(name));
  }
  if (annotations.empty()) {
    object.member("metadata").erase("annotations");
  }
}

void keep_carried(Value& object, const Value& old_object, std::string_view part) {
  for (const Carried& carried : kCarried) {
    if (carried.part != part) {
      continue;
    }
    const std::string name = annotation_name(carried.annotation);
    const Value before = old_object["metadata"]["annotations"][name];
    const Value& now = object["metadata"]["annotations"][name];
    if (before == now) {
      continue;
    }
    Value& annotations = object.member("metadata").member("annotations");
    if (!before.is_null()) {
      annotations.set(name, before);
      continue;
    }
    annotations.erase(name);
    if (annotations.empty()) {
      object.member("metadata").erase("annotations");
    }
  }
}

void tidy_carried(Value& object) {
  if (!carries_texts(object)) {
    return;
  }
  const Value annotations = object["metadata"]["annotations"];
  drop_carried(object);
  for (const Carried& carried : kCarried) {
    const std::string name = annotation_name(carried.annotation);
    if (const std::optional<Value> said = read_text(carried, annotations[name]);
        said && !said->empty()) {
      object.member("metadata").member("annotations").set(name, carried.text.print(*said));
    }
  }
}

Value autoscaler_to_v2(Value object) {
  for (const Carried& carried : kCarried) {
    const Value& text = object["metadata"]["annotations"][annotation_name(carried.annotation)];
    if (std::optional<Value> said = read_text(carried, text)) {
      object.member(carried.part).set(carried.field, *std::move(said));
    }
  }
  drop_carried(object);
  spec_to_v2(object.member("spec"));
  if (object["status"].is_object()) {
    status_to_v2(object.member("status"));
  }
  object.set("apiVersion", "autoscaling/v2");
  return object;
}

Value autoscaler_to_v1(Value object) {
  object = to_v1(std::move(object));
  object.set("apiVersion", "autoscaling/v1");
  return object;
}

void default_behavior(Value& object) {
  if (!object["spec"]["behavior"].is_object()) {
    return;
  }
  edit_member(object, "spec", [](Value& spec) {
    edit_member(spec, "behavior", [](Value& behavior) {
      edit_member(behavior, "scaleUp", [](Value& rules) { default_rules(rules, true); });
      edit_member(behavior, "scaleDown", [](Value& rules) { default_rules(rules, false); });
    });
  });
}

namespace {

class AutoscalerConverter final : public Converter {
 public:
  [[nodiscard]] StatusResult<Value> convert(const Value& object, std::string_view from_version,
                                            std::string_view to_version) const override {
    if (from_version == to_version) {
      return object;
    }
    if (to_version == "autoscaling/v1") {
      return autoscaler_to_v1(object);
    }
    Value converted = autoscaler_to_v2(object);
    default_behavior(converted);  // as what is stored is read
    return converted;
  }
};

}  // namespace

const Converter& autoscaler_converter() {
  static const AutoscalerConverter kConverter;
  return kConverter;
}

}  // namespace athanor::apiserver
