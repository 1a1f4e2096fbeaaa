// SPDX-License-Identifier: Apache-2.0
// Between the version a client speaks and the stored one (spec/apiserver.md 13.3, 13.6).
#pragma once

#include "embedded/apiserver/resource_info.hpp"
#include "embedded/apiserver/status_error.hpp"
#include "embedded/store/store.hpp"
#include "kube/value.hpp"

namespace athanor::apiserver {

// A stored object as `resource` shows it: converted, and for custom resources pruned and defaulted
// when the schema is younger than the object.
StatusResult<Value> to_served(const ResourceInfo& resource, const store::Stored& stored);
// The same without the revision at hand (an event's previous state).
StatusResult<Value> to_served(const ResourceInfo& resource, const Value& body,
                              store::Revision revision);
// An object of `resource` as it is stored.
StatusResult<Value> to_storage(const ResourceInfo& resource, const Value& object);

}  // namespace athanor::apiserver
