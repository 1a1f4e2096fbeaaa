// SPDX-License-Identifier: Apache-2.0
// The path of the source tree, for tests that read files of the repository. One unit alone is
// compiled with the path, so that the compiler cache serves every other test in any checkout.
#pragma once

namespace athanor::test {

// Returns the absolute path of the source tree, without a slash at its end; the environment
// variable ATHANOR_SOURCE_DIR names it for a program that was moved to another machine.
const char* source_dir();

}  // namespace athanor::test
