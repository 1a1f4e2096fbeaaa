// SPDX-License-Identifier: Apache-2.0
// HorizontalPodAutoscalers of autoscaling/v1 are stored as autoscaling/v2 (docs/spec/apiserver.md
// 14.1).
#pragma once

#include "embedded/kinds/converter.hpp"

namespace athanor::apiserver {

// Converts between "autoscaling/v2" (stored) and "autoscaling/v1".
const Converter& autoscaler_converter();

// Converts v2 to v1; for an autoscaler without a metric, v2 has that of the cpu.
Value autoscaler_to_v1(Value object);
// Converts v1 to v2.
Value autoscaler_to_v2(Value object);

// Returns true if an object has the annotations in which v1 carries what it has no fields for.
bool carries_texts(const Value& object);
// Removes these annotations.
void drop_carried(Value& object);
// Keeps what can be read of such annotations, as v1 writes it.
void tidy_carried(Value& object);
// Gives an object of v1 the annotations of `part` ("spec", "status") that `old_object` has.
void keep_carried(Value& object, const Value& old_object, std::string_view part);

// Sets the defaults of both directions of a `behavior` that is set at all (v2).
void default_behavior(Value& object);

}  // namespace athanor::apiserver
