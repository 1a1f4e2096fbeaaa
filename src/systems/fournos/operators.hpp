// SPDX-License-Identifier: Apache-2.0
// The controllers of Fournos (docs/spec/fournos.md). Settings come from view.config("fournos"), see
// settings.hpp.
#pragma once

#include <span>

#include "runtime/view/operator.hpp"

namespace athanor::fournos {

// From a FournosJob to its Workload, its PipelineRun and its end.
const Operator& fournosjob_operator();

// Garbage collection, one operator a kind of child (R14.5): a child whose FournosJob is gone, or is
// another one of the same name, is deleted once it is older than FOURNOS_GC_INTERVAL_SEC;
// the Workload of a finished job goes at once.
std::span<const Operator* const> fournos_gc_operators();
// The one of them that looks after a kind: Workload, PipelineRun, Job or Secret.
const Operator& fournos_gc_operator(const Kind& kind);

// All of them.
std::span<const Operator* const> fournos_operators();

}  // namespace athanor::fournos
