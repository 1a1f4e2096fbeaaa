// SPDX-License-Identifier: Apache-2.0
#include "embedded/workloads/volumes/attributes_classes.hpp"

#include <algorithm>

#include "api/builtin.hpp"

namespace athanor::workloads {
namespace {

constexpr const char* kClassProtection = "kubernetes.io/vac-protection";

bool is_used(const View& view, std::string_view name) {
  const std::vector<Object> claims = view.list(api::kPersistentVolumeClaim);
  const std::vector<Object> volumes = view.list(api::kPersistentVolume);
  return std::any_of(
             claims.begin(), claims.end(),
             [name](const Object& claim) {
               const Value& status = claim.status();
               return claim.spec()["volumeAttributesClassName"].as_string() == name ||
                      status["currentVolumeAttributesClassName"].as_string() == name ||
                      status["modifyVolumeStatus"]["targetVolumeAttributesClassName"].as_string() ==
                          name;
             }) ||
         std::any_of(volumes.begin(), volumes.end(), [name](const Object& volume) {
           return volume.spec()["volumeAttributesClassName"].as_string() == name;
         });
}

Plan reconcile_class(const View& view, const Key& key, Instant /*now*/) {
  Plan plan;
  const auto object = view.get(kVolumeAttributesClass, key);
  if (!object || !object->deleting() || !object->has_finalizer(kClassProtection) ||
      is_used(view, key.name)) {
    return plan;
  }
  Value left = Value::list();
  for (const Value& finalizer : object->metadata()["finalizers"].items()) {
    if (finalizer.as_string() != kClassProtection) {
      left.push_back(finalizer);
    }
  }
  plan.then(
      Patch{.target = {&kVolumeAttributesClass, key},
            .merge = Value::object(
                {{"metadata", Value::object({{"finalizers", left.empty() ? Value() : left}})}}),
            .guard = {.uid = std::string(object->uid()),
                      .resource_version = std::string(object->resource_version())}});
  return plan;
}

}  // namespace

const Operator& attributes_class_protection_operator() {
  static const Kind* const kReads[] = {&kVolumeAttributesClass, &api::kPersistentVolumeClaim,
                                       &api::kPersistentVolume};
  static const Kind* const kWrites[] = {&kVolumeAttributesClass};
  static const Kind* const kSmall[] = {&api::kPersistentVolumeClaim, &api::kPersistentVolume};
  static const Operator kOperator{
      .name = "volumeattributesclass-protection-controller",
      .primary = &kVolumeAttributesClass,
      .reads = kReads,
      .writes = kWrites,
      .reconcile = &reconcile_class,
      .user = "system:serviceaccount:kube-system:volumeattributesclass-protection-controller",
      .small = kSmall};
  return kOperator;
}

}  // namespace athanor::workloads
