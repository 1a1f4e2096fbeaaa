// SPDX-License-Identifier: Apache-2.0
// What a built-in kind does beyond its schema: defaults, validation, status reset, table cells. One
// table of plain functions per resource, filled in kinds/ (docs/spec/apiserver.md 14).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/time.hpp"
#include "embedded/kinds/resource_info.hpp"
#include "embedded/kinds/status_error.hpp"
#include "embedded/kinds/user_info.hpp"
#include "embedded/store/store.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

class CrdSchemaCache;  // apiserver/crd/crd_schemas.hpp

// What the functions of a behaviour may look at. Lives for one request.
struct KindContext {
  const ResourceInfo& resource;
  std::string_view subresource{};  // "" or "status", ...
  const store::Store& store;
  const ResourceTable& table;
  std::string_view service_cluster_ip_range{};  // "10.96.0.0/16", or two of them with a comma
  const UserInfo* user = nullptr;               // null: the server itself
  Entropy& entropy;
  Instant now{};
  bool dry_run = false;
  // Texts for Warning headers may be added here.
  std::vector<std::string>* warnings = nullptr;
  CrdSchemaCache* crd_schemas = nullptr;  // may be null
};

// Any function may be null: nothing to do. Objects are of the resource's version, with kind and
// apiVersion.
struct KindBehaviour {
  // Adds defaults (14.2). Called before mutating admission and after it, on create, update and on
  // read of old data: must be idempotent and depend on the object alone, except for `allocate`
  // below.
  void (*apply_defaults)(Value& object, const KindContext& context) = nullptr;
  // Resets what a client may not set: status on create, and on a main-path update status := old
  // status is done by the server already. `prepare_update` also sees subresource writes
  // (context.subresource).
  void (*prepare_create)(Value& object, const KindContext& context) = nullptr;
  void (*prepare_update)(Value& object, const Value& old_object,
                         const KindContext& context) = nullptr;
  // Sets the server's own changes of an update, once the owner of each field is known: they are no
  // manager's. Sees subresource writes too.
  void (*finish_update)(Value& object, const Value& old_object,
                        const KindContext& context) = nullptr;
  // Checks kind-specific rules only: the server checks metadata, types and enumerations. Returns
  // all errors at once.
  std::vector<FieldError> (*validate_create)(const Value& object,
                                             const KindContext& context) = nullptr;
  std::vector<FieldError> (*validate_update)(const Value& object, const Value& old_object,
                                             const KindContext& context) = nullptr;
  // Adds texts for Warning headers about a valid object (`old_object` Null on create).
  void (*warn)(const Value& object, const Value& old_object, const KindContext& context) = nullptr;
  // Refusals that are not Invalid (403, 409), before a delete.
  StatusResult<void> (*before_delete)(const Value& object, const KindContext& context) = nullptr;
  // Takes what must be unique across objects (cluster IPs, node ports) from what the store shows.
  // Runs last before validation on create and update (`old_object` Null on create). The server runs
  // writes of a kind with `allocate` one after another.
  StatusResult<void> (*allocate)(Value& object, const Value& old_object,
                                 const KindContext& context) = nullptr;
  // Returns what is committed together with the object, all or nothing (`object` Null on delete,
  // `old_object` Null on create).
  std::vector<store::Write> (*along)(const Value& object, const Value& old_object,
                                     const KindContext& context) = nullptr;
  // Returns the cells of one table row, in the order of Appendix T.
  std::vector<Value> (*cells)(const Value& object, Instant now) = nullptr;
};

// Returns the behaviour of a built-in resource; nullptr for kinds that only have the generic one.
// Defined in kinds/.
const KindBehaviour* kind_behaviour(std::string_view group, std::string_view version,
                                    std::string_view plural);

}  // namespace athanor::apiserver
