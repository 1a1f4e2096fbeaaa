// SPDX-License-Identifier: Apache-2.0
// The controllers of Fournos (docs/spec/fournos.md). Settings come from view.config("fournos"), see
// settings.hpp.
#pragma once

#include <span>
#include <string_view>

#include "runtime/view/operator.hpp"
#include "runtime/view/view.hpp"
#include "systems/fournos/settings.hpp"

namespace athanor::fournos {

// Handles a FournosJob from its Workload and its PipelineRun to its end.
const Operator& fournosjob_operator();

// Collects garbage, one operator a kind of child (R14.5): deletes a child whose FournosJob is gone,
// or is another one of the same name, once it is older than FOURNOS_GC_INTERVAL_SEC; deletes the
// Workload of a finished job at once.
std::span<const Operator* const> fournos_gc_operators();

// Returns the operators of jobs in other namespaces with label fournos.dev/queue-access=true, and
// of the LocalQueue that such a namespace needs: every lab serves these. On a cluster, an operator
// serves one namespace.
std::span<const Operator* const> labelled_operators();
inline constexpr std::string_view kQueueAccessLabel = "fournos.dev/queue-access";
// Returns true for a namespace with the label whose jobs no other operator serves.
bool is_labelled_elsewhere(const View& view, const Settings& settings, std::string_view ns);
// Returns the garbage collectors of those namespaces.
std::span<const Operator* const> labelled_gc_operators();

// Returns all of them that serve one namespace.
std::span<const Operator* const> fournos_operators();

}  // namespace athanor::fournos
