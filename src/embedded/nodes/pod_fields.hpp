// SPDX-License-Identifier: Apache-2.0
// What becomes of each field of a pod on an emulated node: one table, so that none is accepted and
// silently not done.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor::nodes {

// Done: as a kubelet, the scheduler or the API server does it. Emulated: with the effect that is
// described in docs/lab.md. Refused: the pod does not start, and says why. Noted: an event of the
// pod says that it is not applied. Whole: done, with all fields below it.
enum class FieldTreatment : std::uint8_t { Done, Whole, Emulated, Refused, Noted };

// Returns the treatment of a field of a type of core/v1 ("PodSpec", "hostPID"); nullopt: unknown.
std::optional<FieldTreatment> field_treatment(std::string_view type, std::string_view field);
// Returns the types that the table names.
std::vector<std::string_view> treated_types();
// Returns the fields of a type that the table names.
std::vector<std::string_view> treated_fields(std::string_view type);

// Names the noted fields that a pod's spec sets: "spec.hostPID".
std::vector<std::string> noted_fields(const Value& spec);

}  // namespace athanor::nodes
