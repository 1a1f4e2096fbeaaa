// SPDX-License-Identifier: Apache-2.0
// The end of claims: released when the pod is terminal or gone, never before
// (docs/spec/das.md 3.4).
#include <fmt/core.h>

#include "api/builtin.hpp"
#include "kube/value/condition.hpp"
#include "runtime/view/live.hpp"
#include "systems/das/agent/emulated_agent.hpp"
#include "systems/das/life/claim_end.hpp"
#include "systems/das/model/claim.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/reservation.hpp"
#include "systems/das/model/settings.hpp"
#include "systems/das/sharing/share.hpp"

namespace athanor::das {
namespace {

// How long a claim without a pod uid is kept (docs/spec/das.md G8).
constexpr Duration kUnknownPod = std::chrono::minutes(5);

// Sets condition Valid=False with the reason why a claim holds no slot.
Plan mark_invalid(const Object& object, Instant now) {
  Value conditions =
      object.status()["conditions"].is_list() ? object.status()["conditions"] : Value::list();
  set_condition(conditions,
                {.type = "Valid",
                 .status = "False",
                 .reason = "InvalidPlacement",
                 .message = "migPlacement must lie within 8 memory slices",
                 .observed_generation = object.generation()},
                now);
  Plan plan;
  plan.then(Status{.target = {&kAllocationClaim, object.key()},
                   .status = Value::object({{"conditions", conditions}}),
                   .guard = {.uid = std::string(object.uid())}});
  return plan;
}

bool ended(const Object& pod) {
  const std::string_view phase = pod.status()["phase"].as_string();
  return phase == "Succeeded" || phase == "Failed";
}

Plan collect(const Object& object, const std::optional<Claim>& claim, std::string_view why,
             Instant now) {
  Plan plan = release_claim(object, claim, Settings(), now);
  plan.then(Emit{.about = {&kAllocationClaim, object.key()},
                 .about_uid = std::string(object.uid()),
                 .reason = "ClaimGarbageCollected",
                 .note = std::string(why)});
  return plan;
}

// A slice or share that the agent of a real node made: that ends it, and then its claim.
bool left_to_agent(const View& view, const Object& object) {
  const auto claim = read_slice_or_share(object);
  if (!claim || claim->node.empty() || !is_made(*claim)) {
    return false;
  }
  const auto node = view.get(api::kNode, {"", claim->node});
  return node && node->label(kEmulatedLabel) != "true";
}

// Its agent says so after a restart of the node (docs/spec/das.md 8.4).
bool has_lost_slice(const Object& claim) {
  return find_condition(claim.status()["conditions"], kNodeRestarted)["status"].as_string() ==
         "True";
}

// A kubelet may have admitted the pod again without its slice; its controller makes another.
Plan delete_pod(const Object& pod, const Object& claim) {
  Plan plan;
  plan.then(Emit{.about = {&api::kPod, pod.key()},
                 .about_uid = std::string(pod.uid()),
                 .type = "Warning",
                 .reason = "SliceLost",
                 .note = fmt::format("{} did not outlive the restart of node {}", claim.name(),
                                     claim.spec()["nodename"].as_string())});
  plan.then(Delete{.target = {&api::kPod, pod.key()}, .guard = {.uid = std::string(pod.uid())}});
  return plan;
}

Plan reconcile(const View& view, const Key& key, Instant now) {
  const auto object = view.get(kAllocationClaim, key);
  if (!object || object->deleting() || is_mirror(*object)) {
    return Plan::done();  // a mirror lives as long as what it mirrors
  }
  const auto claim = read_claim(*object);
  const Settings settings = settings_of(view);
  const Value& reference = object->spec()["podRef"];
  const std::string uid = reference["uid"].str();
  const Key pod_key{reference["namespace"].str(), reference["name"].str()};
  if (uid.empty() || pod_key.name.empty()) {
    const auto due = object->creation_time().value_or(now) + kUnknownPod;
    if (due <= now) {
      return collect(
          *object, claim,
          is_reservation(*object) ? "no pod took the reserved slots" : "the claim names no pod",
          now);
    }
    Plan plan = claim || is_share(*object) ? Plan::done() : mark_invalid(*object, now);
    plan.wake_at(due);
    return plan;
  }
  const auto pod = view.get(api::kPod, pod_key);
  if (has_lost_slice(*object) && pod && pod->uid() == uid && !pod->deleting() && !ended(*pod)) {
    return delete_pod(*pod, *object);
  }
  if (left_to_agent(view, *object)) {
    return Plan::done();
  }
  if (!pod || pod->uid() != uid) {
    // Absence is final only when the API server says so: a cache may be behind.
    const Live live = read_live(view, api::kPod, pod_key, now, object->resource_version());
    if (!live.known) {
      return Plan::done();
    }
    if (live.absent() || live.objects.front().uid() != uid) {
      return release_claim(*object, claim, settings, now);
    }
    return Plan::done();
  }
  if (ended(*pod)) {
    return release_claim(*object, claim, settings, now);
  }
  const Key place{"", object->spec()["nodename"].str()};
  if (!place.name.empty() && !view.get(api::kNode, place)) {
    const Live live = read_live(view, api::kNode, place, now, object->resource_version());
    return live.absent() ? release_claim(*object, claim, settings, now) : Plan::done();
  }
  const std::string_view node = pod->spec()["nodeName"].as_string();
  if (!node.empty() && node != object->spec()["nodename"].as_string()) {
    return release_claim(*object, claim, settings, now);  // the pod was bound elsewhere
  }
  if (node.empty() && pod->deleting()) {
    return release_claim(*object, claim, settings, now);
  }
  return claim || is_share(*object) ? Plan::done() : mark_invalid(*object, now);
}

}  // namespace

const Operator& claim_operator() {
  static constexpr const Kind* kReads[] = {&kAllocationClaim, &api::kPod, &api::kNode};
  static constexpr const Kind* kWrites[] = {&kAllocationClaim, &api::kPod};
  static constexpr Access kAccess[] = {{&kAllocationClaim, "delete patch"},
                                       {&kAllocationClaim, "patch", "status"},
                                       {&api::kPod, "get delete"},
                                       {&api::kNode, "get"},
                                       {&api::kEvent, "create patch"}};
  static const Operator kOperator{.name = "das-claims",
                                  .primary = &kAllocationClaim,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::das
