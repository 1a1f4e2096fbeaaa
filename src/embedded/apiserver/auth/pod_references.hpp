// SPDX-License-Identifier: Apache-2.0
// What a pod refers to by name in its namespace: what its kubelet has to read for it.
#pragma once

#include <string_view>

#include "embedded/store/store.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// Return true if the pod refers to the object `name` of that kind. A mirror pod refers to nothing:
// its kubelet made it, and could name any object in it.
bool pod_reads_secret(const store::Store& store, const Value& pod, std::string_view name);
bool pod_reads_config_map(const store::Store& store, const Value& pod, std::string_view name);
bool pod_mounts_claim(const store::Store& store, const Value& pod, std::string_view name);
bool pod_uses_resource_claim(const store::Store& store, const Value& pod, std::string_view name);
bool pod_runs_as(const store::Store& store, const Value& pod, std::string_view name);

}  // namespace athanor::apiserver
