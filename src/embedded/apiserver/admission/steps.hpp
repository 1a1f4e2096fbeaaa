// SPDX-License-Identifier: Apache-2.0
// The built-in admission steps; steps.cpp puts them in order (spec/apiserver.md 15.1).
#pragma once

#include "embedded/apiserver/admission.hpp"

namespace athanor::apiserver {

// Refuses roles and bindings that grant more than their writer holds (16.2).
AdmissionStep escalation_step();

}  // namespace athanor::apiserver
