// SPDX-License-Identifier: Apache-2.0
// Settings of the AppWrapper controller as its clients can see them: the operator's ConfigMap
// (docs/spec/appwrapper.md 8.2), or the file of a lab that the environment names.
#pragma once

#include "cli/session/session.hpp"
#include "systems/appwrapper/model/settings.hpp"

namespace athanor::cli {

// Returns the controller's settings; prints a warning and returns the defaults where they cannot
// be read.
appwrapper::FaultTolerance read_fault_tolerance(Session& session);

}  // namespace athanor::cli
