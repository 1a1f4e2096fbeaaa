// SPDX-License-Identifier: Apache-2.0
// One claim: bound, waiting, or lost; and its protection while it is used.
#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "api/builtin.hpp"
#include "embedded/workloads/controlled_pods.hpp"
#include "embedded/workloads/volumes/volumes.hpp"
#include "kube/names/selector.hpp"
#include "kube/text/quantity.hpp"

namespace athanor::workloads {
namespace {

constexpr std::string_view kIndex = "claims";  // pods by the claims they mount
constexpr const char* kBindCompleted = "pv.kubernetes.io/bind-completed";
constexpr const char* kBoundByController = "pv.kubernetes.io/bound-by-controller";
constexpr const char* kBetaProvisioner = "volume.beta.kubernetes.io/storage-provisioner";
constexpr const char* kSelectedNode = "volume.kubernetes.io/selected-node";
constexpr const char* kClaimProtection = "kubernetes.io/pvc-protection";

std::vector<std::string> claims_of(const Object& pod) {
  std::vector<std::string> claims;
  for (const Value& volume : pod.spec()["volumes"].items()) {
    if (const Value& claim = volume["persistentVolumeClaim"]; claim.is_object()) {
      claims.push_back(claim["claimName"].str());
    } else if (volume.contains("ephemeral")) {
      claims.push_back(fmt::format("{}-{}", pod.name(), volume["name"].as_string()));
    }
  }
  return claims;
}

std::vector<Object> pods_with(const View& view, const Key& claim) {
  return view.list(api::kPod,
                   {.ns = claim.ns, .index = std::string(kIndex), .index_value = claim.name});
}

bool holds_all(const Value& offered, const Value& wanted) {
  return std::ranges::all_of(wanted.items(), [&](const Value& mode) {
    return std::ranges::find(offered.items(), mode) != offered.items().end();
  });
}

}  // namespace

std::string volume_mode(const Value& spec) {
  const std::string mode = spec["volumeMode"].str();
  return mode.empty() ? "Filesystem" : mode;
}

Value reference_to(const Object& claim) {
  return Value::object({{"kind", "PersistentVolumeClaim"},
                        {"namespace", claim.ns()},
                        {"name", claim.name()},
                        {"uid", claim.uid()},
                        {"apiVersion", "v1"},
                        {"resourceVersion", claim.resource_version()}});
}

namespace {

class ClaimRun {
 public:
  ClaimRun(const View& view, const Object& claim) : view_(view), claim_(claim) {}

  Plan run() {
    const std::string name = claim_.spec()["volumeName"].str();
    if (claim_.annotation(kBindCompleted) == "yes") {
      keep(name);
    } else if (!name.empty()) {
      bind_named(name);
    } else if (const auto volume = find_volume(); volume && !waits_for_place()) {
      bind(*volume);
    } else {
      provision();
    }
    return std::move(plan_);
  }

 private:
  void emit(const char* type, const char* reason, std::string note) {
    plan_.then(Emit{.about = {&api::kPersistentVolumeClaim, claim_.key()},
                    .about_uid = std::string(claim_.uid()),
                    .type = type,
                    .reason = reason,
                    .note = std::move(note)});
  }

  void set_status(Value status) {
    plan_.then(Status{.target = {&api::kPersistentVolumeClaim, claim_.key()},
                      .status = std::move(status),
                      .guard = {.uid = std::string(claim_.uid())}});
  }

  [[nodiscard]] bool is_mine(const Value& reference) const {
    return reference["name"].as_string() == claim_.name() &&
           reference["namespace"].as_string() == claim_.ns() &&
           (reference["uid"].as_string().empty() || reference["uid"].as_string() == claim_.uid());
  }

  // A bound claim whose volume is gone, or belongs to another claim, is lost.
  void keep(const std::string& name) {
    const auto volume = view_.get(api::kPersistentVolume, {"", name});
    if (volume && is_mine(volume->spec()["claimRef"])) {
      set_status(bound_status(*volume));
      return;
    }
    if (claim_.status()["phase"].as_string() == "Lost" || claim_.deleting()) {
      return;
    }
    set_status(Value::object({{"phase", "Lost"}, {"accessModes", Value()}, {"capacity", Value()}}));
    emit("Warning", "ClaimLost",
         volume ? "Bound claim's PersistentVolume is bound to another claim"
                : "Bound claim has lost its PersistentVolume. Data on the volume is lost!");
  }

