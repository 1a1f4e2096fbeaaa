// SPDX-License-Identifier: Apache-2.0
// Tables of admission rules: rows of objects and what a webhook says to them. The format is
// described in tests/scenarios/README.md.
#pragma once

#include "kube/value/value.hpp"

namespace athanor::test {

// Shows each row's object to the webhook that `table` names and reports what differs as GoogleTest
// failures.
void play_reviews(const Value& table);

}  // namespace athanor::test
