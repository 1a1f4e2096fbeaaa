// SPDX-License-Identifier: Apache-2.0
// Secrets of an engine-dialect run: checked, copied into the job's namespace, dropped at the end
// (6.2, 9.2).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/view/plan.hpp"
#include "systems/fournos/desired.hpp"
#include "systems/fournos/job.hpp"

namespace athanor::fournos {

// Reason of the condition when a reference is refused.
inline constexpr std::string_view kBadSecretRef = "SecretRefNotFound";
// R6.2: the text for the first reference that names no synced Secret; empty when all do.
struct RefsChecked {
  bool known = true;  // false: asked past the caches, no answer yet
  std::string bad{};
};
// Checks the Secrets that spec.secretRefs names.
RefsChecked check_secret_refs(const Context& context);

// Secret copies of a run: steps to make them, and mounts for the PipelineRun.
struct SecretsReady {
  Plan steps{};
  std::vector<SecretMount> mounts{};
  bool waiting = false;   // for an answer, or a copy of an earlier job has to go first
  std::string failure{};  // the job fails with this text ...
  std::string reason{};   // ... and this reason of PipelineRunReady
};
// Copies Secrets. Seed jobs name theirs themselves; a copy is made only where Hearth alone has the
// kubeconfig.
SecretsReady copy_secrets(const Context& context);

// Deletes the copies of a job that ended, which hold credentials, once the grace period is over:
// until then a run's last pods, and people who look into a failure, still find them.
Plan expire_secrets(const Context& context);

}  // namespace athanor::fournos
