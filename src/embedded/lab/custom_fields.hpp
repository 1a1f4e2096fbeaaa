// SPDX-License-Identifier: Apache-2.0
// The treatment of each field of the kinds of Tekton and Kueue, as kind_fields.hpp has it for
// built-in kinds. The webhooks of both name noted fields; the fields of pods inside are noted here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/nodes/pod_fields.hpp"
#include "kube/value/value.hpp"

namespace athanor::lab {

// Returns the treatment of a field of a type of a group ("tekton.dev", "TaskSpec", "steps"). The
// root of a kind has the kind's name. nullopt: it is in no line of the table.
std::optional<nodes::FieldTreatment> custom_field(std::string_view group, std::string_view type,
                                                  std::string_view field);

// Returns the rows of the table: "tekton.dev.TaskSpec.steps".
std::vector<std::string> custom_fields();

// Adds a warning for each field without effect of the containers and pod templates of a Tekton
// object. `resource` is "taskruns.tekton.dev".
void warn_of_custom_fields(std::string_view resource, const Value& object,
                           std::vector<std::string>& warnings);

}  // namespace athanor::lab
