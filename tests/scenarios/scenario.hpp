// SPDX-License-Identifier: Apache-2.0
// One scenario file, played on a FakeWorld. The format is described in tests/scenarios/README.md.
#pragma once

#include <string>

namespace athanor::test {

// Plays the file and reports what differs as GoogleTest failures.
void play_scenario(const std::string& path);

}  // namespace athanor::test
