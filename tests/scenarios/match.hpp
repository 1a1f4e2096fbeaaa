// SPDX-License-Identifier: Apache-2.0
// Comparison of what is with what a scenario expects.
#pragma once

#include <string>

#include "kube/value/value.hpp"

namespace athanor::test {

// Returns true if every leaf of `part` is in `whole`; null in `part` means absent; lists are
// compared item by item and have as many items.
bool contains(const Value& whole, const Value& part);

// Returns the text of a file; a missing one fails the test.
std::string read_text(const std::string& path);

}  // namespace athanor::test
