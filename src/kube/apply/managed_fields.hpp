// SPDX-License-Identifier: Apache-2.0
// Field ownership: metadata.managedFields of every write, and server-side apply
// (docs/spec/apiserver.md 11). Pure functions over Values; the caller has defaulted, pruned and
// restored what the request may not set.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/apply/field_set.hpp"
#include "kube/schema/schema.hpp"
#include "kube/value/value.hpp"

namespace athanor {

// An object as another version of its kind shows it.
struct VersionedObject {
  Value object{};
  SchemaPtr schema = nullptr;
};

// The writer, and the type that it writes.
struct FieldManagement {
  SchemaPtr schema = nullptr;  // of the whole object, in `api_version`
  std::string_view
      manager{};  // the fieldManager parameter or manager_of_user_agent(); "" = "unknown"
  std::string_view api_version{};  // of the object: "v1", "apps/v1"
  std::string_view subresource{};  // "", "status", "scale"
  Instant now{};
  // Fields this write cannot set, neither owned nor merged: {f:status} on the main path, {f:spec}
  // for status.
  const FieldSet* reset_fields = nullptr;
  // Entries of an API version that answers false are dropped (a version a CRD no longer has).
  // Unset: all are known.
  std::function<bool(std::string_view api_version)> knows_version{};
  // The object of `api_version` in another version, where that calls fields otherwise: entries of
  // it are judged by what changes there. nullopt (or unset): fields are called the same.
  std::function<std::optional<VersionedObject>(const Value& object, std::string_view to_version)>
      in_version{};
};

// Returns the object to store for a create, update or patch (other than apply): `object` with
// metadata.managedFields. `live` is the stored object, Null for a create; `object` the new one as
// it would be stored, its own managedFields as the request sent them (absent or invalid: the live
// ones stay; `[]` or `[{}]`: reset). An object without any entry is not tracked until it is applied
// (unless it is being created). When nothing changed, the live managedFields are kept as they are
// (same node).
Value update_managed_fields(const Value& live, Value object, const FieldManagement& by);

// Returns true if two entries of the object belong to one writer, as a write of its Scale may leave
// them: the next write of any kind keeps the later one.
bool has_twin_managers(const Value& object);

// One field of a conflict, a cause of the Status: reason FieldManagerConflict.
struct ApplyConflict {
  std::string message{};  // conflict with "up" using v1
  std::string field{};    // .data.c
};
struct ApplyError {
  Error error{};  // 409 Conflict with the text of docs/spec/apiserver.md 11.2; 400 BadRequest
  std::vector<ApplyConflict> conflicts{};
};

struct ApplyOptions {
  bool force = false;
};

// Returns the object to store after a server-side apply, managedFields included, before defaulting.
// `live` is the stored object, Null when absent; `config` the applied configuration with
// apiVersion, kind, metadata.name checked by the caller. The result equals `live` (same node) when
// the apply changes nothing.
Result<Value, ApplyError> apply_configuration(const Value& live, const Value& config,
                                              const FieldManagement& by, ApplyOptions options = {});

// Returns the part of a User-Agent before the first "/", at most 128 bytes; "unknown" when empty.
std::string manager_of_user_agent(std::string_view user_agent);

}  // namespace athanor
