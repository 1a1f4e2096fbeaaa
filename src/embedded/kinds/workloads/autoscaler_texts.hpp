// SPDX-License-Identifier: Apache-2.0
// What autoscaling/v1 has no fields for is in annotations, as JSON in forms of its own: flat
// metrics, and a behaviour whose members have capitals (docs/spec/apiserver.md 14.1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kube/value/value.hpp"

namespace athanor::apiserver {

// The text of a list or object of autoscaling/v2, and what such a text says; nothing when it is of
// another form. Reading does not look at the case of names.
struct AutoscalerText {
  std::string (*print)(const Value& value) = nullptr;
  std::optional<Value> (*read)(const Value& document) = nullptr;
};

extern const AutoscalerText kMetricsText;         // spec.metrics
extern const AutoscalerText kCurrentMetricsText;  // status.currentMetrics
extern const AutoscalerText kBehaviorText;        // spec.behavior; nothing when it says nothing
extern const AutoscalerText kConditionsText;      // status.conditions

}  // namespace athanor::apiserver
