// SPDX-License-Identifier: Apache-2.0
// A job that no controller has looked at.
#pragma once

#include <string>

#include "base/time.hpp"
#include "cli/session/session.hpp"

namespace athanor::cli {

// Names the controller that should have handled a job that has no phase after `waited`, and what to
// do.
std::string unseen_text(Session& session, const std::string& ns, const std::string& name,
                        Duration waited);

}  // namespace athanor::cli
