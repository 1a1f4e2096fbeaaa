// SPDX-License-Identifier: Apache-2.0
// One volume: its phase, its end, its protection.
#include "embedded/workloads/volumes/volumes.hpp"

#include <string>

#include "api/builtin.hpp"
#include "runtime/view/live.hpp"

namespace athanor::workloads {
namespace {

constexpr const char* kVolumeProtection = "kubernetes.io/pv-protection";

// Whether the claim a volume is bound to is still there; nullopt: not known yet.
std::optional<bool> claim_stays(const View& view, const Object& volume, Instant now) {
  const Value& reference = volume.spec()["claimRef"];
  const Key key{reference["namespace"].str(), reference["name"].str()};
  const auto claim = view.get(api::kPersistentVolumeClaim, key);
  if (claim && claim->uid() == reference["uid"].as_string()) {
    return true;
  }
  const Live live = read_live(view, api::kPersistentVolumeClaim, key, now);
  if (!live.known) {
    return std::nullopt;
  }
  return !live.objects.empty() && live.objects.front().uid() == reference["uid"].as_string();
}

void set_phase(const Object& volume, const char* phase, Instant now, Plan& plan) {
  if (volume.status()["phase"].as_string() != phase) {
    plan.then(Status{
        .target = {&api::kPersistentVolume, volume.key()},
        .status = Value::object({{"phase", phase}, {"lastPhaseTransitionTime", format_time(now)}}),
        .guard = {.uid = std::string(volume.uid())}});
  }
}

Plan reconcile_volume(const View& view, const Key& key, Instant now) {
  Plan plan;
  const auto volume = view.get(api::kPersistentVolume, key);
  if (!volume) {
    return plan;
  }
  const Value& reference = volume->spec()["claimRef"];
  if (!reference.is_object() || reference["uid"].as_string().empty()) {
    set_phase(*volume, "Available", now, plan);
    return plan;
  }
  const auto stays = claim_stays(view, *volume, now);
  if (!stays) {
    return plan;  // asked; runs again with the answer
  }
  if (*stays) {
    set_phase(*volume, "Bound", now, plan);
    return plan;
  }
  set_phase(*volume, "Released", now, plan);
  return plan;
}

Plan protect_volume(const View& view, const Key& key, Instant /*now*/) {
  Plan plan;
  const auto volume = view.get(api::kPersistentVolume, key);
  if (!volume || !volume->deleting() || !volume->has_finalizer(kVolumeProtection) ||
      volume->status()["phase"].as_string() == "Bound") {
    return plan;
  }
  Value left = Value::list();
  for (const Value& finalizer : volume->metadata()["finalizers"].items()) {
    if (finalizer.as_string() != kVolumeProtection) {
      left.push_back(finalizer);
    }
  }
  plan.then(
      Patch{.target = {&api::kPersistentVolume, key},
            .merge = Value::object(
                {{"metadata", Value::object({{"finalizers", left.empty() ? Value() : left}})}}),
            .guard = {.uid = std::string(volume->uid()),
                      .resource_version = std::string(volume->resource_version())}});
  return plan;
}

}  // namespace

const Operator& volume_operator() {
  static const Kind* const kReads[] = {&api::kPersistentVolume, &api::kPersistentVolumeClaim};
  static const Kind* const kWrites[] = {&api::kPersistentVolume};
  static const Operator kOperator{
      .name = "persistentvolume-reclaim-controller",
      .primary = &api::kPersistentVolume,
      .reads = kReads,
      .writes = kWrites,
      .reconcile = reconcile_volume,
      .user = "system:serviceaccount:kube-system:persistent-volume-binder"};
  return kOperator;
}

const Operator& volume_protection_operator() {
  static const Kind* const kKinds[] = {&api::kPersistentVolume};
  static const Operator kOperator{
      .name = "persistentvolume-protection-controller",
      .primary = &api::kPersistentVolume,
      .reads = kKinds,
      .writes = kKinds,
      .reconcile = protect_volume,
      .user = "system:serviceaccount:kube-system:pv-protection-controller"};
  return kOperator;
}

}  // namespace athanor::workloads
