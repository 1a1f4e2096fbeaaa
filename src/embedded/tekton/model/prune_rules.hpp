// SPDX-License-Identifier: Apache-2.0
// Rules by which runs that ended are deleted, as Tekton's operator has them: annotations
// operator.tekton.dev/prune.* of a namespace, on top of ConfigMap config-pruner, which has the
// fields of TektonConfig's spec.pruner (docs/tekton.md, Pruning).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "kube/text/cron.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::tekton {

// Rules of one namespace.
struct PruneRules {
  CronSchedule schedule{};
  bool pipeline_runs = true;
  bool task_runs = false;
  // Exactly one of them is set.
  std::optional<std::int64_t> keep{};
  std::optional<Duration> keep_since{};
  bool per_resource = false;  // `keep` counts for each pipeline or task
};

// The rules of a namespace, and the annotations that were left out, with the reason.
struct PruneReading {
  std::optional<PruneRules> rules{};  // nullopt: nothing is pruned here
  std::vector<std::string> problems{};
};

// Reads the rules of a namespace; `config` is the data of config-pruner.
PruneReading prune_rules(const Object& ns, const Value& config);

// Returns what is wrong with the value of a field ("schedule", "resources", "keep", "keep-since",
// "prune-per-resource", "strategy", "skip"), or empty.
std::string prune_field_problem(std::string_view field, std::string_view value);

}  // namespace athanor::tekton
