// SPDX-License-Identifier: Apache-2.0
// What a write changes, in the words of the versions that entries of managedFields have. Internal
// to managed_fields.cpp and server_side_apply.cpp.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/apply/managed_fields.hpp"
#include "kube/apply/typed_fields.hpp"

namespace athanor::managed {

// Lives for one write; `live`, `object` and `by` outlive it.
class VersionedChanges {
 public:
  // Requires `changes` in the version of the request, without what the write cannot set.
  VersionedChanges(const Value& live, const Value& object, const FieldChanges& changes,
                   const FieldManagement& by)
      : live_(live), object_(object), changes_(changes), by_(by) {}

  // Returns the changes in that version; valid until the next call.
  const FieldChanges& in(std::string_view api_version);

 private:
  const Value& live_;
  const Value& object_;
  const FieldChanges& changes_;
  const FieldManagement& by_;
  std::vector<std::pair<std::string, FieldChanges>> others_{};
};

}  // namespace athanor::managed
