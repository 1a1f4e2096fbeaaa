// SPDX-License-Identifier: Apache-2.0
// Sight: objects of other kinds that rows name, and which of them a viewer may see
// (docs/spec/dashboard.md B9 X2): jobs of clusters and locks, pods of GPUs and zones. Pure.
#pragma once

#include <string_view>

#include "console/model/visible.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// Namespaces whose jobs and pods a viewer may list.
struct Sight {
  Visible jobs{.all = true};
  Visible pods{.all = true};
};

// Returns a row of a topic without the names that are out of sight; other topics name none.
Value in_sight(std::string_view topic, Value row, const Sight& sight);
// Returns nodes with GPUs, or holders, without the names of pods that are out of sight.
Value slices_in_sight(const Value& list, const Visible& pods);
// Returns problems without those of pods that are out of sight.
Value problems_in_sight(const Value& problems, const Visible& pods);
// Returns changes of slices (SliceLog) without the names of pods that are out of sight.
Value slice_change_in_sight(Value change, const Visible& pods);

}  // namespace athanor::console
