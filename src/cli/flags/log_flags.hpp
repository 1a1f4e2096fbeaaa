// SPDX-License-Identifier: Apache-2.0
// The values of --log-level and --log-format.
#pragma once

#include <string_view>

#include "base/log.hpp"

namespace athanor::cli {

// Returns the level of "error", "warn", "info", "debug" or "trace"; Info for any other name.
log::Level log_level(std::string_view name);
// Returns the format of "json" or "text"; Auto for any other name.
log::Format log_format(std::string_view name);

}  // namespace athanor::cli
