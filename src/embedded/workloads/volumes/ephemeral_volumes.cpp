// SPDX-License-Identifier: Apache-2.0
// Claims of pods' ephemeral volumes: made with the pod, gone with it.
#include <fmt/core.h>

#include "api/builtin.hpp"
#include "embedded/workloads/controlled_pods.hpp"
#include "embedded/workloads/volumes/volumes.hpp"
#include "runtime/view/failures.hpp"

namespace athanor::workloads {
namespace {

Value claim_of(const Object& pod, const Value& volume) {
  const Value& claim_template = volume["ephemeral"]["volumeClaimTemplate"];
  Value metadata =
      Value::object({{"name", fmt::format("{}-{}", pod.name(), volume["name"].as_string())},
                     {"namespace", pod.ns()},
                     {"ownerReferences", Value::list({controller_reference(pod, api::kPod)})}});
  for (const char* part : {"labels", "annotations"}) {
    if (claim_template["metadata"].contains(part)) {
      metadata.set(part, claim_template["metadata"][part]);
    }
  }
  return Value::object({{"apiVersion", "v1"},
                        {"kind", "PersistentVolumeClaim"},
                        {"metadata", metadata},
                        {"spec", claim_template["spec"]}});
}

Plan reconcile_ephemeral(const View& view, const Key& key, Instant /*now*/) {
  Plan plan;
  const auto pod = view.get(api::kPod, key);
  if (!pod || pod->deleting() || is_over(*pod)) {
    return plan;
  }
  for (const Value& volume : pod->spec()["volumes"].items()) {
    if (!volume["ephemeral"]["volumeClaimTemplate"].is_object()) {
      continue;
    }
    Value claim = claim_of(*pod, volume);
    const Ref target{&api::kPersistentVolumeClaim, {key.ns, claim["metadata"]["name"].str()}};
    if (const auto present = view.get(api::kPersistentVolumeClaim, target.key)) {
      if (!present->owned_by(pod->uid())) {
        plan.then(
            Emit{.about = {&api::kPod, key},
                 .about_uid = std::string(pod->uid()),
                 .type = "Warning",
                 .reason = "FailedBinding",
                 .note = fmt::format("ephemeral volume {}: PVC {} was not created for pod {} "
                                     "(pod is not owner)",
                                     volume["name"].as_string(), target.key.text(), key.text())});
      }
      continue;
    }
    Step step = Create{.target = target, .object = std::move(claim)};
    if (const auto error = refused(view, step)) {
      plan.then(
          Emit{.about = {&api::kPod, key},
               .about_uid = std::string(pod->uid()),
               .type = "Warning",
               .reason = "FailedBinding",
               .note = fmt::format("ephemeral volume {}: create PVC {}: {}",
                                   volume["name"].as_string(), target.key.name, error->message)});
    }
    plan.then(std::move(step));
  }
  return plan;
}

}  // namespace

const Operator& ephemeral_volume_operator() {
  static const Kind* const kReads[] = {&api::kPod, &api::kPersistentVolumeClaim};
  static const Kind* const kWrites[] = {&api::kPersistentVolumeClaim, &api::kEvent};
  static const Operator kOperator{.name = "ephemeral-volume-controller",
                                  .primary = &api::kPod,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_ephemeral};
  return kOperator;
}

}  // namespace athanor::workloads
