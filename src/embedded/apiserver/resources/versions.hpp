// SPDX-License-Identifier: Apache-2.0
// Between the version a client speaks and the stored one (docs/spec/apiserver.md 13.3, 13.6). A
// webhook that has to be asked first makes these return status::pending().
#pragma once

#include <vector>

#include "embedded/apiserver/request/conversion.hpp"
#include "embedded/kinds/resource_info.hpp"
#include "embedded/kinds/status_error.hpp"
#include "embedded/store/store.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// Checks whether to_served() gives what is stored.
bool served_as_stored(const ResourceInfo& resource, const Value& body, store::Revision revision);
// Returns a stored object as `resource` shows it: converted, and for custom resources pruned and
// defaulted when the schema is younger than the object.
StatusResult<Value> to_served(const ResourceInfo& resource, const store::Stored& stored,
                              const VersionContext& context);
// Returns the same without the revision at hand (an event's previous state).
StatusResult<Value> to_served(const ResourceInfo& resource, const Value& body,
                              store::Revision revision, const VersionContext& context);
// Returns many at once: a webhook is asked about them in one call.
StatusResult<std::vector<Value>> to_served(const ResourceInfo& resource,
                                           const std::vector<store::StoredPtr>& stored,
                                           const VersionContext& context);
// Returns what was just stored of `written`, as `resource` shows it; asks no webhook.
StatusResult<Value> served_back(const ResourceInfo& resource, const Value& written,
                                const store::Stored& stored);
// Returns an object of `resource` as it is stored; `before`: its stored form now.
StatusResult<Value> to_storage(const ResourceInfo& resource, const Value& object,
                               const VersionContext& context, const Value& before = {});

}  // namespace athanor::apiserver
