// SPDX-License-Identifier: Apache-2.0
// A stock scheduler sees no claims and does not retry a waiting pod when one is deleted
// (docs/spec/das.md 7.3 X8). So the node is touched.
#pragma once

#include "runtime/view/operator.hpp"

namespace athanor::das {

// Keeps a digest of the node's claims in an annotation of the node while pods wait for slices.
const Operator& wake_operator();

}  // namespace athanor::das
