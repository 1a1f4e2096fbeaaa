// SPDX-License-Identifier: Apache-2.0
// What a pod refers to by name in its namespace: what its kubelet has to read for it.
#pragma once

#include <string_view>

#include "embedded/store/store.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// Returns true if the pod refers to the Secret `name`. Here and below a mirror pod refers to
// nothing: its kubelet made it, and could name any object in it.
bool pod_reads_secret(const store::Store& store, const Value& pod, std::string_view name);
// Returns true if its environment or volumes name the ConfigMap.
bool pod_reads_config_map(const store::Store& store, const Value& pod, std::string_view name);
// Returns true if it mounts the PersistentVolumeClaim.
bool pod_mounts_claim(const store::Store& store, const Value& pod, std::string_view name);
// Returns true if its spec or status names the ResourceClaim.
bool pod_uses_resource_claim(const store::Store& store, const Value& pod, std::string_view name);
// Returns true if it runs as the ServiceAccount.
bool pod_runs_as(const store::Store& store, const Value& pod, std::string_view name);

}  // namespace athanor::apiserver
