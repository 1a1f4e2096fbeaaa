// SPDX-License-Identifier: Apache-2.0
// HorizontalPodAutoscalers (spec/apiserver.md 14.2, Appendix T).
#include <fmt/format.h>

#include <array>

#include "embedded/apiserver/kinds/autoscaler_rules.hpp"
#include "embedded/apiserver/kinds/cells.hpp"
#include "embedded/apiserver/kinds/checks.hpp"
#include "embedded/apiserver/kinds/edit.hpp"
#include "embedded/apiserver/kinds/kind_table.hpp"

namespace athanor::apiserver {
namespace {

void default_kind(Value& object, const KindContext& context) {
  default_autoscaler(object, context.resource.version);
}

// v1 knows one metric, by a field of its own.
Value with_metrics(Value spec) {
  constexpr std::string_view kField = "targetCPUUtilizationPercentage";
  if (const Value percent = spec[kField]; !percent.is_null()) {
    spec.set(
        "metrics",
        Value::list({Value::object(
            {{"type", "Resource"},
             {"resource",
              Value::object({{"name", "cpu"},
                             {"target", Value::object({{"type", "Utilization"},
                                                       {"averageUtilization", percent}})}})}})}));
  }
  return spec;
}

FieldErrors validate_autoscaler(const Value& object, const KindContext& /*context*/) {
  return check_autoscaler_spec(with_metrics(object["spec"]), Value());
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
  return check_autoscaler_spec(with_metrics(object["spec"]), old_object["spec"]);
}

// What the target is, and what was measured last.
std::string metric_text(const Value& metric, const Value& current) {
  const Value& resource = metric["resource"];
  if (!resource.is_object()) {
    return fmt::format("{}: <unknown>", metric["type"].as_string());
  }
  const std::string_view name = resource["name"].as_string();
  const Value& target = resource["target"];
  const Value& measured = current["resource"]["current"];
  if (const Value& percent = target["averageUtilization"]; percent.is_number()) {
    const Value& now = measured["averageUtilization"];
    return fmt::format("{}: {}/{}%", name,
                       now.is_number() ? fmt::format("{}%", now.as_int()) : std::string(kUnknown),
                       percent.as_int());
  }
  const Value& now = measured["averageValue"];
  return fmt::format("{}: {}/{}", name, now.is_null() ? std::string(kUnknown) : scalar_text(now),
                     scalar_text(target["averageValue"]));
}

Cells autoscaler_cells(const Value& object, Instant now) {
  const Value& spec = object["spec"];
  const Value& status = object["status"];
  const Value& target = spec["scaleTargetRef"];
  std::vector<std::string> targets;
  for (std::size_t i = 0; i < spec["metrics"].size(); ++i) {
    targets.push_back(metric_text(spec["metrics"][i], status["currentMetrics"][i]));
  }
  if (const Value& percent = spec["targetCPUUtilizationPercentage"]; percent.is_number()) {
    const Value& measured = status["currentCPUUtilizationPercentage"];
    targets.push_back(fmt::format(
        "cpu: {}/{}%",
        measured.is_number() ? fmt::format("{}%", measured.as_int()) : std::string(kUnknown),
        percent.as_int()));
  }
  return {name_cell(object),
          fmt::format("{}/{}", target["kind"].as_string(), target["name"].as_string()),
          targets.empty() ? std::string(kNone) : join(targets, ", "),
          spec["minReplicas"].is_null() ? std::string(kUnset)
                                        : std::to_string(spec["minReplicas"].as_int()),
          spec["maxReplicas"].as_int(),
          status["currentReplicas"].as_int(),
          age_cell(object, now)};
}

constexpr std::array kRows = {
    KindRow{.group = "autoscaling",
            .plural = "horizontalpodautoscalers",
            .behaviour = {.apply_defaults = &default_kind,
                          .validate_create = &validate_autoscaler,
                          .validate_update = &validate_autoscaler_update,
                          .cells = &autoscaler_cells}},
};

}  // namespace

std::span<const KindRow> autoscaling_rows() {
  return kRows;
}

}  // namespace athanor::apiserver
