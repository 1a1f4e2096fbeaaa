// SPDX-License-Identifier: Apache-2.0
// What long-running verbs take from their surroundings: environment, files, the systems' settings.
#pragma once

#include <map>
#include <string>

#include "base/result.hpp"
#include "fournos/settings.hpp"

namespace athanor::cli {

std::map<std::string, std::string> environment_map();
Result<std::string> read_file(const std::string& path);
// Settings of FournosJob's controllers from FOURNOS_* (spec/fournos.md 3), with the template file
// that they name.
Result<fournos::Settings> read_fournos_settings(
    const std::map<std::string, std::string>& variables);

}  // namespace athanor::cli
