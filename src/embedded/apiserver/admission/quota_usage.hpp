// SPDX-License-Identifier: Apache-2.0
// What an object costs in terms of resource quotas, and which quotas it concerns
// (docs/spec/apiserver.md 15.1).
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "embedded/apiserver/admission/pod_amounts.hpp"
#include "embedded/store/store.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// Returns "count/deployments.apps", "pods", "requests.cpu", ... of one object.
Amounts quota_usage(std::string_view group, std::string_view plural, const Value& object);

// Checks whether the quota's scopes admit the object (scopes choose among pods, one among claims).
bool in_quota_scope(const Value& quota, std::string_view group, std::string_view plural,
                    const Value& object);

// Returns the use of `hard` by all objects of the quota's namespace.
Amounts namespace_usage(const store::Store& store, const Value& quota, const Value& hard);

// Returns {"pods": "3"} of the names in `hard`, zero where nothing is used.
Value used_value(const Amounts& used, const Value& hard);

// Returns the limited names that every container must state: "requests.cpu for: c"; nothing where
// the pod states resources itself.
std::string missing_amounts(const Value& pod_spec, const Value& hard);

}  // namespace athanor::apiserver
