// SPDX-License-Identifier: Apache-2.0
// What an agent does for Allocate calls, and the kubelet that makes them
// (src/agent/node/allocator.cpp, slices.cpp).
#include <algorithm>

#include "api/builtin.hpp"
#include "sim/scenes/slice_agent.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/request.hpp"

namespace athanor::sim {

das::NodeSight SliceAgents::Agent::look() {
  step();
  const auto gap = world_->strike(Fault::WatchGap);
  if (gap && *gap % 2 == 0) {
    return {.seen = false};  // its caches do not answer in time
  }
  das::NodeSight sight;
  for (const Object& object : world_->list(das::kAllocationClaim)) {
    if (auto claim = das::read_claim(object); claim && claim->node == node.name) {
      sight.claims.push_back(*std::move(claim));
    }
  }
  std::ranges::stable_sort(sight.claims, {}, [](const das::Claim& claim) {
    return std::pair(claim.object.creation_time().value_or(Instant()), claim.object.key());
  });
  for (const Object& pod : world_->list(api::kPod)) {
    // Or they do not show pods that were bound just now.
    if (pod.spec()["nodeName"].as_string() == node.name &&
        (!gap || node.admitted.contains(std::string(pod.uid())))) {
      sight.pods[std::string(pod.uid())] = pod;
    }
  }
  return sight;
}

Result<std::optional<Object>> SliceAgents::Agent::find_pod(const das::Claim& claim) {
  step();
  auto pod = world_->get(api::kPod, claim.pod);
  return pod && pod->uid() == claim.pod_uid && pod->spec()["nodeName"].as_string() == node.name
             ? std::move(pod)
             : std::nullopt;
}

Result<void> SliceAgents::Agent::write(const Target& claim, Value merge,
                                       std::string_view subresource) {
  step();
  if (world_->strike(Fault::WriteError)) {
    return Error::internal("a simulated failure");
  }
  const auto now = world_->get(das::kAllocationClaim, claim.key);
  if (!now || now->uid() != claim.uid) {
    return Error::not_found("the claim is gone");
  }
  const auto written =
      world_->patch(das::kAllocationClaim, now->key(), std::move(merge), subresource);
  if (!written.ok()) {
    return written.error();
  }
  if (world_->strike(Fault::WriteLostApplied)) {
    return Error::unavailable("no answer");
  }
  return {};
}

Result<void> SliceAgents::Agent::write_state(std::span<const das::Claim> claims,
                                             std::string_view state) {
  for (const das::Claim& claim : claims) {
    const auto now = world_->get(das::kAllocationClaim, claim.object.key());
    if (now && now->status()["state"].as_string() == state) {
      continue;
    }
    const Value status = now ? now->status() : Value();
    ATHANOR_TRY_VOID(write(
        {claim.object.key(), std::string(claim.object.uid())},
        Value::object({{"status", das::claim_status(status, {state}, claim.object.generation(),
                                                    world_->now())}}),
        "status"));
  }
  return {};
}

Result<void> SliceAgents::Agent::give(const das::Transfer& transfer) {
  return write({transfer.claim, transfer.claim_uid}, das::patch_of(transfer), "");
}

std::optional<std::vector<das::Holder>> SliceAgents::Agent::holders() {
  step();
  if (world_->strike(Fault::WatchGap)) {
    return std::nullopt;  // the kubelet does not answer
  }
  forget_ended();
  std::vector<das::Holder> holders;
  holders.reserve(node.admitted.size());
  for (const auto& [uid, pod] : node.admitted) {
    holders.push_back({.pod_uid = uid, .container = "c", .profile = pod.profile, .ids = pod.ids});
  }
  return holders;
}

Result<std::vector<std::string>> SliceAgents::Agent::make_slices(
    std::span<const das::Claim> claims) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    auto made = make(claims[i]);
    if (!made.ok()) {
      destroy_slices(claims.first(i));
      return std::move(made).error();
    }
    names.push_back(*std::move(made));
  }
  return names;
}

Result<std::string> SliceAgents::Agent::make(const das::Claim& claim) {
  const das::SliceRecord begun = node.record_of(claim.object.uid());
  if (!begun.device.empty() && !begun.leaving) {
    return begun.device;
  }
  if (!begun.claim_uid.empty()) {
    destroy(begun);  // a run before this one ended while it made or destroyed the slice
  }
  const das::SliceRecord intent = das::record_of(claim, "");
  if (all_.mistake_ != Mistake::NoRecord) {
    node.records.push_back(intent);
  }
  step();
  auto device = node.create(claim);
  step();
  std::erase(node.records, intent);
  if (device.ok()) {
    node.records.push_back(das::record_of(claim, *device));
  }
  step();
  return device;
}

void SliceAgents::Agent::destroy(const das::Claim& claim) {
  if (const das::SliceRecord record = node.record_of(claim.object.uid());
      !record.claim_uid.empty()) {
    destroy(record);
  }
}

void SliceAgents::Agent::destroy(const das::SliceRecord& record) {
  step();
  das::SliceRecord leaving = record;
  leaving.leaving = true;
  std::ranges::replace(node.records, record, leaving);
  step();
  node.destroy_compute(record);
  step();
  node.destroy_instance(record);
  step();
  std::erase(node.records, leaving);
}

// The kubelet keeps devices of pods that have not ended.
void SliceAgents::Agent::forget_ended() {
  std::map<std::string, Object> pods;
  for (const Object& pod : world_->list(api::kPod)) {
    if (!das::has_ended(pod)) {
      pods.emplace(pod.uid(), pod);
    }
  }
  std::erase_if(node.admitted, [&](const auto& entry) { return !pods.contains(entry.first); });
}

// A kubelet asks for pods in its own order. It ends before it notes the answer, its agent before it
// answers, or both.
Result<Value> SliceAgents::Agent::allocate(const Object& pod) {
  const std::string uid(pod.uid());
  if (node.admitted.contains(uid)) {
    return Value::object({{"ready", true}});
  }
  const das::PodSlices wanted = das::slices_of(pod.spec());
  const std::string profile = wanted.slices.front().profile;
  forget_ended();
  const std::vector<das::DeviceAsk> asks{
      {.profile = profile, .ids = node.free_ids(profile, wanted.slices.size())}};
  compare_soon();
  auto allocated = das::allocate(asks, ledger_, *this, {});
  ATHANOR_TRY(const std::vector<std::string> devices, std::move(allocated));
  step();
  if (world_->strike(Fault::AgentCrash)) {
    ledger_.doubt();  // another kubelet registers
    world_->crash();
    return Error::unavailable("the kubelet died");
  }
  node.admitted[uid] = {.profile = profile, .ids = asks[0].ids, .device = devices[0]};
  return Value::object({{"ready", true}});
}

}  // namespace athanor::sim
