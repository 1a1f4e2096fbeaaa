// SPDX-License-Identifier: Apache-2.0
// No daemon of MPS runs in a lab: containers see the variables that one would be reached by.
#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "api/builtin.hpp"
#include "kube/value/condition.hpp"
#include "systems/das/gpus/inventory.hpp"
#include "systems/das/model/claim.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/settings.hpp"
#include "systems/das/sharing/hooks.hpp"
#include "systems/das/sharing/share.hpp"

namespace athanor::das {
namespace {

// How long claims are waited for before the pod fails, as for slices.
constexpr Duration kPatience = std::chrono::milliseconds(3100);

NodeAdmission admit(const View& view, const Object& pod, const Object& node, Instant now) {
  const std::vector<ShareRequest> requests = shares_in(pod.spec());
  if (requests.empty()) {
    return {};
  }
  if (const auto conflict = conflict_in(pod.spec())) {
    return {.answer = NodeAdmission::Answer::Refuse, .message = conflict->message};
  }
  std::vector<ShareClaim> own;
  for (ShareClaim& claim : shares_on(view, node.name())) {
    if (claim.pod_uid == pod.uid() && !claim.object.deleting() && !claim.state.empty()) {
      own.push_back(std::move(claim));
    }
  }
  if (own.size() < requests.size()) {
    const auto since =
        parse_time(find_condition(pod.status()["conditions"], "PodScheduled")["lastTransitionTime"]
                       .as_string());
    NodeAdmission admission{.answer = NodeAdmission::Answer::Wait};
    if (!since || *since + kPatience <= now) {
      admission.answer = NodeAdmission::Answer::Refuse;
      admission.message =
          fmt::format("requested {} allocations but only found {}", requests.size(), own.size());
    } else {
      admission.steps.wake_at(*since + kPatience);
    }
    return admission;
  }
  const Settings settings = settings_of(view);
  NodeAdmission admission;
  std::map<std::string, std::string> names;
  for (const ShareClaim& claim : own) {
    names[claim.part()] = settings.device_ids != "uuid" ? "test"
                          : claim.profile.empty()
                              ? claim.gpu
                              : emulated_slice(claim.gpu, claim.profile, claim.start);
    if (claim.state != kInUse) {
      admission.steps.then(
          Status{.target = {&kAllocationClaim, claim.object.key()},
                 .status = claim_status(claim.object.status(), {kProcessing, kInUse},
                                        claim.object.generation(), now),
                 .guard = {.uid = std::string(claim.object.uid())}});
      admission.steps.then(Emit{.about = {&api::kPod, pod.key()},
                                .about_uid = std::string(pod.uid()),
                                .reason = "SliceCreated",
                                .note = fmt::format("{} on {}", claim.resource, claim.gpu)});
    }
  }
  for (auto& [container, edits] : share_edits(own, names)) {
    admission.environment[container] = std::move(edits.env);
  }
  return admission;
}

}  // namespace

const NodeHooks& share_node_hooks() {
  static constexpr const Kind* kReads[] = {&kAllocationClaim};
  static constexpr const Kind* kWrites[] = {&kAllocationClaim};
  static const Index kIndexes[] = {{&kAllocationClaim, kClaimsByNode, claim_nodes}};
  static constexpr Access kAccess[] = {{&kAllocationClaim, "patch", "status"},
                                       {&api::kEvent, "create patch"}};
  static const NodeHooks kHooks{.name = "das-shares",
                                .reads = kReads,
                                .writes = kWrites,
                                .indexes = kIndexes,
                                .access = kAccess,
                                .admit = admit};
  return kHooks;
}

}  // namespace athanor::das
