// SPDX-License-Identifier: Apache-2.0
// Rules of nodes with agents.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "api/builtin.hpp"
#include "sim/scenes/slice_agents.hpp"
#include "sim/scenes/slice_node.hpp"
#include "systems/das/agent/device_list.hpp"
#include "systems/das/agent/ledger.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/slices/profile.hpp"

namespace athanor::sim {
namespace {

constexpr Duration kMostUnclaimed = std::chrono::seconds(5);

}  // namespace

std::optional<std::string> SliceAgents::unclaimed_slice(const World& world) {
  std::set<std::string, std::less<>> claims;
  for (const Object& claim : world.list(das::kAllocationClaim)) {
    claims.emplace(claim.uid());
  }
  for (const auto& [name, node] : nodes_) {
    for (SliceNode::Slice& slice : node->slices) {
      if (claims.contains(slice.claim_uid)) {
        slice.unclaimed.reset();
        continue;
      }
      slice.unclaimed = slice.unclaimed.value_or(world.now());
      if (faults_ended_ &&
          world.now() - std::max(*slice.unclaimed, *faults_ended_) > kMostUnclaimed) {
        return fmt::format("{} on {} has had no claim for more than 5 s", slice.found.device, name);
      }
    }
  }
  return std::nullopt;
}

std::optional<std::string> SliceAgents::lost_slice(const World& world) const {
  if (flaw_) {
    return flaw_;
  }
  for (const auto& [name, node] : nodes_) {
    for (const auto& [device, user] : node->used) {
      const bool there = std::ranges::any_of(
          node->slices,
          [&, &wanted = device](const auto& slice) { return slice.found.device == wanted; });
      const auto pod = there ? std::nullopt : world.get(api::kPod, user.key);
      if (pod && pod->uid() == user.uid && !das::has_ended(*pod)) {
        return fmt::format("pod {} runs without its slice {}", user.key.text(), device);
      }
    }
  }
  return std::nullopt;
}

// Finds a claim whose pod is not the user of its slice: the end of that pod would destroy it.
std::optional<std::string> SliceAgents::misnamed(const World& world) const {
  std::map<std::string, std::string, std::less<>> pods;  // by claim
  for (const Object& claim : world.list(das::kAllocationClaim)) {
    pods.emplace(claim.uid(), claim.spec()["podRef"]["uid"].str());
  }
  for (const auto& [name, node] : nodes_) {
    for (const auto& [device, user] : node->used) {
      const auto slice = std::ranges::find_if(node->slices, [&, &wanted = device](const auto& one) {
        return one.found.device == wanted;
      });
      const auto pod = slice == node->slices.end() ? std::nullopt : world.get(api::kPod, user.key);
      if (pod && pod->uid() == user.uid && !das::has_ended(*pod) &&
          pods[slice->claim_uid] != user.uid) {
        return fmt::format("pod {} uses {}, whose claim names another", user.key.text(), device);
      }
    }
  }
  return std::nullopt;
}

std::optional<std::string> SliceAgents::ended_pod(std::span<const store::EventPtr> news) {
  for (const store::EventPtr& event : news) {
    if (event->object->resource != "pods") {
      continue;
    }
    const Object pod(event->object->body);
    const std::string_view phase = pod.status()["phase"].as_string();
    if (phase == "Running") {
      running_[std::string(pod.uid())] = true;
    } else if (phase == "Failed" && running_.contains(std::string(pod.uid())) && !deaths_ &&
               !pod.deleting()) {
      return "pod " + pod.key().text() + " ran and fails: " + pod.status()["message"].str();
    }
  }
  return std::nullopt;
}

std::optional<std::string> SliceAgents::wrong_capacity(const World& world) const {
  for (const auto& [name, node] : nodes_) {
    const auto object = world.get(api::kNode, {"", name});
    const auto accelerator = world.get(das::kNodeAccelerator, {das::kDefaultNamespace, name});
    if (!object || !accelerator) {
      return name + " publishes no GPUs";
    }
    const Value resources = node->resources();
    const Value& published = accelerator->status()["nodeResources"];
    if (published["bootId"] != resources["bootId"] ||
        published["nodeGpus"][0]["health"] != resources["nodeGpus"][0]["health"]) {
      return name + " publishes an old state of its GPU";
    }
    for (const das::DeviceList& list :
         das::device_lists(resources, *das::find_vendor(das::kNvidiaMig))) {
      const std::string resource = das::resource_of(list.profile);
      const auto usable = std::ranges::count(list.devices, true, &das::PluginDevice::healthy);
      if (object->status()["allocatable"][resource].as_string() != std::to_string(usable) ||
          object->status()["capacity"][resource].as_string() !=
              std::to_string(list.devices.size())) {
        return fmt::format("{} publishes {} {} instead of {}", name,
                           object->status()["allocatable"][resource].as_string(), resource, usable);
      }
    }
  }
  return std::nullopt;
}

void SliceAgents::add_rules(Scene& scene) {
  using News = std::span<const store::EventPtr>;
  const auto rule = [&](const char* name, Invariant::When when, auto check) {
    scene.invariants.push_back({.name = name, .when = when, .check = check});
  };
  for (const auto when : {Invariant::When::EveryStep, Invariant::When::AtRest}) {
    rule("no slice stays without a claim", when,
         [all = shared_from_this()](const World& world, News /*news*/) {
           return all->unclaimed_slice(world);
         });
    rule("a running pod keeps its slices", when,
         [all = shared_from_this()](const World& world, News /*news*/) {
           return all->lost_slice(world);
         });
  }
  rule("no restart of ours ends a pod", Invariant::When::EveryStep,
       [all = shared_from_this()](const World& /*world*/, News news) {
         return all->ended_pod(news);
       });
  rule("claims name the pods that use their slices", Invariant::When::AtRest,
       [all = shared_from_this()](const World& world, News /*news*/) {
         return all->misnamed(world);
       });
  rule("published capacity exists", Invariant::When::AtRest,
       [all = shared_from_this()](const World& world, News /*news*/) {
         return all->wrong_capacity(world);
       });
}

}  // namespace athanor::sim
