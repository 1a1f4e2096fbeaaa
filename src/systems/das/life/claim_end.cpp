// SPDX-License-Identifier: Apache-2.0
#include "systems/das/life/claim_end.hpp"

#include <fmt/core.h>

#include "api/builtin.hpp"
#include "runtime/view/node_hooks.hpp"
#include "systems/das/agent/cdi.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"

namespace athanor::das {

Plan release_claim(const Object& object, const std::optional<Claim>& claim,
                   const Settings& settings, Instant now) {
  Plan plan;
  if (claim) {
    // The state of a slice that was made.
    const bool made = claim->state == kInUse || claim->state == kProcessing;
    const Duration takes = std::chrono::milliseconds(made ? settings.slice_destroy_ms : 0);
    if (const auto end = ends_at(*claim, "destroy", takes, now, plan)) {
      plan.wake_at(*end);
      return plan;
    }
    const auto remove = [&](std::string_view id, const std::string& path) {
      plan.then(Act{.id = fmt::format("{}/{}/cdi", object.uid(), id),
                    .verb = std::string(kRemoveNodeFile),
                    .args = Value::object({{"node", claim->node}, {"path", path}})});
    };
    if (is_mirror(object)) {
      const std::string source = object.spec()[kMirrorMember]["uid"].str();
      remove(source, dra_cdi_path(source));
    } else {
      for (const CdiDevice& device : devices_of({*claim})) {
        remove(device.id, cdi_path(device));
      }
    }
  }
  // As it was seen: an agent may have taken it into use for another pod.
  plan.then(Delete{.target = {&kAllocationClaim, object.key()},
                   .guard = {.uid = std::string(object.uid()),
                             .resource_version = std::string(object.resource_version())}});
  const Key pod{object.spec()["podRef"]["namespace"].str(), object.spec()["podRef"]["name"].str()};
  if (object.status()["state"].as_string() == kInUse && !pod.name.empty()) {
    plan.then(Emit{.about = {&api::kPod, pod},
                   .about_uid = object.spec()["podRef"]["uid"].str(),
                   .reason = "SliceReleased",
                   .note = claim ? place_of(*claim)
                                 : fmt::format("{} on {}", object.spec()["resource"].as_string(),
                                               object.spec()["gpuUUID"].as_string())});
  }
  return plan;
}

}  // namespace athanor::das
