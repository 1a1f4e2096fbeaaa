// SPDX-License-Identifier: Apache-2.0
// Deleting one object (docs/spec/apiserver.md 10).
#pragma once

#include "embedded/apiserver/request/call.hpp"
#include "embedded/apiserver/write/delete_options.hpp"
#include "embedded/store/store.hpp"

namespace athanor::apiserver {

// What a delete did.
struct Deleted {
  Value object{};  // the last state, or the one that waits for its finalizers
  bool removed = false;
  store::Revision revision = 0;  // of the commit; 0 when nothing was written
};

// Deletes the object, or marks it as deleted while it has finalizers or a grace period. NotFound,
// Conflict (preconditions), and the refusals of admission.
StatusResult<Deleted> delete_object(Call& call, const Key& key, const DeleteOptions& options);
// Warns that jobs leave their pods behind by default.
void warn_of_orphans(Call& call, const DeleteOptions& options);
// Makes the answer of DELETE: the object, or a Status where the kind has it so.
Response deleted_response(Call& call, const DeleteOptions& options, Deleted deleted);

}  // namespace athanor::apiserver
