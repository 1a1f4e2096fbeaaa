// SPDX-License-Identifier: Apache-2.0
// The provisioner of emulated nodes: a volume is a name, its contents lie where the claim's do.
#include <fmt/core.h>

#include "api/builtin.hpp"
#include "embedded/workloads/volumes/volumes.hpp"

namespace athanor::workloads {
namespace {

constexpr const char* kProvisionedBy = "pv.kubernetes.io/provisioned-by";

Value volume_for(const Object& claim, const std::string& name, const std::string& policy) {
  const Value path = fmt::format("/athanor/volumes/{}/{}", claim.ns(), claim.name());
  return Value::object(
      {{"apiVersion", "v1"},
       {"kind", "PersistentVolume"},
       {"metadata",
        Value::object({{"name", name},
                       {"annotations", Value::object({{kProvisionedBy, kEmulatedProvisioner}})}})},
       {"spec",
        Value::object(
            {{"capacity",
              Value::object({{"storage", claim.spec()["resources"]["requests"]["storage"]}})},
             {"accessModes", claim.spec()["accessModes"]},
             {"claimRef", reference_to(claim)},
             {"persistentVolumeReclaimPolicy", policy.empty() ? "Delete" : policy},
             {"storageClassName", claim.spec()["storageClassName"]},
             {"volumeMode", volume_mode(claim.spec())},
             {"hostPath", Value::object({{"path", path}, {"type", ""}})}})}});
}

Plan provision_volume(const View& view, const Key& key, Instant /*now*/) {
  Plan plan;
  const auto claim = view.get(api::kPersistentVolumeClaim, key);
  if (!claim || claim->deleting() || claim->annotation(kProvisioner) != kEmulatedProvisioner ||
      !claim->spec()["volumeName"].as_string().empty()) {
    return plan;
  }
  const std::string name = fmt::format("pvc-{}", claim->uid());
  const auto storage = view.get(api::kStorageClass, {"", claim->spec()["storageClassName"].str()});
  if (!storage || view.get(api::kPersistentVolume, {"", name})) {
    return plan;
  }
  plan.then(Create{.target = {&api::kPersistentVolume, {"", name}},
                   .object = volume_for(*claim, name, storage->body()["reclaimPolicy"].str())});
  plan.then(Emit{.about = {&api::kPersistentVolumeClaim, key},
                 .about_uid = std::string(claim->uid()),
                 .reason = "ProvisioningSucceeded",
                 .note = fmt::format("Successfully provisioned volume {}", name)});
  return plan;
}

Plan emulate_volume(const View& view, const Key& key, Instant /*now*/) {
  Plan plan;
  const auto volume = view.get(api::kPersistentVolume, key);
  if (volume && !volume->deleting() && volume->annotation(kProvisionedBy) == kEmulatedProvisioner &&
      volume->status()["phase"].as_string() == "Released" &&
      volume->spec()["persistentVolumeReclaimPolicy"].as_string() == "Delete") {
    plan.then(Delete{.target = {&api::kPersistentVolume, key},
                     .guard = {.uid = std::string(volume->uid())}});
  }
  return plan;
}

constexpr const char* kProvisionerUser = "system:serviceaccount:kube-system:emulated-provisioner";

}  // namespace

const Operator& provisioner_operator() {
  static const Kind* const kReads[] = {&api::kPersistentVolumeClaim, &api::kPersistentVolume,
                                       &api::kStorageClass};
  static const Kind* const kWrites[] = {&api::kPersistentVolume, &api::kEvent};
  static const Access kAccess[] = {{&api::kPersistentVolume, "create"},
                                   {&api::kEvent, "create patch"}};
  static const Operator kOperator{.name = "emulated-provisioner",
                                  .primary = &api::kPersistentVolumeClaim,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = provision_volume,
                                  .user = kProvisionerUser,
                                  .access = kAccess};
  return kOperator;
}

const Operator& reclaimer_operator() {
  static const Kind* const kKinds[] = {&api::kPersistentVolume};
  static const Access kAccess[] = {{&api::kPersistentVolume, "delete"}};
  static const Operator kOperator{.name = "emulated-reclaimer",
                                  .primary = &api::kPersistentVolume,
                                  .reads = kKinds,
                                  .writes = kKinds,
                                  .reconcile = emulate_volume,
                                  .user = kProvisionerUser,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::workloads
