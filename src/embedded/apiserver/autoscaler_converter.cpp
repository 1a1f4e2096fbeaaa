// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/autoscaler_converter.hpp"

#include <array>
#include <string>

#include "kube/json.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kPrefix = "autoscaling.alpha.kubernetes.io/";
constexpr std::string_view kCpuField = "targetCPUUtilizationPercentage";
constexpr std::string_view kCurrentCpuField = "currentCPUUtilizationPercentage";

// One list or object that v1 carries as an annotation.
struct Carried {
  std::string_view annotation{};
  std::string_view part{};  // spec or status
  std::string_view field{};
};
constexpr std::array<Carried, 4> kCarried = {{{"metrics", "spec", "metrics"},
                                              {"behavior", "spec", "behavior"},
                                              {"conditions", "status", "conditions"},
                                              {"current-metrics", "status", "currentMetrics"}}};

std::string annotation_name(const Carried& carried) {
  return std::string(kPrefix) + std::string(carried.annotation);
}

bool is_cpu(const Value& metric) {
  return metric["type"].as_string() == "Resource" &&
         metric["resource"]["name"].as_string() == "cpu";
}

// Takes every cpu utilisation out of a list of metrics; the first of them, Null when there is none.
Value take_cpu(Value& metrics, std::string_view target) {
  Value first;
  for (std::size_t i = 0; i < metrics.size();) {
    const Value utilization = metrics[i]["resource"][target]["averageUtilization"];
    if (!is_cpu(metrics[i]) || utilization.is_null()) {
      ++i;
      continue;
    }
    metrics.erase_item(i);
    if (first.is_null()) {
      first = utilization;
    }
  }
  return first;
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

void replace_or_erase(Value& object, std::string_view part, std::string_view field, Value value) {
  if (value.empty()) {
    object.member(part).erase(field);
  } else {
    object.member(part).set(field, std::move(value));
  }
}

Value to_v1(Value object) {
  Value metrics = object["spec"]["metrics"];
  Value current = object["status"]["currentMetrics"];
  const Value target = take_cpu(metrics, "target");
  const Value measured = take_cpu(current, "current");
  if (!target.is_null()) {
    object.member("spec").set(kCpuField, target);
    replace_or_erase(object, "spec", "metrics", std::move(metrics));
  }
  if (!measured.is_null()) {
    object.member("status").set(kCurrentCpuField, measured);
    replace_or_erase(object, "status", "currentMetrics", std::move(current));
  }
  // What each version always shows differs.
  if (object["status"].is_object()) {
    Value& status = object.member("status");
    if (status["currentMetrics"].empty()) {
      status.erase("currentMetrics");
    }
    if (status["currentReplicas"].is_null()) {
      status.set("currentReplicas", 0);
    }
  }
  for (const Carried& carried : kCarried) {
    const Value value = object[carried.part][carried.field];
    if (value.empty()) {
      continue;
    }
    object.member("metadata")
        .member("annotations")
        .set(annotation_name(carried), json::print(value));
    object.member(carried.part).erase(carried.field);
  }
  return object;
}

Value to_v2(Value object) {
  for (const Carried& carried : kCarried) {
    const std::string name = annotation_name(carried);
    const Value text = object["metadata"]["annotations"][name];
    if (!text.is_string()) {
      continue;
    }
    if (auto parsed = json::parse(text.as_string()); parsed.ok()) {
      object.member(carried.part).set(carried.field, *std::move(parsed));
    }
    object.member("metadata").member("annotations").erase(name);
    if (object["metadata"]["annotations"].empty()) {
      object.member("metadata").erase("annotations");
    }
  }
  const Value target = object["spec"][kCpuField];
  if (!target.is_null()) {
    object.member("spec").erase(kCpuField);
    object.member("spec").member("metrics").push_back(cpu_metric("target", target));
  }
  const Value measured = object["status"][kCurrentCpuField];
  if (!measured.is_null()) {
    object.member("status").erase(kCurrentCpuField);
    object.member("status")
        .member("currentMetrics")
        .insert_item(0, cpu_metric("current", measured));
  }
  if (object["status"].is_object()) {
    Value& status = object.member("status");
    if (status["currentReplicas"].as_int() == 0) {
      status.erase("currentReplicas");
    }
    if (!status.contains("currentMetrics")) {
      status.set("currentMetrics", Value());
    }
  }
  return object;
}

class AutoscalerConverter final : public Converter {
 public:
  [[nodiscard]] StatusResult<Value> convert(const Value& object, std::string_view from_version,
                                            std::string_view to_version) const override {
    if (from_version == to_version) {
      return object;
    }
    Value converted = to_version == "autoscaling/v1" ? to_v1(object) : to_v2(object);
    converted.set("apiVersion", Value(to_version));
    return converted;
  }
};

}  // namespace

const Converter& autoscaler_converter() {
  static const AutoscalerConverter kConverter;
  return kConverter;
}

}  // namespace athanor::apiserver