  void bind_named(const std::string& name) {
    const auto volume = view_.get(api::kPersistentVolume, {"", name});
    if (!volume) {
      return;  // it may come
    }
    const Value& reference = volume->spec()["claimRef"];
    if (reference.is_object() && !is_mine(reference)) {
      emit("Warning", "FailedBinding",
           fmt::format("volume \"{}\" already bound to a different claim.", name));
      return;
    }
    bind(*volume);
  }

  // Volumes of a class that waits are given out once a node is known.
  [[nodiscard]] bool waits_for_place() {
    const auto storage =
        view_.get(api::kStorageClass, {"", claim_.spec()["storageClassName"].str()});
    return storage && storage->body()["volumeBindingMode"].as_string() == "WaitForFirstConsumer" &&
           !has_place();
  }

  [[nodiscard]] std::optional<Object> find_volume() const {
    const Value& spec = claim_.spec();
    const auto wanted = Quantity::parse(spec["resources"]["requests"]["storage"]);
    const auto selector = LabelSelector::from_value(spec["selector"]);
    std::optional<Object> best;
    std::optional<Quantity> best_size;
    for (const Object& volume : view_.list(api::kPersistentVolume)) {
      const Value& offer = volume.spec();
      if (offer["claimRef"].is_object()) {
        if (is_mine(offer["claimRef"])) {
          return volume;
        }
        continue;
      }
      const auto size = Quantity::parse(offer["capacity"]["storage"]);
      const bool fits =
          !volume.deleting() &&
          offer["storageClassName"].as_string() == spec["storageClassName"].as_string() &&
          volume_mode(offer) == volume_mode(spec) &&
          holds_all(offer["accessModes"], spec["accessModes"]) && size &&
          (!wanted || *size >= *wanted) &&
          (spec["selector"].is_null() ||
           (selector.ok() && selector->matches(volume.metadata()["labels"])));
      if (fits && (!best_size || *size < *best_size)) {
        best = volume;
        best_size = size;
      }
    }
    return best;
  }

  [[nodiscard]] static Value bound_status(const Object& volume) {
    return Value::object({{"phase", "Bound"},
                          {"accessModes", volume.spec()["accessModes"]},
                          {"capacity", volume.spec()["capacity"]}});
  }

  // The volume first: it is what two claims may want.
  void bind(const Object& volume) {
    if (volume.spec()["claimRef"]["uid"].as_string() != claim_.uid()) {
      plan_.then(Patch{
          .target = {&api::kPersistentVolume, volume.key()},
          .merge = Value::object(
              {{"metadata",
                Value::object({{"annotations", Value::object({{kBoundByController, "yes"}})}})},
               {"spec", Value::object({{"claimRef", reference_to(claim_)}})}}),
          .guard = {.uid = std::string(volume.uid()),
                    .resource_version = std::string(volume.resource_version())}});
    }
    Value annotations = Value::object({{kBindCompleted, "yes"}});
    if (claim_.spec()["volumeName"].as_string().empty()) {
      annotations.set(kBoundByController, "yes");
    }
    plan_.then(
        Patch{.target = {&api::kPersistentVolumeClaim, claim_.key()},
              .merge = Value::object({{"metadata", Value::object({{"annotations", annotations}})},
                                      {"spec", Value::object({{"volumeName", volume.name()}})}}),
              .guard = {.uid = std::string(claim_.uid())}});
    set_status(bound_status(volume));
  }

  // A claim that waits for its first consumer, until the scheduler has said where that one goes. A
  // pod that came with its node is asked for no other.
  bool has_place() {
    if (!has_place_) {
      has_place_ = look_for_place();
    }
    return *has_place_;
  }

  bool look_for_place() {
    const std::vector<Object> pods = pods_with(view_, claim_.key());
    if (!claim_.annotation(kSelectedNode).empty() ||
        std::ranges::any_of(
            pods, [](const Object& pod) { return !pod.spec()["nodeName"].as_string().empty(); })) {
      return true;
    }
    if (pods.empty()) {
      emit("Normal", "WaitForFirstConsumer",
           "waiting for first consumer to be created before binding");
    } else {
      emit("Normal", "WaitForPodScheduled",
           fmt::format("waiting for pod {} to be scheduled", pods.front().name()));
    }
    return false;
  }

