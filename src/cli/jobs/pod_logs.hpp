// SPDX-License-Identifier: Apache-2.0
// Why there is nothing to read of a workload's logs.
#pragma once

#include <string>

#include "base/result.hpp"
#include "cli/jobs/log_lines.hpp"
#include "cli/jobs/log_source.hpp"
#include "cli/session/session.hpp"

namespace athanor::cli {

// Returns why the workload has no log of this choice: what it waits for, what it failed of, or that
// it has no such task or container.
Result<std::string> why_no_log(Session& session, const LogSource& source, const LogChoice& choice);

}  // namespace athanor::cli
