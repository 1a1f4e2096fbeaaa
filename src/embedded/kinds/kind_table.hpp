// SPDX-License-Identifier: Apache-2.0
// The rows that behaviours.cpp joins: one function per family of kinds.
#pragma once

#include <span>
#include <string_view>

#include "embedded/kinds/kind_behaviour.hpp"

namespace athanor::apiserver {

// The behaviour of one resource.
struct KindRow {
  std::string_view group{};
  std::string_view plural{};
  KindBehaviour behaviour{};
};

std::span<const KindRow> pod_rows();        // pods, podtemplates
std::span<const KindRow> workload_rows();   // deployments, replicasets, ...
std::span<const KindRow> job_rows();        // jobs, cronjobs
std::span<const KindRow> core_rows();       // namespaces, configmaps, secrets, nodes, events, ...
std::span<const KindRow> service_rows();    // services, endpoints, endpointslices
std::span<const KindRow> storage_rows();    // volumes, claims, classes, CSI
std::span<const KindRow> policy_rows();     // quotas, limits, priorities, runtime classes, budgets
std::span<const KindRow> rbac_rows();       // roles and bindings
std::span<const KindRow> network_rows();    // policies, ingresses, addresses
std::span<const KindRow> extension_rows();  // webhooks, policies, API services, flow control
std::span<const KindRow> device_rows();     // resource.k8s.io
std::span<const KindRow> autoscaling_rows();  // horizontalpodautoscalers

}  // namespace athanor::apiserver
