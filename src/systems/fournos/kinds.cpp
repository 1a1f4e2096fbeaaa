// SPDX-License-Identifier: Apache-2.0
// Waiting for kinds of Kueue and Tekton that the cluster does not have.
#include <fmt/format.h>

#include "api/kueue.hpp"
#include "api/tekton.hpp"
#include "runtime/view/failures.hpp"
#include "systems/fournos/messages.hpp"
#include "systems/fournos/phases.hpp"
#include "systems/fournos/status_write.hpp"

namespace athanor::fournos {
namespace {

constexpr int kNoSuchKind = 404;

// "workloads.kueue.x-k8s.io, pipelineruns.tekton.dev"; empty: the job finds all that it needs.
std::string missing_kinds(const Context& context) {
  std::string names;
  const auto require = [&](const Kind& kind) {
    const auto error =
        unreadable(context.view, kind, kind.namespaced ? context.job.ns() : std::string());
    if (error && error->code == kNoSuchKind) {
      names += fmt::format("{}{}.{}", names.empty() ? "" : ", ", kind.plural, kind.group);
    }
  };
  const Job& job = context.job;
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

std::optional<Plan> await_kinds(const Context& context) {
  const std::string missing = missing_kinds(context);
  if (missing.empty()) {
    return std::nullopt;
  }
  const std::string message = fmt::format(text::kAwaitingKinds, missing);
  Plan plan;
  if (message != context.job.status().message) {
    StatusWrite(context).message(message).into(plan);
  }
  return plan;
}

}  // namespace athanor::fournos
