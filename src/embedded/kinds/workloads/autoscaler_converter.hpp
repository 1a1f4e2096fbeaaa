// SPDX-License-Identifier: Apache-2.0
// HorizontalPodAutoscalers of autoscaling/v1 are stored as autoscaling/v2 (docs/spec/apiserver.md
// 14.1).
#pragma once

#include "embedded/kinds/converter.hpp"

namespace athanor::apiserver {

// Between "autoscaling/v2" (stored) and "autoscaling/v1".
const Converter& autoscaler_converter();

// One version as the other; of an autoscaler that says no metric, v2 has that of the cpu.
Value autoscaler_to_v1(Value object);
// The other direction.
Value autoscaler_to_v2(Value object);

// Returns true if an object has the annotations in which v1 carries what it has no fields for.
bool carries_texts(const Value& object);
// Removes these annotations.
void drop_carried(Value& object);
// Keeps what can be read of such annotations, as v1 writes it.
void tidy_carried(Value& object);
// Gives an object of v1 the annotations of `part` ("spec", "status") that `old_object` has.
void keep_carried(Value& object, const Value& old_object, std::string_view part);

// A behaviour that says anything says everything (v2).
void default_behavior(Value& object);

}  // namespace athanor::apiserver
