// SPDX-License-Identifier: Apache-2.0
// Tables as CSV (docs/spec/dashboard.md X7). Pure.
#pragma once

#include <string>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor::console {

// Returns a header and one line for each item. Texts that a spreadsheet would take for formulas
// get a leading quote.
std::string csv_of(const Value& items, const std::vector<std::string>& columns);

}  // namespace athanor::console
