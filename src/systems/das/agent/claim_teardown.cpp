// SPDX-License-Identifier: Apache-2.0
// The end of a real node's claims: the slice is destroyed first, then the claim is deleted.
#include <fmt/core.h>

#include <algorithm>

#include "api/builtin.hpp"
#include "kube/value/condition.hpp"
#include "runtime/view/live.hpp"
#include "systems/das/agent/ledger.hpp"
#include "systems/das/agent/node_agent.hpp"
#include "systems/das/model/claim.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/sharing/share.hpp"

namespace athanor::das {
namespace {

// Answers of acts never grow old.
constexpr Duration kNeverStale = std::chrono::hours(24 * 365 * 100);

// An exchange may make the claim another pod's, whose end is another.
std::string release_id(const Claim& claim) {
  return fmt::format("{}/{}", claim.object.uid(), claim.pod_uid);
}

Plan orphan(const Claim& claim, Instant now) {
  const Object& object = claim.object;
  Plan plan;
  plan.then(Status{.target = {&kAllocationClaim, object.key()},
                   .status = claim_status(object.status(), {kOrphaned}, object.generation(), now),
                   .guard = {.uid = std::string(object.uid())}});
  return plan;
}

Plan release(const View& view, const Claim& claim, Instant now) {
  const Object& object = claim.object;
  Plan plan;
  if (is_made(claim)) {
    const std::string id = release_id(claim);
    const Observed trouble = view.observe(fmt::format("{}:{}", kTroubleQuery, id), kNeverStale);
    const Observed gone = view.observe(fmt::format("{}:{}", kReleaseVerb, id), kNeverStale);
    if (!gone.value) {
      if (trouble.value && !trouble.value->as_string().empty() && claim.state != kOrphaned) {
        plan.merge(orphan(claim, now));
      }
      plan.then(Act{.id = id,
                    .verb = std::string(kReleaseVerb),
                    .args = Value::object({{"claim", object.body()}})});
      return plan;
    }
  }
  // As it was seen: an exchange may have made it another pod's.
  plan.then(Delete{.target = {&kAllocationClaim, object.key()},
                   .guard = {.uid = std::string(object.uid()),
                             .resource_version = std::string(object.resource_version())}});
  if (is_made(claim)) {
    plan.then(Emit{.about = {&api::kPod, claim.pod},
                   .about_uid = claim.pod_uid,
                   .reason = "SliceReleased",
                   .note = place_of(claim)});
  }
  return plan;
}

// Returns true if the pod will never use the claim: it has ended, or runs on another node. The
// slice may have been made for it while it was not bound yet.
bool is_done_with(const Object& pod, const Claim& claim) {
  const std::string_view node = pod.spec()["nodeName"].as_string();
  return has_ended(pod) || (!node.empty() && node != claim.node);
}

// The driver's last answer about a claim's GPU and slice.
struct GpuSight {
  bool listed = false;
  bool lost = false;  // or not listed: it vanished before the agent started
  bool has_slice = false;
};

GpuSight sight_of(const View& view, const Claim& claim) {
  const Observed seen = view.observe(kGpusQuery, kNeverStale);
  if (!seen.value) {
    return {};
  }
  GpuSight sight{.lost = true};
  for (const Value& gpu : (*seen.value)["nodeResources"]["nodeGpus"].items()) {
    if (gpu["gpuUuid"].as_string() == claim.gpu) {
      sight.listed = true;
      sight.lost = gpu["lost"].as_bool();
    }
  }
  sight.has_slice = std::ranges::any_of((*seen.value)["slices"].items(), [&](const Value& uid) {
    return uid.as_string() == claim.object.uid();
  });
  return sight;
}

// The condition of a claim whose GPU vanished; its reason is the state before.
constexpr const char* kGpuLost = "GPULost";

Plan with_condition(const Claim& claim, std::string_view state, Condition condition, Instant now) {
  const Object& object = claim.object;
  Value status = claim_status(object.status(), {state}, object.generation(), now);
  const bool lost = condition.status == "True";
  condition.type = kGpuLost;
  condition.observed_generation = object.generation();
  set_condition(status.member("conditions"), condition, now);
  Plan plan;
  plan.then(Status{.target = {&kAllocationClaim, object.key()},
                   .status = std::move(status),
                   .guard = {.uid = std::string(object.uid())}});
  // A pod that uses the GPU, or did.
  if (const std::string_view used = lost ? std::string_view(claim.state) : state;
      (used == kInUse || used == kProcessing) && !claim.pod_uid.empty()) {
    plan.then(Emit{.about = {&api::kPod, claim.pod},
                   .about_uid = claim.pod_uid,
                   .type = lost ? "Warning" : "Normal",
                   .reason = lost ? kGpuLost : "GPUReturned",
                   .note = fmt::format("{}: {}", place_of(claim), condition.message)});
  }
  return plan;
}

// A claim whose pod lives: orphaned when its GPU vanishes, as before when both GPU and slice are
// there again (docs/spec/das.md 3.1). A claim that has no slice yet, and a share of a whole GPU,
// need the GPU alone.
Plan follow_gpu(const View& view, const Claim& claim, Instant now) {
  const GpuSight gpu = sight_of(view, claim);
  if (claim.state != kOrphaned) {
    return gpu.lost && !claim.state.empty()
               ? with_condition(claim, kOrphaned,
                                {.status = "True",
                                 .reason = claim.state,
                                 .message = fmt::format("{} vanished from the node", claim.gpu)},
                                now)
               : Plan::done();
  }
  const Value& lost = find_condition(claim.object.status()["conditions"], kGpuLost);
  const std::string before = lost["reason"].str();
  const bool sliceless =
      before == kStaged || before == kCreated || (is_share(claim) && !shared_slice(claim));
  const bool there = gpu.listed && !gpu.lost && (gpu.has_slice || sliceless);
  return lost["status"].as_string() == "True" && there
             ? with_condition(claim, before,
                              {.status = "False",
                               .reason = before,
                               .message = fmt::format("{} is there again", claim.gpu)},
                              now)
             : Plan::done();
}

Plan release_claim(const View& view, const Key& key, Instant now) {
  const auto object = view.get(kAllocationClaim, key);
  if (!object || object->deleting() || is_mirror(*object)) {
    return Plan::done();  // a mirror's slice lives as long as its ResourceClaim is prepared
  }
  const auto claim = read_slice_or_share(*object);
  if (!claim || claim->node != view.config(kAgentSection)["node"].as_string() ||
      claim->pod_uid.empty() || claim->pod.name.empty()) {
    return Plan::done();  // another agent's, or to be judged by the controllers
  }
  const auto pod = view.get(api::kPod, claim->pod);
  if (pod && pod->uid() == claim->pod_uid) {
    if (is_done_with(*pod, *claim)) {
      return release(view, *claim, now);
    }
    return follow_gpu(view, *claim, now);
  }
  if (!is_made(*claim)) {
    return Plan::done();  // nothing of it is on the node: the controllers' business
  }
  // The cache holds the node's pods alone: one that waits for its node is none of them.
  const Live live = read_live(view, api::kPod, claim->pod, now, object->resource_version());
  const bool gone = live.known && (live.absent() || live.objects.front().uid() != claim->pod_uid ||
                                   is_done_with(live.objects.front(), *claim));
  return gone ? release(view, *claim, now) : Plan::done();
}

}  // namespace

const Operator& release_operator() {
  static constexpr const Kind* kReads[] = {&kAllocationClaim, &api::kPod};
  static constexpr const Kind* kWrites[] = {&kAllocationClaim};
  static const Index kIndexes[] = {{&kAllocationClaim, kClaimsByNode, claim_nodes}};
  static constexpr Access kAccess[] = {{&kAllocationClaim, "delete"},
                                       {&kAllocationClaim, "patch", "status"},
                                       {&api::kPod, "get"},
                                       {&api::kEvent, "create patch"}};
  static const Operator kOperator{.name = "das-agent-claims",
                                  .primary = &kAllocationClaim,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .indexes = kIndexes,
                                  .reconcile = release_claim,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::das
