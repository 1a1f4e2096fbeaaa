// SPDX-License-Identifier: Apache-2.0
// The built-in lab: the files of examples/fournos that were there when the program was built.
#pragma once

#include <string>

#include "base/result.hpp"

namespace athanor::cli {

// Returns a file of the built-in lab by its name relative to examples/fournos ("lab.yaml",
// "setup/31-pipelines.yaml").
Result<std::string> default_lab_file(const std::string& name);

}  // namespace athanor::cli
