// SPDX-License-Identifier: Apache-2.0
// HorizontalPodAutoscalers of autoscaling/v1 are stored as autoscaling/v2 (spec/apiserver.md 14.1).
#pragma once

#include "embedded/apiserver/converter.hpp"

namespace athanor::apiserver {

// Between "autoscaling/v2" (stored) and "autoscaling/v1".
const Converter& autoscaler_converter();

}  // namespace athanor::apiserver
