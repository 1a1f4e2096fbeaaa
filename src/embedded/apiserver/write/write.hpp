// SPDX-License-Identifier: Apache-2.0
// The write stages behind decoding: system metadata, defaults, mutating admission, validation,
// validating admission, store (docs/spec/apiserver.md 3, 9). Used by every handler that writes.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "embedded/apiserver/request/call.hpp"
#include "embedded/apiserver/write/write_options.hpp"
#include "embedded/store/store.hpp"
#include "kube/schema/prune.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// Returns true for writes of this process's controllers where Options::trusts_controllers is set.
bool is_trusted(const Call& call);

// The result of a create or an update.
struct Written {
  Value object{};  // as the client's version shows it
  bool created = false;
  store::Revision revision = 0;  // of the commit; 0 when nothing was written
};

// The object to create.
struct CreateInput {
  Value object{};        // decoded and normalised
  bool tracked = false;  // managedFields are already those to store (apply)
};
// Creates the object in the call's namespace.
StatusResult<Written> create_object(Call& call, const WriteOptions& options, CreateInput input);

// How an update changes the stored object.
struct UpdateInput {
  // "", "status", "scale", "finalize": what the write may change, and how managedFields name it.
  std::string subresource{};
  // The wished object, made of the stored one; called again after a lost race. Its result need not
  // be normal.
  std::function<StatusResult<Value>(const Value& live)> transform{};
  std::string_view options_kind = "UpdateOptions";
  bool normal = false;      // transform's result is normalised already
  bool from_patch = false;  // a wrong uid is a field error
  bool tracked = false;     // transform sets managedFields itself (apply)
  // The metadata as it was merged, with what is empty: a write that ends the object answers with
  // it.
  std::function<Value()> merged_metadata{};
  // What admission is shown instead of the object (a Scale), and the object with what admission
  // made of that; both or neither.
  std::function<StatusResult<Value>(const Value& object)> shown{};
  std::function<StatusResult<Value>(const Value& object, const Value& shown)> taken{};
  bool admitted = false;  // admission has seen what was posted (admit_posted)
};
// Updates the object that the call names. NotFound when it is absent.
StatusResult<Written> update_object(Call& call, const WriteOptions& options,
                                    const UpdateInput& input);

// Runs the mutating admission steps, for handlers with writes of their own.
StatusResult<void> run_mutating(Call& call, AdmissionAttributes& request);
// Runs the validating ones.
StatusResult<void> run_validating(Call& call, AdmissionAttributes& request);
// Admits what is posted to a subresource and never stored (an Eviction, a Binding); changes
// `object` as webhooks want it.
StatusResult<void> admit_posted(Call& call, std::string_view subresource, Value& object,
                                const WriteOptions& options);
// Reports all errors of an object that is about to be stored; `old_object` Null on create.
StatusResult<void> validate_object(Call& call, const Value& object, const Value& old_object,
                                   std::string_view subresource, bool dry_run);
// Returns errors that an update of a custom object has under any type: of its sets and keyed lists,
// the objects in it and its rules, but neither of metadata nor of the rest of the schema.
std::vector<FieldError> errors_of_any_type(Call& call, const Value& object,
                                           const Value& old_object);
// Adds the defaults of a built-in kind (custom ones come with normalisation).
void add_defaults(Call& call, Value& object, bool dry_run);

// Returns "2026-11-20T10:20:35Z" of the call's instant.
Value now_value(const Call& call);
// Returns the revision of an object's metadata; 0 when absent.
store::Revision revision_of(const Value& object);

}  // namespace athanor::apiserver
