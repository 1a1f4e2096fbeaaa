// SPDX-License-Identifier: Apache-2.0
// HorizontalPodAutoscalers (docs/spec/apiserver.md 14.2, Appendix T).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "embedded/kinds/cells.hpp"
#include "embedded/kinds/checks.hpp"
#include "embedded/kinds/edit.hpp"
#include "embedded/kinds/kind_table.hpp"
#include "embedded/kinds/workloads/autoscaler_converter.hpp"
#include "embedded/kinds/workloads/autoscaler_rules.hpp"

namespace athanor::apiserver {
namespace {

void default_kind(Value& object, const KindContext& context) {
  default_autoscaler(object, context.resource.version);
}

bool is_first_version(const Value& object) {
  return object["apiVersion"].as_string() == "autoscaling/v1";
}

// What v1 carries as annotations is as little a client's as its value.
void prepare_autoscaler(Value& object, const KindContext& context) {
  if (context.resource.version == "v1") {
    keep_carried(object, Value(), "status");
  }
}

void prepare_autoscaler_update(Value& object, const Value& old_object, const KindContext& context) {
  if (context.resource.version == "v1") {
    keep_carried(object, old_object, context.subresource.empty() ? "status" : "spec");
  }
}

Value spec_of(const Value& object) {
  return is_first_version(object) ? autoscaler_to_v2(object)["spec"] : object["spec"];
}

FieldErrors validate_autoscaler(const Value& object, const KindContext& /*context*/) {
  return check_autoscaler_spec(spec_of(object), Value());
}

FieldErrors validate_autoscaler_update(const Value& object, const Value& old_object,
                                       const KindContext& context) {
  if (!context.subresource.empty()) {
    FieldErrors errors;
    for (const std::string_view field : {"currentReplicas", "desiredReplicas"}) {
      check_not_negative(errors, below("status", field), object["status"][field]);
    }
    return errors;
  }
  return check_autoscaler_spec(spec_of(object), old_object["spec"]);
}

constexpr std::size_t kShownMetrics = 2;

// An amount that was not measured is printed as Go prints nothing.
std::string amount_text(const Value& amount) {
  return amount.is_null() ? "<nil>" : scalar_text(amount);
}

// What was measured of `field`, and what is wished of it.
std::string amounts_text(const Value& source, const Value& current, std::string_view field) {
  const Value& now = current["current"][field];
  return fmt::format("{}/{}", current.is_null() ? std::string(kUnknown) : amount_text(now),
                     amount_text(source["target"][field]));
}

std::string resource_text(const Value& source, const Value& current) {
  const std::string_view name = source["name"].as_string();
  if (!source["target"]["averageValue"].is_null()) {
    return fmt::format("{}: {}", name, amounts_text(source, current, "averageValue"));
  }
  const auto percent = [](const Value& of, std::string_view otherwise) {
    const Value& number = of["averageUtilization"];
    return number.is_number() ? fmt::format("{}%", number.as_int()) : std::string(otherwise);
  };
  return fmt::format("{}: {}/{}", name, percent(current["current"], kUnknown),
                     percent(source["target"], "<auto>"));
}

// What was measured last, and what the target is.
std::string metric_text(const Value& metric, const Value& current) {
  const std::string_view type = metric["type"].as_string();
  if (type == "Resource") {
    return resource_text(metric["resource"], current["resource"]);
  }
  if (type == "ContainerResource") {
    return resource_text(metric["containerResource"], current["containerResource"]);
  }
  if (type == "Pods") {
    return amounts_text(metric["pods"], current["pods"], "averageValue");
  }
  if (type != "Object" && type != "External") {
    return "<unknown type>";
  }
  const std::string_view field = type == "Object" ? "object" : "external";
  const Value& source = metric[field];
  const Value& measured = current[field];
  if (source["target"]["averageValue"].is_null()) {
    return amounts_text(source, measured, "value");
  }
  const bool unknown = measured["current"]["averageValue"].is_null();
  return amounts_text(source, unknown ? Value() : measured, "averageValue") + " (avg)";
}

std::string metrics_text(const Value& spec, const Value& status) {
  const Value& metrics = spec["metrics"];
  if (metrics.empty()) {
    return std::string(kNone);
  }
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(metrics.size(), kShownMetrics); ++i) {
    texts.push_back(metric_text(metrics[i], status["currentMetrics"][i]));
  }
  const std::string shown = join(texts, ", ");
  return metrics.size() > kShownMetrics
             ? fmt::format("{} + {} more...", shown, metrics.size() - kShownMetrics)
             : shown;
}

Cells autoscaler_cells(const Value& object, Instant now) {
  const Value full = is_first_version(object) ? autoscaler_to_v2(object) : object;
  const Value& spec = full["spec"];
  const Value& status = full["status"];
  const Value& target = spec["scaleTargetRef"];
  return {name_cell(object),
          fmt::format("{}/{}", target["kind"].as_string(), target["name"].as_string()),
          metrics_text(spec, status),
          spec["minReplicas"].is_null() ? std::string(kUnset)
                                        : std::to_string(spec["minReplicas"].as_int()),
          spec["maxReplicas"].as_int(),
          status["currentReplicas"].as_int(),
          age_cell(object, now)};
}

constexpr std::array kAutoscalingRows = {
    KindRow{.group = "autoscaling",
            .plural = "horizontalpodautoscalers",
            .behaviour = {.apply_defaults = &default_kind,
                          .prepare_create = &prepare_autoscaler,
                          .prepare_update = &prepare_autoscaler_update,
                          .validate_create = &validate_autoscaler,
                          .validate_update = &validate_autoscaler_update,
                          .cells = &autoscaler_cells}},
};

}  // namespace

std::span<const KindRow> autoscaling_rows() {
  return kAutoscalingRows;
}

}  // namespace athanor::apiserver
