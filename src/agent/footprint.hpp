// SPDX-License-Identifier: Apache-2.0
// Memory at rest: a node has many agents, and this one is idle most of the time.
#pragma once

namespace athanor::agent {

// Gives back what a start or a busy minute took: free memory, and pages of program code, which the
// system reads again where they are needed (some hundred microseconds for the first call).
void shrink();

}  // namespace athanor::agent
