// SPDX-License-Identifier: Apache-2.0
// Preparing devices is up to the systems that publish them (runtime/view/node_hooks.hpp). Devices
// of drivers that run elsewhere are not prepared on emulated nodes: the pod starts without what
// they would add, and an event says so.
#include "embedded/devices/node.hpp"

#include <fmt/core.h>

#include <string>

#include "api/builtin.hpp"
#include "embedded/devices/pod_claims.hpp"

namespace athanor::devices {
namespace {

NodeAdmission wait(const Object& pod, std::string note) {
  NodeAdmission admission{.answer = NodeAdmission::Answer::Wait};
  admission.steps.then(Emit{.about = {&api::kPod, pod.key()},
                            .about_uid = std::string(pod.uid()),
                            .type = "Warning",
                            .reason = "FailedPrepareDynamicResources",
                            .note = "Failed to prepare dynamic resources: " + std::move(note)});
  return admission;
}

NodeAdmission admit(const View& view, const Object& pod, const Object& /*node*/, Instant /*now*/) {
  const auto check = [&](const std::string& name) -> std::string {
    const auto claim = view.get(api::kResourceClaim, {std::string(pod.ns()), name});
    if (!claim) {
      return fmt::format("ResourceClaim {} not found", name);
    }
    if (claim->status()["allocation"].is_null()) {
      return fmt::format("ResourceClaim {} is not allocated", name);
    }
    return reserved_for(*claim, pod)
               ? std::string()
               : fmt::format("pod {}({}) is not allowed to use ResourceClaim {}", pod.name(),
                             pod.uid(), name);
  };
  for (const Value& entry : pod.spec()["resourceClaims"].items()) {
    if (std::string problem = check(claim_name(pod, entry)); !problem.empty()) {
      return wait(pod, std::move(problem));
    }
  }
  if (const Value& made = pod.status()["extendedResourceClaimStatus"]; made.is_object()) {
    if (std::string problem = check(made["resourceClaimName"].str()); !problem.empty()) {
      return wait(pod, std::move(problem));
    }
  }
  return {};
}

}  // namespace

const NodeHooks& device_node_hooks() {
  static constexpr const Kind* kReads[] = {&api::kResourceClaim};
  static const NodeHooks kHooks{.name = "devices", .reads = kReads, .admit = admit};
  return kHooks;
}

}  // namespace athanor::devices
