// SPDX-License-Identifier: Apache-2.0
// Shares of GPUs in a scheduling cycle: which nodes have room, and the claims of a pod that fits.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "systems/das/model/claim.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/settings.hpp"
#include "systems/das/sharing/hooks.hpp"
#include "systems/das/sharing/share.hpp"

namespace athanor::das {
namespace {

class ShareSession final : public SchedulingSession {
 public:
  ShareSession(const View& view, Instant now)
      : view_(view), now_(now), settings_(settings_of(view)) {}

  bool concerns(const Object& pod) override { return !shares_in(pod.spec()).empty(); }

  std::optional<HookRefusal> filter(const Object& pod, const Object& node,
                                    std::span<const std::string_view> leaving) override {
    const auto accelerator = view_.get(kNodeAccelerator, {settings_.ns, std::string(node.name())});
    if (!accelerator) {
      return HookRefusal{.reason = fmt::format(
                             "nodeaccelerator.inference.redhat.com \"{}\" not found", node.name()),
                         .for_good = true};
    }
    const std::string type = accelerator->spec()["acceleratorType"].str();
    const Vendor* const vendor = find_vendor(type);
    if (vendor == nullptr) {
      return HookRefusal{.reason = "unsupported acceleratorType " + type, .for_good = true};
    }
    return vendor->place(gpus_for(pod, node, leaving), shares_in(pod.spec())).empty()
               ? std::optional(HookRefusal{.reason = kNoGpu})
               : std::nullopt;
  }

  std::int64_t score(const Object& /*pod*/, const Object& /*node*/) override { return 0; }

  Plan reserve(const Object& pod, const Object& node) override {
    const std::vector<SharedGpu> gpus = gpus_for(pod, node, {});
    const std::vector<ShareRequest> requests = shares_in(pod.spec());
    const auto accelerator = view_.get(kNodeAccelerator, {settings_.ns, std::string(node.name())});
    const Vendor* const vendor =
        accelerator ? find_vendor(accelerator->spec()["acceleratorType"].as_string()) : nullptr;
    const std::vector<SharePlace> placed =
        vendor == nullptr ? std::vector<SharePlace>() : vendor->place(gpus, requests);
    if (placed.empty()) {
      return Plan::retry(Error::conflict(kNoGpu));
    }
    Plan plan = release(pod);  // claims of an attempt before
    for (std::size_t i = 0; i < placed.size(); ++i) {
      const SharedGpu& gpu = gpus[placed[i].gpu];
      const int index = placed[i].index;
      const Value claim =
          make_share({pod, settings_.ns, node.name(), requests[i]}, gpu, index, *vendor);
      const Ref target{&kAllocationClaim, {settings_.ns, claim["metadata"]["name"].str()}};
      plan.then(Create{.target = target, .object = claim});
      plan.then(
          Status{.target = target, .status = claim_status(Value(), {kStaged, kCreated}, 1, now_)});
      reserved_[gpu.uuid].insert(index);
    }
    return plan;
  }

  Plan release(const Object& pod) override {
    Plan plan;
    for (const Object& claim :
         view_.list(kAllocationClaim,
                    {.index = std::string(kClaimsByPod), .index_value = std::string(pod.uid())})) {
      if (is_share(claim)) {
        // As it was seen: an agent may have given it to another pod since.
        plan.then(Delete{.target = {&kAllocationClaim, claim.key()},
                         .guard = {.uid = std::string(claim.uid()),
                                   .resource_version = std::string(claim.resource_version())}});
      }
    }
    return plan;
  }

 private:
  std::vector<SharedGpu> gpus_for(const Object& pod, const Object& node,
                                  std::span<const std::string_view> leaving) {
    const auto accelerator = view_.get(kNodeAccelerator, {settings_.ns, std::string(node.name())});
    std::vector<SharedGpu> gpus = accelerator ? shared_gpus(accelerator->status()["nodeResources"])
                                              : std::vector<SharedGpu>();
    const std::vector<ShareClaim> claims = shares_on(view_, node.name());
    for (SharedGpu& gpu : gpus) {
      for (const ShareClaim& claim : claims) {
        if (claim.gpu != gpu.uuid || claim.pod_uid == pod.uid() ||
            std::ranges::find(leaving, claim.pod_uid) != leaving.end()) {
          continue;
        }
        if (!gpu.used.insert(claim.index).second) {
          take_share(gpu);  // two of one index, written by hand: both count
        }
      }
      if (const auto more = reserved_.find(gpu.uuid); more != reserved_.end()) {
        gpu.used.insert(more->second.begin(), more->second.end());
      }
    }
    return gpus;
  }

  const View& view_;
  Instant now_;
  Settings settings_;
  std::map<std::string, std::set<int>, std::less<>> reserved_{};  // of this cycle, by GPU
};

std::unique_ptr<SchedulingSession> begin(const View& view, Instant now) {
  return std::make_unique<ShareSession>(view, now);
}

std::vector<std::string> resources() {
  std::vector<std::string> names;
  for (const Vendor* vendor : vendors()) {
    const std::vector<std::string>& usual = vendor->facts().usual_resources;
    names.insert(names.end(), usual.begin(), usual.end());
  }
  return names;
}

}  // namespace

const SchedulingHooks& share_scheduling() {
  static constexpr const Kind* kReads[] = {&kNodeAccelerator, &kAllocationClaim};
  static constexpr const Kind* kWrites[] = {&kAllocationClaim};
  static const Index kIndexes[] = {{&kAllocationClaim, kClaimsByNode, claim_nodes},
                                   {&kAllocationClaim, kClaimsByPod, claim_pods}};
  static const SchedulingHooks kHooks{.name = "SharedAccelerator",
                                      .reads = kReads,
                                      .writes = kWrites,
                                      .indexes = kIndexes,
                                      .begin = begin,
                                      .resources = resources};
  return kHooks;
}

}  // namespace athanor::das
