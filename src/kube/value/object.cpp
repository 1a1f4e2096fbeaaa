// SPDX-License-Identifier: Apache-2.0
// The parts of metadata that take more than one lookup.
#include "kube/value/object.hpp"

#include <algorithm>

namespace athanor {
namespace {

OwnerReference read_owner(const Value& reference) {
  return {.api_version = reference["apiVersion"].str(),
          .kind = reference["kind"].str(),
          .name = reference["name"].str(),
          .uid = reference["uid"].str(),
          .controller = reference["controller"].as_bool(),
          .block_owner_deletion = reference["blockOwnerDeletion"].as_bool()};
}

}  // namespace

Value OwnerReference::to_value() const {
  Value reference =
      Value::object({{"apiVersion", api_version}, {"kind", kind}, {"name", name}, {"uid", uid}});
  if (controller) {
    reference.set("controller", true);
  }
  if (block_owner_deletion) {
    reference.set("blockOwnerDeletion", true);
  }
  return reference;
}

std::optional<Instant> Object::creation_time() const {
  return parse_time(metadata()["creationTimestamp"].as_string());
}

std::optional<Instant> Object::deletion_time() const {
  return parse_time(metadata()["deletionTimestamp"].as_string());
}

std::vector<OwnerReference> Object::owners() const {
  std::vector<OwnerReference> owners;
  for (const Value& reference : metadata()["ownerReferences"].items()) {
    owners.push_back(read_owner(reference));
  }
  return owners;
}

std::optional<OwnerReference> Object::controller() const {
  for (const Value& reference : metadata()["ownerReferences"].items()) {
    if (reference["controller"].as_bool()) {
      return read_owner(reference);
    }
  }
  return std::nullopt;
}

bool Object::has_finalizer(std::string_view finalizer) const {
  return std::ranges::any_of(metadata()["finalizers"].items(), [&](const Value& item) {
    return item.is_string() && item.as_string() == finalizer;
  });
}

bool Object::owned_by(std::string_view owner_uid) const {
  return std::ranges::any_of(metadata()["ownerReferences"].items(), [&](const Value& reference) {
    return reference["uid"].is_string() && reference["uid"].as_string() == owner_uid;
  });
}

}  // namespace athanor
