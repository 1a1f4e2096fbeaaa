// SPDX-License-Identifier: Apache-2.0
// Steps around volumes and claims (docs/spec/apiserver.md 15.1).
#include <algorithm>

#include "embedded/apiserver/admission/steps.hpp"
#include "kube/text/quantity.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kClaimFinalizer = "kubernetes.io/pvc-protection";
constexpr std::string_view kVolumeFinalizer = "kubernetes.io/pv-protection";
constexpr std::string_view kAttributesFinalizer = "kubernetes.io/vac-protection";
constexpr std::string_view kDefaultClass = "storageclass.kubernetes.io/is-default-class";
constexpr std::string_view kClasses = "storageclasses.storage.k8s.io";

void add_finalizer(Value& object, std::string_view finalizer) {
  const auto held = object["metadata"]["finalizers"].items();
  const bool present = std::any_of(
      held.begin(), held.end(), [&](const Value& item) { return item.as_string() == finalizer; });
  if (!present) {
    object.member("metadata").member("finalizers").push_back(finalizer);
  }
}

StatusResult<void> protect(AdmissionAttributes& request, const AdmissionContext& /*context*/) {
  if (creates(request, "", "persistentvolumeclaims")) {
    add_finalizer(request.object, kClaimFinalizer);
  } else if (creates(request, "", "persistentvolumes")) {
    add_finalizer(request.object, kVolumeFinalizer);
  } else if (creates(request, "storage.k8s.io", "volumeattributesclasses")) {
    add_finalizer(request.object, kAttributesFinalizer);
  }
  return {};
}

// The newest of the classes marked as default gives its name to claims without one. An empty name
// says: no class.
StatusResult<void> choose_storage_class(AdmissionAttributes& request,
                                        const AdmissionContext& context) {
  if (!creates(request, "", "persistentvolumeclaims") ||
      !request.object["spec"]["storageClassName"].is_null()) {
    return {};
  }
  const auto page = context.store.list(kClasses, {});
  if (!page.ok()) {
    return {};
  }
  Value chosen;
  for (const store::StoredPtr& stored : page->items) {
    const Value& metadata = stored->body["metadata"];
    if (metadata["annotations"][kDefaultClass].as_string() == "true" &&
        (chosen.is_null() ||
         metadata["creationTimestamp"].as_string() > chosen["creationTimestamp"].as_string())) {
      chosen = metadata;
    }
  }
  if (!chosen.is_null()) {
    request.object.member("spec").set("storageClassName", chosen["name"]);
  }
  return {};
}

StatusResult<void> check_growth(AdmissionAttributes& request, const AdmissionContext& context) {
  if (request.operation != Operation::Update ||
      !is_main_write(request, "", "persistentvolumeclaims")) {
    return {};
  }
  const Value::Path path = {"spec", "resources", "requests", "storage"};
  const auto wanted = Quantity::parse(request.object.at(path));
  const auto before = Quantity::parse(request.old_object.at(path));
  if (!wanted || !before || *wanted <= *before) {
    return {};
  }
  const std::string name = request.object["spec"]["storageClassName"].str();
  const store::StoredPtr found = context.store.get(kClasses, {"", name});
  if (found == nullptr || !found->body["allowVolumeExpansion"].as_bool()) {
    return refuse(request,
                  "only dynamically provisioned pvc can be resized and the storageclass that "
                  "provisions the pvc must support resize");
  }
  return {};
}

}  // namespace

AdmissionStep storage_protection_step() {
  return {.name = "StorageObjectInUseProtection", .mutate = &protect, .validate = {}};
}

AdmissionStep default_storage_class_step() {
  return {.name = "DefaultStorageClass", .mutate = &choose_storage_class, .validate = {}};
}

AdmissionStep claim_resize_step() {
  return {.name = "PersistentVolumeClaimResize", .mutate = {}, .validate = &check_growth};
}

}  // namespace athanor::apiserver
