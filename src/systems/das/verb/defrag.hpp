// SPDX-License-Identifier: Apache-2.0
// `athanor slices defrag`: moves of pods that empty a GPU or make room for a pod
// (docs/spec/das.md 16.5).
#pragma once

#include "runtime/view/verb.hpp"

namespace athanor::das {

// Prints the moves; with --yes it carries them out, one pod at a time: keeps the pod's new slots,
// evicts it, waits until its controller's next pod has taken them, at most 5 minutes. Stops at the
// first move that fails. Exit code 3: no moves help. Errors: neither --dry-run nor --yes, an
// eviction that is refused, a pod that does not return.
Result<int> defrag(VerbContext& context);

}  // namespace athanor::das