  void provision() {
    const std::string name = claim_.spec()["storageClassName"].str();
    if (name.empty()) {
      emit("Normal", "FailedBinding",
           "no persistent volumes available for this claim and no storage class is set");
      return;
    }
    const auto storage = view_.get(api::kStorageClass, {"", name});
    if (!storage) {
      emit("Warning", "ProvisioningFailed",
           fmt::format("storageclass.storage.k8s.io \"{}\" not found", name));
      return;
    }
    const bool waits = storage->body()["volumeBindingMode"].as_string() == "WaitForFirstConsumer";
    if (waits && !has_place()) {
      return;
    }
    const std::string provisioner = storage->body()["provisioner"].str();
    if (provisioner == "kubernetes.io/no-provisioner") {
      return;
    }
    if (claim_.annotation(kProvisioner) != provisioner) {
      const Value annotations =
          Value::object({{kBetaProvisioner, provisioner}, {kProvisioner, provisioner}});
      plan_.then(Patch{
          .target = {&api::kPersistentVolumeClaim, claim_.key()},
          .merge = Value::object({{"metadata", Value::object({{"annotations", annotations}})}}),
          .guard = {.uid = std::string(claim_.uid())}});
    }
    emit("Normal", "ExternalProvisioning",
         fmt::format("Waiting for a volume to be created either by the external provisioner '{}' "
                     "or manually by the system administrator. If volume creation is delayed, "
                     "please verify that the provisioner is running and correctly registered.",
                     provisioner));
  }

  const View& view_;
  const Object& claim_;
  std::optional<bool> has_place_{};
  Plan plan_{};
};

Plan reconcile_volume_claim(const View& view, const Key& key, Instant /*now*/) {
  const auto claim = view.get(api::kPersistentVolumeClaim, key);
  return claim && !claim->deleting() ? ClaimRun(view, *claim).run() : Plan::done();
}

Plan protect_claim(const View& view, const Key& key, Instant /*now*/) {
  Plan plan;
  const auto claim = view.get(api::kPersistentVolumeClaim, key);
  if (!claim || !claim->deleting() || !claim->has_finalizer(kClaimProtection)) {
    return plan;
  }
  const std::vector<Object> pods = pods_with(view, key);
  if (std::ranges::all_of(pods, is_over)) {
    Value left = Value::list();
    for (const Value& finalizer : claim->metadata()["finalizers"].items()) {
      if (finalizer.as_string() != kClaimProtection) {
        left.push_back(finalizer);
      }
    }
    plan.then(
        Patch{.target = {&api::kPersistentVolumeClaim, key},
              .merge = Value::object(
                  {{"metadata", Value::object({{"finalizers", left.empty() ? Value() : left}})}}),
              .guard = {.uid = std::string(claim->uid()),
                        .resource_version = std::string(claim->resource_version())}});
  }
  return plan;
}

constexpr athanor::Index kIndexes[] = {{&api::kPod, kIndex, claims_of}};

}  // namespace

const Operator& volume_claim_operator() {
  static const Kind* const kReads[] = {&api::kPersistentVolumeClaim, &api::kPersistentVolume,
                                       &api::kStorageClass, &api::kPod};
  static const Kind* const kWrites[] = {&api::kPersistentVolumeClaim, &api::kPersistentVolume,
                                        &api::kEvent};
  static const Kind* const kSmall[] = {&api::kPersistentVolume};
  static const Operator kOperator{
      .name = "persistentvolume-binder-controller",
      .primary = &api::kPersistentVolumeClaim,
      .reads = kReads,
      .writes = kWrites,
      .indexes = kIndexes,
      .reconcile = reconcile_volume_claim,
      .user = "system:serviceaccount:kube-system:persistent-volume-binder",
      .small = kSmall};
  return kOperator;
}

const Operator& claim_protection_operator() {
  static const Kind* const kReads[] = {&api::kPersistentVolumeClaim, &api::kPod};
  static const Kind* const kWrites[] = {&api::kPersistentVolumeClaim};
  static const Operator kOperator{
      .name = "persistentvolumeclaim-protection-controller",
      .primary = &api::kPersistentVolumeClaim,
      .reads = kReads,
      .writes = kWrites,
      .indexes = kIndexes,
      .reconcile = protect_claim,
      .user = "system:serviceaccount:kube-system:pvc-protection-controller"};
  return kOperator;
}

}  // namespace athanor::workloads
