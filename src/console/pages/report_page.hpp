// SPDX-License-Identifier: Apache-2.0
// The page of `athanor simulate --html`: one file with the console's charts, styles and the data
// inside. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "console/pages/page_files.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// Returns a page that shows {trace, fleets: [report]} (docs/simulate.md). Names in it stay text.
// Errors: `files` lack the report's script or styles.
Result<std::string> report_page(const PageFiles& files, const Value& report);

}  // namespace athanor::console
