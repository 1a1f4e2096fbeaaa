// SPDX-License-Identifier: Apache-2.0
// Waiting for kinds of Kueue and Tekton that the cluster does not have.
#include <fmt/format.h>

#include "api/kueue.hpp"
#include "api/tekton.hpp"
#include "runtime/view/failures.hpp"
#include "systems/fournos/messages.hpp"
#include "systems/fournos/phase.hpp"
#include "systems/fournos/phases.hpp"

namespace athanor::fournos {
namespace {

constexpr int kNoSuchKind = 404;

// "workloads.kueue.x-k8s.io, pipelineruns.tekton.dev"; empty: the job finds all that it needs.
std::string missing_kinds(const Tick& tick) {
  std::string names;
  const auto require = [&](const Kind& kind) {
    const auto error = unreadable(tick.view, kind, kind.namespaced ? tick.job.ns() : std::string());
    if (error && error->code == kNoSuchKind) {
      names += fmt::format("{}{}.{}", names.empty() ? "" : ", ", kind.plural, kind.group);
    }
  };
  const Job& job = tick.job;
  if (!job.clusterless) {
    require(api::kueue::kWorkload);
    if (!job.spec().cluster.empty()) {
      require(api::kueue::kResourceFlavor);
    }
    if (job.spec().hardware && !job.spec().hardware->gpu_type.empty()) {
      require(api::kueue::kClusterQueue);
    }
    if (!job.spec().priority.empty()) {
      require(api::kueue::kWorkloadPriorityClass);
    }
  }
  if (!job.lock_only) {
    require(api::kPipeline);
    require(api::kPipelineRun);
  }
  return names;
}

}  // namespace

std::optional<Plan> await_kinds(const Tick& tick) {
  const std::string missing = missing_kinds(tick);
  if (missing.empty()) {
    return std::nullopt;
  }
  const std::string message = fmt::format(text::kAwaitingKinds, missing);
  Plan plan;
  if (message != tick.job.status().message) {
    StatusWrite(tick).message(message).into(plan);
  }
  return plan;
}

}  // namespace athanor::fournos
