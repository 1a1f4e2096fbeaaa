// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/managers.hpp"

#include <memory>

namespace athanor::apiserver {
namespace {

FieldSet one_field(std::string_view name) {
  FieldSet set;
  set.insert(path_element::field(name));
  return set;
}

// What a write of the main object, respectively of its status, never owns.
const FieldSet& status_field() {
  static const FieldSet kSet = one_field("status");
  return kSet;
}
const FieldSet& spec_field() {
  static const FieldSet kSet = one_field("spec");
  return kSet;
}

}  // namespace

FieldManagement management_of(const Call& call, const WriteOptions& options,
                              std::string_view subresource, const std::string& api_version) {
  FieldManagement by;
  by.schema = call.resource->schema;
  by.manager = options.manager;
  by.api_version = api_version;
  by.subresource = subresource;
  by.now = call.now;
  if (subresource == "status") {
    by.reset_fields = &spec_field();
  } else if (call.resource->has_status()) {
    by.reset_fields = &status_field();
  }
  if (call.resource->storage == "events") {
    // Entries of the other group cannot be converted, and go.
    by.knows_version = [own = api_version](std::string_view version) { return version == own; };
  }
  if (call.resource->is_custom) {
    by.knows_version = [table = call.table.get(),
                        kind = call.resource->kind](std::string_view version) {
      return table->by_kind(version, kind) != nullptr || version == "autoscaling/v1";
    };
  }
  return by;
}

}  // namespace athanor::apiserver
