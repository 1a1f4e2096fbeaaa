// SPDX-License-Identifier: Apache-2.0
#include "systems/das/dra/mirror.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "api/builtin.hpp"
#include "api/device_kinds.hpp"
#include "runtime/view/live.hpp"
#include "systems/das/dra/operators.hpp"
#include "systems/das/dra/publication.hpp"
#include "systems/das/gpus/mode.hpp"
#include "systems/das/life/claim_end.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/settings.hpp"

namespace athanor::das {
namespace {

// How often mirrors without their claim are looked at while an agent ends their slices.
constexpr Duration kAgentPause = std::chrono::seconds(2);
constexpr std::string_view kByPool = "das-dra-pools";

std::vector<std::string> slice_pools(const Object& slice) {
  return slice.spec()["driver"].as_string() == kDraDriver
             ? std::vector<std::string>{slice.spec()["pool"]["name"].str()}
             : std::vector<std::string>();
}

// A published device; Null: it is not published.
Value published_device(const View& view, std::string_view pool, std::string_view name) {
  for (const Object& slice : view.list(api::kResourceSlice, {.index = std::string(kByPool),
                                                            .index_value = std::string(pool)})) {
    for (const Value& device : slice.spec()["devices"].items()) {
      if (device["name"].as_string() == name) {
        return device;
      }
    }
  }
  return {};
}

Value attribute(const Value& device, std::string_view name) {
  const Value& found = device["attributes"][fmt::format("{}/{}", kAttributeDomain, name)];
  return found["string"].is_null() ? found["int"] : found["string"];
}

// The AllocationClaim of one device.
Value mirror(const Object& claim, const Value& result, const Value& device,
             const Settings& settings) {
  const bool whole = attribute(device, "type").as_string() == "gpu";
  int slots = 0;
  for (const Value& use : device["consumesCounters"].items()) {
    for (const Member& counter : use["counters"].members()) {
      slots += counter.key().starts_with("memory-slice-") ? 1 : 0;
    }
  }
  const Value placement = whole ? Value::object({{"size", slots}, {"start", 0}})
                                : Value::object({{"size", attribute(device, "placementSize")},
                                                 {"start", attribute(device, "placementStart")}});
  Value spec = Value::object({{"gpuUUID", attribute(device, whole ? "uuid" : "parentUUID")},
                              {"migPlacement", placement},
                              {"nodename", result["pool"]},
                              {kMirrorMember, Value::object({{"namespace", claim.ns()},
                                                             {"name", claim.name()},
                                                             {"uid", claim.uid()},
                                                             {"device", result["device"]}})}});
  if (!whole) {
    spec.set("profile", attribute(device, "profile"));
  }
  for (const Value& consumer : claim.status()["reservedFor"].items()) {
    if (consumer["resource"].as_string() == "pods" && !spec.contains("podRef")) {
      spec.set("podRef", Value::object({{"kind", "Pod"},
                                        {"namespace", claim.ns()},
                                        {"name", consumer["name"]},
                                        {"uid", consumer["uid"]}}));
    }
  }
  return Value::object(
      {{"apiVersion", kGroupVersion},
       {"kind", kAllocationClaim.name},
       {"metadata",
        Value::object({{"name", fmt::format("{}-{}", claim.uid(), result["device"].as_string())},
                       {"namespace", settings.ns}})},
       {"spec", std::move(spec)}});
}

bool allocates(const Object& claim, const Claim& mirror) {
  const std::vector<std::string> devices = emulated_devices(claim);
  const Value& source = mirror.object.spec()[kMirrorMember];
  return source["uid"].as_string() == claim.uid() &&
         std::ranges::find(devices, source["device"].as_string()) != devices.end();
}

bool is_emulated(const View& view, const Claim& mirror) {
  const auto node = view.get(api::kNode, {"", mirror.node});
  return node && node->label(kEmulatedLabel) == "true";
}

// The agent of a real node ends a slice first, when its kubelet or the API server says so.
bool left_to_agent(const View& view, const Claim& mirror) {
  return is_made(mirror) && view.get(api::kNode, {"", mirror.node}) && !is_emulated(view, mirror);
}

Plan end_mirror(const View& view, const Claim& mirror, const Settings& settings, Instant now) {
  if (is_emulated(view, mirror)) {
    return release_claim(mirror.object, mirror, settings, now);
  }
  Plan plan;
  plan.then(Delete{.target = {&kAllocationClaim, mirror.object.key()},
                   .guard = {.uid = std::string(mirror.object.uid())}});
  return plan;
}

// Warns once of opaque configuration for these devices, as NVIDIA's GpuConfig: how a GPU is shared
// is a matter of its node here.
void warn_of_config(const Object& claim, Plan& plan) {
  for (const Value& entry : claim.status()["allocation"]["devices"]["config"].items()) {
    const std::string_view driver = entry["opaque"]["driver"].as_string();
    if (driver != kDraDriver && driver != kAttributeDomain) {
      continue;
    }
    const std::string_view kind = entry["opaque"]["parameters"]["kind"].as_string();
    plan.then(Emit{.about = {&api::kResourceClaim, claim.key()},
                   .about_uid = std::string(claim.uid()),
                   .type = "Warning",
                   .reason = "ConfigIgnored",
                   .note = fmt::format("opaque configuration {} of driver {} has no effect: GPUs "
                                       "are shared by the node's annotation {}",
                                       kind, driver, kSharingAnnotation),
                   .id = fmt::format("{}-config-{}-{}", claim.uid(), driver, kind)});
  }
}

Plan reconcile(const View& view, const Key& key, Instant now) {
  const Settings settings = settings_of(view);
  const std::vector<Claim> there = mirrors_of(view, key);
  auto claim = view.get(api::kResourceClaim, key);
  Plan plan;
  for (const Claim& one : there) {
    if (one.object.deleting() || (claim && allocates(*claim, one))) {
      continue;
    }
    if (left_to_agent(view, one)) {
      // A key without its object and without a plan is forgotten.
      plan.wake_at(now + kAgentPause);
      continue;
    }
    // A slice that the cache lacks may exist: one in use must not go.
    const Live live = read_live(view, api::kResourceClaim, key, now, one.object.resource_version());
    if (!live.known) {
      continue;
    }
    if (live.absent() || !allocates(live.objects.front(), one)) {
      plan.merge(end_mirror(view, one, settings, now));
    }
  }
  if (!claim) {
    return plan;
  }
  for (const Value& result : claim->status()["allocation"]["devices"]["results"].items()) {
    if (result["driver"].as_string() != kDraDriver || result["adminAccess"].as_bool()) {
      continue;
    }
    const Ref target{
        &kAllocationClaim,
        {settings.ns, fmt::format("{}-{}", claim->uid(), result["device"].as_string())}};
    const auto known = view.get(kAllocationClaim, target.key);
    if (!known) {
      const Value device =
          published_device(view, result["pool"].as_string(), result["device"].as_string());
      if (device.is_null()) {
        continue;  // runs again when the pool changes
      }
      plan.then(Create{.target = target, .object = mirror(*claim, result, device, settings)});
      warn_of_config(*claim, plan);
    }
    if (!known || known->status()["state"].as_string().empty()) {
      plan.then(Status{
          .target = target,
          .status = claim_status(known ? known->status() : Value(), {kStaged, kCreated}, 1, now)});
    }
  }
  return plan;
}

}  // namespace

std::vector<std::string> mirror_claims(const Object& claim) {
  const Value& source = claim.spec()[kMirrorMember];
  return source.is_object()
             ? std::vector<std::string>{source["namespace"].str() + "/" + source["name"].str()}
             : std::vector<std::string>();
}

std::vector<Claim> mirrors_of(const View& view, const Key& resource_claim) {
  std::vector<Claim> claims;
  for (const Object& object :
       view.list(kAllocationClaim, {.index = std::string(kMirrorsByClaim),
                                   .index_value = resource_claim.ns + "/" + resource_claim.name})) {
    if (auto claim = read_claim(object)) {
      claims.push_back(*std::move(claim));
    }
  }
  return claims;
}

std::vector<std::string> emulated_devices(const Object& resource_claim) {
  std::vector<std::string> devices;
  for (const Value& result : resource_claim.status()["allocation"]["devices"]["results"].items()) {
    if (result["driver"].as_string() == kDraDriver && !result["adminAccess"].as_bool()) {
      devices.push_back(result["device"].str());
    }
  }
  return devices;
}

const Operator& mirror_operator() {
  static constexpr const Kind* kReads[] = {&api::kResourceClaim, &kAllocationClaim,
                                           &api::kResourceSlice, &api::kNode};
  static constexpr const Kind* kWrites[] = {&kAllocationClaim};
  static constexpr Access kAccess[] = {{&kAllocationClaim, "create delete patch"},
                                       {&kAllocationClaim, "patch", "status"},
                                       {&api::kResourceClaim, "get"},
                                       {&api::kEvent, "create patch"}};
  static const Index kIndexes[] = {{&kAllocationClaim, kMirrorsByClaim, mirror_claims},
                                   {&api::kResourceSlice, kByPool, slice_pools}};
  static const Operator kOperator{.name = "das-dra-mirror",
                                  .primary = &api::kResourceClaim,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .indexes = kIndexes,
                                  .reconcile = reconcile,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::das
