// SPDX-License-Identifier: Apache-2.0
// Cooperation of a kubelet and the DRA driver when a pod starts: the slices of its ResourceClaims
// are made, one CDI file for each claim, and the containers that name a claim get its devices.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/builtin.hpp"
#include "kube/text/json.hpp"
#include "systems/das/agent/cdi.hpp"
#include "systems/das/agent/emulated_agent.hpp"
#include "systems/das/dra/mirror.hpp"
#include "systems/das/dra/operators.hpp"
#include "systems/das/dra/publication.hpp"
#include "systems/das/life/slice_making.hpp"
#include "systems/das/model/claim.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/settings.hpp"
#include "systems/das/model/users.hpp"

namespace athanor::das {
namespace {

// A claim of the pod, and who of its containers may use what of it.
struct PodClaim {
  Object object{};
  ClaimUsers users{};
};

std::vector<PodClaim> claims_of_pod(const View& view, const Object& pod) {
  std::set<std::string> names;
  for (const Value& entry : pod.spec()["resourceClaims"].items()) {
    names.insert(claim_of_entry(pod, entry));
  }
  names.insert(pod.status()["extendedResourceClaimStatus"]["resourceClaimName"].str());
  names.erase("");
  std::vector<PodClaim> claims;
  for (const std::string& name : names) {
    auto object = view.get(api::kResourceClaim, {std::string(pod.ns()), name});
    if (object && !emulated_devices(*object).empty()) {
      claims.push_back({.object = *std::move(object), .users = users_of(pod, name)});
    }
  }
  return claims;
}

// The mirrors of a claim by device; nullopt: some are not there yet.
std::optional<std::map<std::string, Claim>> mirrors_by_device(const View& view,
                                                              const Object& claim) {
  std::map<std::string, Claim> found;
  for (Claim& one : mirrors_of(view, claim.key())) {
    const Value& source = one.object.spec()[kMirrorMember];
    if (source["uid"].as_string() == claim.uid() && !one.object.deleting() && !one.state.empty()) {
      found.emplace(source["device"].str(), std::move(one));
    }
  }
  const std::vector<std::string> devices = emulated_devices(claim);
  const bool all = std::ranges::all_of(
      devices, [&](const std::string& device) { return found.contains(device); });
  return all ? std::optional(std::move(found)) : std::nullopt;
}

std::string cdi_of_claim(const Object& claim, const std::map<std::string, Claim>& mirrors,
                         const Settings& settings) {
  Value devices = Value::list();
  for (const auto& [name, mirror] : mirrors) {
    devices.push_back(Value::object(
        {{"name", fmt::format("{}-{}", claim.uid(), name)},
         {"containerEdits",
          Value::object({{"env", Value::list({fmt::format("NVIDIA_VISIBLE_DEVICES={}",
                                                          device_name(mirror, settings))})}})}}));
  }
  return json::print(Value::object({{"cdiVersion", "0.8.0"},
                                    {"kind", fmt::format("k8s.{}/claim", kDraDriver)},
                                    {"devices", std::move(devices)},
                                    {"containerEdits", Value::object()}}));
}

NodeAdmission unprepared(const Object& pod, const Object& claim, const std::string& why,
                         NodeAdmission::Answer answer) {
  NodeAdmission admission{.answer = answer};
  admission.steps.then(
      Emit{.about = {&api::kPod, pod.key()},
           .about_uid = std::string(pod.uid()),
           .type = "Warning",
           .reason = "FailedPrepareDynamicResources",
           .note = fmt::format("Failed to prepare dynamic resources: ResourceClaim {}: {}",
                               claim.name(), why)});
  return admission;
}

NodeAdmission admit(const View& view, const Object& pod, const Object& node, Instant now) {
  const bool none =
      pod.spec()["resourceClaims"].empty() && pod.status()["extendedResourceClaimStatus"].is_null();
  const Settings settings = settings_of(view);
  if (none || !settings.dra()) {
    return {};
  }
  NodeAdmission admission;
  std::map<std::string, std::vector<std::string>> seen;  // by container: names of devices
  for (const PodClaim& claim : claims_of_pod(view, pod)) {
    const auto mirrors = mirrors_by_device(view, claim.object);
    if (!mirrors) {
      return {.answer = NodeAdmission::Answer::Wait};  // runs again when they appear
    }
    std::vector<Claim> own;
    for (const auto& [name, mirror] : *mirrors) {
      own.push_back(mirror);
    }
    if (const std::string problem = conflict(own, claims_on(view, node.name())); !problem.empty()) {
      return unprepared(pod, claim.object, problem, NodeAdmission::Answer::Wait);
    }
    if (auto held = held_up(own, settings, now)) {
      return held->answer == NodeAdmission::Answer::Refuse
                 ? unprepared(pod, claim.object, held->message, NodeAdmission::Answer::Wait)
                 : *std::move(held);
    }
    admission.steps.then(
        Act{.id = fmt::format("{}/{}/cdi", pod.uid(), claim.object.uid()),
            .verb = std::string(kWriteNodeFile),
            .args = Value::object({{"node", node.name()},
                                   {"path", dra_cdi_path(claim.object.uid())},
                                   {"content", cdi_of_claim(claim.object, *mirrors, settings)}})});
    take_into_use(admission.steps, own, now);
    for (const Value& result : claim.object.status()["allocation"]["devices"]["results"].items()) {
      const auto mirror = mirrors->find(result["device"].str());
      if (result["driver"].as_string() != kDraDriver || mirror == mirrors->end()) {
        continue;
      }
      for (const auto& [container, requests] : claim.users) {
        const std::string request(parent_of(result["request"].as_string()));
        if (requests.empty() || requests.contains(request)) {
          seen[container].push_back(device_name(mirror->second, settings));
          admission.devices[container].push_back(
              {.name =
                   fmt::format("k8s.{}/claim={}-{}", kDraDriver, claim.object.uid(), mirror->first),
               .file = dra_cdi_path(claim.object.uid())});
        }
      }
    }
  }
  for (const auto& [container, names] : seen) {
    admission.environment[container] = visible_devices(names, settings);
  }
  return admission;
}

}  // namespace

const NodeHooks& dra_node_hooks() {
  static constexpr const Kind* kReads[] = {&api::kResourceClaim, &kAllocationClaim};
  static constexpr const Kind* kWrites[] = {&kAllocationClaim};
  static const Index kIndexes[] = {{&kAllocationClaim, kClaimsByNode, claim_nodes},
                                   {&kAllocationClaim, kMirrorsByClaim, mirror_claims}};
  static constexpr Access kAccess[] = {{&kAllocationClaim, "patch"},
                                       {&kAllocationClaim, "patch", "status"},
                                       {&api::kEvent, "create patch"}};
  static const NodeHooks kHooks{.name = "das-dra",
                                .reads = kReads,
                                .writes = kWrites,
                                .indexes = kIndexes,
                                .access = kAccess,
                                .admit = admit};
  return kHooks;
}

}  // namespace athanor::das
