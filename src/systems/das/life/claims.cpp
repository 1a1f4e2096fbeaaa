// SPDX-License-Identifier: Apache-2.0
// The end of claims: released when the pod is terminal or gone, never before
// (docs/spec/das.md 3.4).
#include <fmt/core.h>

#include "api/builtin.hpp"
#include "kube/value/condition.hpp"
#include "runtime/view/live.hpp"
#include "systems/das/agent.hpp"
#include "systems/das/cdi.hpp"
#include "systems/das/claim.hpp"
#include "systems/das/kinds.hpp"
#include "systems/das/names.hpp"
#include "systems/das/settings.hpp"

namespace athanor::das {
namespace {

// How long a claim without a pod uid is kept (docs/spec/das.md G8).
constexpr Duration kUnknownPod = std::chrono::minutes(5);

Plan release(const Object& object, const std::optional<Claim>& claim, const Settings& settings,
             Instant now) {
  Plan plan;
  if (claim) {
    // Of a slice that was made.
    const bool made = claim->state == kInUse || claim->state == kProcessing;
    const Duration takes = std::chrono::milliseconds(made ? settings.slice_destroy_ms : 0);
    if (const auto end = ends_at(*claim, "destroy", takes, now, plan)) {
      plan.wake_at(*end);
      return plan;
    }
    for (const CdiDevice& device : devices_of({*claim})) {
      plan.then(Act{.id = fmt::format("{}/{}/cdi", object.uid(), device.id),
                    .verb = std::string(kRemoveNodeFile),
                    .args = Value::object({{"node", claim->node}, {"path", cdi_path(device)}})});
    }
  }
  plan.then(Delete{.target = {&kAllocationClaim, object.key()},
                   .guard = {.uid = std::string(object.uid())}});
  if (claim && claim->state == kInUse) {
    plan.then(Emit{.about = {&api::kPod, claim->pod},
                   .about_uid = claim->pod_uid,
                   .reason = "SliceReleased",
                   .note = place_of(*claim)});
  }
  return plan;
}

// Tells why a claim holds no slot; whoever wrote it can see it there.
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
  Plan plan = release(object, claim, Settings(), now);
  plan.then(Emit{.about = {&kAllocationClaim, object.key()},
                 .about_uid = std::string(object.uid()),
                 .reason = "ClaimGarbageCollected",
                 .note = std::string(why)});
  return plan;
}

// A slice that the agent of a real node made: that ends it, and then its claim.
bool left_to_agent(const View& view, const std::optional<Claim>& claim) {
  if (!claim || claim->node.empty() ||
      (claim->state != kProcessing && claim->state != kInUse && claim->state != kOrphaned)) {
    return false;
  }
  const auto node = view.get(api::kNode, {"", claim->node});
  return node && node->label("athanor.dev/emulated") != "true";
}

Plan reconcile(const View& view, const Key& key, Instant now) {
  const auto object = view.get(kAllocationClaim, key);
  if (!object || object->deleting()) {
    return Plan::done();
  }
  const auto claim = read_claim(*object);
  const Settings settings = settings_of(view);
  const Value& reference = object->spec()["podRef"];
  const std::string uid = reference["uid"].str();
  const Key pod_key{reference["namespace"].str(), reference["name"].str()};
  if (uid.empty() || pod_key.name.empty()) {
    const auto due = object->creation_time().value_or(now) + kUnknownPod;
    if (due <= now) {
      return collect(*object, claim, "the claim names no pod", now);
    }
    Plan plan = claim ? Plan::done() : mark_invalid(*object, now);
    plan.wake_at(due);
    return plan;
  }
  if (left_to_agent(view, claim)) {
    return Plan::done();
  }
  const auto pod = view.get(api::kPod, pod_key);
  if (!pod || pod->uid() != uid) {
    // Absence is final only when the API server says so: a cache may be behind.
    const Live live = read_live(view, api::kPod, pod_key, now, object->resource_version());
    if (!live.known) {
      return Plan::done();
    }
    if (live.absent() || live.objects.front().uid() != uid) {
      return release(*object, claim, settings, now);
    }
    return Plan::done();
  }
  if (ended(*pod)) {
    return release(*object, claim, settings, now);
  }
  const Key place{"", object->spec()["nodename"].str()};
  if (!place.name.empty() && !view.get(api::kNode, place)) {
    const Live live = read_live(view, api::kNode, place, now, object->resource_version());
    return live.absent() ? release(*object, claim, settings, now) : Plan::done();
  }
  const std::string_view node = pod->spec()["nodeName"].as_string();
  if (!node.empty() && node != object->spec()["nodename"].as_string()) {
    return release(*object, claim, settings, now);  // the pod was bound elsewhere
  }
  if (node.empty() && pod->deleting()) {
    return release(*object, claim, settings, now);
  }
  return claim ? Plan::done() : mark_invalid(*object, now);
}

}  // namespace

const Operator& claim_operator() {
  static constexpr const Kind* kReads[] = {&kAllocationClaim, &api::kPod, &api::kNode};
  static constexpr const Kind* kWrites[] = {&kAllocationClaim};
  static constexpr Access kAccess[] = {{&kAllocationClaim, "delete patch"},
                                       {&kAllocationClaim, "patch", "status"},
                                       {&api::kPod, "get"},
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
