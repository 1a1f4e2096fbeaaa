// SPDX-License-Identifier: Apache-2.0
// The PodsReady condition of our Workloads (docs/spec/kueue.md 6.2, 8.5). Written whenever it is
// missing, not once: a Workload from before an upgrade gets it as well.
#include "api/kueue.hpp"
#include "kube/value/condition.hpp"
#include "systems/fournos/messages.hpp"
#include "systems/fournos/phases.hpp"

namespace athanor::fournos {

void mark_pods_ready(const Context& context, Plan& plan) {
  if (context.job.clusterless) {
    return;
  }
  const Child workload = workload_of(context);
  Value conditions = workload.object.status()["conditions"];
  if (!workload.ours() || workload.object.deleting() ||
      !condition_is(conditions, "Admitted", "True") ||
      condition_is(conditions, "Evicted", "True") ||
      condition_is(conditions, name::kPodsReady, "True")) {
    return;
  }
  set_condition(conditions,
                {.type = std::string(name::kPodsReady),
                 .status = "True",
                 .reason = "Started",
                 .message = "All pods reached readiness and the workload is running",
                 .observed_generation = workload.object.generation()},
                context.now);
  // The list is replaced whole: only over the version that it was made from.
  plan.then(Status{.target = workload.ref,
                   .status = Value::object({{"conditions", std::move(conditions)}}),
                   .guard = {.uid = std::string(workload.object.uid()),
                             .resource_version = std::string(workload.object.resource_version())}});
}

}  // namespace athanor::fournos
