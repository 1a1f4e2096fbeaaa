// SPDX-License-Identifier: Apache-2.0
// AppWrappers for the console (docs/spec/dashboard.md B4.6). Pure.
#pragma once

#include <string>
#include <vector>

#include "base/time.hpp"
#include "console/model/row_table.hpp"
#include "console/world/world.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "views/appwrapper_view.hpp"

namespace athanor::console {

// Columns of GET /appwrappers.
const ListShape& appwrapper_shape();
std::vector<Value> appwrapper_rows(const Facts& facts);
// Returns one AppWrapper with its tree of components, objects and pods, and its timers.
Value appwrapper_tree(const views::AppWrapperFacts& facts, Instant now);

}  // namespace athanor::console
