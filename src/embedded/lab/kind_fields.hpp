// SPDX-License-Identifier: Apache-2.0
// What becomes of the fields of Services, claims and workloads in a lab: each is done, emulated (of
// no consequence on one machine) or noted: a warning names it where an object asks for it. The
// fields of pods are in nodes/pod_fields.hpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/nodes/pod_fields.hpp"
#include "kube/value/value.hpp"

namespace athanor::lab {

// Returns the treatment of a field of a type ("core.v1.ServiceSpec"); nullopt: it is in no line of
// the table.
std::optional<nodes::FieldTreatment> kind_field(std::string_view type, std::string_view field);
// Returns the types of the table.
std::vector<std::string_view> kind_types();
// Returns the fields of a type that the table names.
std::vector<std::string_view> kind_fields(std::string_view type);

// Adds a warning for each field of the object, of its pod or of its pods' template that has no
// effect. `resource` is "pods" or "deployments.apps".
void warn_of_fields(std::string_view resource, const Value& object,
                    std::vector<std::string>& warnings);

}  // namespace athanor::lab
