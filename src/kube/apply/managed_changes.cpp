// SPDX-License-Identifier: Apache-2.0
#include "kube/apply/managed_changes.hpp"

#include <algorithm>
#include <optional>

#include "kube/apply/managed_entry.hpp"

namespace athanor::managed {

const FieldChanges& VersionedChanges::in(std::string_view api_version) {
  if (by_.in_version == nullptr || api_version == by_.api_version) {
    return changes_;
  }
  const auto made =
      std::ranges::find(others_, api_version, [](const auto& one) { return one.first; });
  if (made != others_.end()) {
    return made->second;
  }
  const std::optional<VersionedObject> now = by_.in_version(object_, api_version);
  if (!now) {
    return changes_;
  }
  Value before;
  if (!live_.is_null()) {
    if (std::optional<VersionedObject> old = by_.in_version(live_, api_version)) {
      before = std::move(old->object);
    }
  }
  FieldChanges changes = compare_fields(before, now->object, now->schema);
  leave_out(changes, by_.reset_fields);
  return others_.emplace_back(api_version, std::move(changes)).second;
}

}  // namespace athanor::managed
