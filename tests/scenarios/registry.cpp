// SPDX-License-Identifier: Apache-2.0
// Every operator and webhook of every system, and the loops that make pods, by name.
#include "scenarios/registry.hpp"

#include "embedded/workloads/jobs/job.hpp"
#include "embedded/workloads/node_lifecycle.hpp"
#include "embedded/workloads/sets/daemon_set.hpp"
#include "embedded/workloads/sets/replica_set.hpp"
#include "embedded/workloads/sets/stateful_set.hpp"
#include "product/hooked.hpp"
#include "product/list.hpp"

namespace athanor::test {

const Operator* find_operator(std::string_view name) {
  // Scheduler, kubelet and nodes are those of a lab: with what the systems add to them.
  for (const Operator* op : hooked_operators()) {
    if (op->name == name) {
      return op;
    }
  }
  for (const System* system : all_systems()) {
    for (const Operator* op : system->operators) {
      if (op->name == name) {
        return op;
      }
    }
  }
  for (const Operator* op :
       {&workloads::replica_set_operator(), &workloads::replication_controller_operator(),
        &workloads::stateful_set_operator(), &workloads::daemon_set_operator(),
        &workloads::job_operator(), &workloads::node_lifecycle_operator()}) {
    if (op->name == name) {
      return op;
    }
  }
  return nullptr;
}

const Webhook* find_webhook(std::string_view name) {
  for (const System* system : all_systems()) {
    for (const Webhook& webhook : system->webhooks) {
      if (webhook.name == name) {
        return &webhook;
      }
    }
  }
  return nullptr;
}

}  // namespace athanor::test
