// SPDX-License-Identifier: Apache-2.0
// What scenes share: stand-ins for controllers that they leave out, and objects from text.
#pragma once

#include <string>
#include <string_view>

#include "runtime/view/operator.hpp"

namespace athanor::sim {

// One object of a scene, as YAML.
Value from_yaml(const std::string& text);

template <const Kind& kKind>
inline constexpr const Kind* kAlone[] = {&kKind};

// A controller that reads and writes one kind.
template <const Kind& kKind>
constexpr Operator stand_in(std::string_view name,
                            Plan (*reconcile)(const View& view, const Key& key, Instant now)) {
  return {.name = name,
          .primary = &kKind,
          .reads = kAlone<kKind>,
          .writes = kAlone<kKind>,
          .reconcile = reconcile};
}

// Tekton's part: a PipelineRun takes that long and fails or does not; a cancelled one ends at once.
Plan finish_run(const View& view, const Key& key, Instant now, Duration takes, bool fails);

}  // namespace athanor::sim
