// SPDX-License-Identifier: Apache-2.0
// The scheduler's hooks.
#include "systems/numa/scheduling/session.hpp"

#include <algorithm>
#include <map>

#include "api/builtin.hpp"
#include "kube/value/condition.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/scheduling/eviction.hpp"
#include "systems/numa/scheduling/fingerprint.hpp"
#include "systems/numa/scheduling/instruments.hpp"
#include "systems/numa/scheduling/residents.hpp"

namespace athanor::numa {
namespace {

// A container that the exporter places: it holds cpus, memory or devices of a zone.
bool has_place(const ContainerRequest& container, const PodRequest& pod,
               const NodeTopology& topology) {
  const PodRequest alone{
      .guaranteed = pod.guaranteed, .non_native = pod.non_native, .containers = {container}};
  return is_exclusive(alone, topology);
}

class Session final : public SchedulingSession {
 public:
  Session(const View& view, Instant now) : view_(view), now_(now), profile_(profile_of(view)) {}

  bool concerns(const Object& pod) override {
    return profile_ && pod.spec()["schedulerName"].as_string() == profile_->name;
  }

  std::optional<HookRefusal> filter(const Object& pod, const Object& node,
                                    std::span<const std::string_view> leaving) override {
    const PodRequest request = request_of(pod, profile_->sidecars);
    if (passes_unseen(request)) {
      return std::nullopt;
    }
    const NodeView& known = look(node);
    if (!known.fresh || !known.topology) {
      auto reason = refusal_without_zones(request, known, *profile_);
      return reason
                 ? std::optional(HookRefusal{.reason = *std::move(reason), .for_good = known.fresh})
                 : std::nullopt;
    }
    const Amounts allocatable = amounts_of(node.status()["allocatable"]);
    // Without preemptionMode no eviction changes what the zones have.
    if (leaving.empty() || !profile_->preemption) {
      return refusal_of(
          numa::filter(request, *known.topology, allocatable, nullptr, profile_->filter));
    }
    if (still_shows_victims(pod)) {
      return HookRefusal{.reason = kStaleData};
    }
    const auto simulated = without(node, *known.topology, leaving);
    if (!simulated.ok()) {
      return HookRefusal{.reason = simulated.error().message};
    }
    return refusal_of(numa::filter(request, *simulated, allocatable, nullptr, profile_->filter));
  }

  std::int64_t score(const Object& pod, const Object& node) override {
    const NodeView& known = look(node);
    return numa::score(request_of(pod, profile_->sidecars),
                       known.fresh && known.topology ? &*known.topology : nullptr,
                       profile_->scoring);
  }

  Plan reserve(const Object& pod, const Object& node) override {
    const std::string name(node.name());
    placed_[name].push_back(request_of(pod, profile_->sidecars));
    known_.erase(name);
    return {};
  }

 private:
  static std::optional<HookRefusal> refusal_of(const Result<void>& verdict) {
    return verdict.ok() ? std::nullopt
                        : std::optional(HookRefusal{.reason = verdict.error().message});
  }

  // True while the zones of the node that was freed for the pod do not show its victims gone: more
  // victims now, there or elsewhere, would go for nothing.
  [[nodiscard]] bool still_shows_victims(const Object& pod) const {
    const Key promised{"", pod.status()["nominatedNodeName"].str()};
    const auto node = view_.get(api::kNode, promised);
    const auto object = view_.get(kTopologyKind, promised);
    if (!node || !object) {
      return false;
    }
    const NodeTopology topology = read_topology(object->body());
    return !topology.fingerprint.empty() && !accounts_all(view_, *node, topology);
  }

  // The zones as they would be without these pods.
  [[nodiscard]] Result<NodeTopology> without(const Object& node, const NodeTopology& topology,
                                             std::span<const std::string_view> leaving) const {
    std::vector<Victim> victims;
    for (const Object& pod :
         view_.list(api::kPod, {.index = "node", .index_value = std::string(node.name())})) {
      if (std::ranges::find(leaving, pod.uid()) != leaving.end()) {
        victims.push_back({.key = pod.key(), .request = request_of(pod)});
      }
    }
    return simulate_eviction(topology, victims, placement_on(view_, node));
  }

  const NodeView& look(const Object& node) {
    const std::string name(node.name());
    const auto found = known_.find(name);
    if (found != known_.end()) {
      return found->second;
    }
    NodeView known = believed(view_, node, *profile_, {.placed = placed_[name], .now = now_});
    return known_.emplace(name, std::move(known)).first->second;
  }

  const View& view_;
  Instant now_;
  std::optional<Profile> profile_;
  std::map<std::string, NodeView> known_{};
  std::map<std::string, std::vector<PodRequest>> placed_{};
};

std::unique_ptr<SchedulingSession> begin(const View& view, Instant now) {
  return std::make_unique<Session>(view, now);
}

std::vector<std::string> profiles(const View& view) {
  auto profile = profile_of(view);
  return profile ? std::vector{std::move(profile->name)} : std::vector<std::string>{};
}

}  // namespace

std::map<ContainerName, int> placement_on(const View& view, const Object& node) {
  const auto object = view.get(kTopologyKind, {"", std::string(node.name())});
  if (!object) {
    return {};
  }
  const PackedPlacement packed = read_placement(object->body());
  if (packed.metadata.empty()) {
    return {};
  }
  const NodeTopology topology = read_topology(object->body());
  const Residents residents = residents_of(view, node, topology, topology.method);
  std::vector<ContainerName> containers;
  for (std::size_t i = 0; i < covered(topology, residents, {}); ++i) {
    const Object& pod = residents.active[i].pod;
    for (const ContainerRequest& container : residents.active[i].request.containers) {
      if (has_place(container, residents.active[i].request, topology)) {
        containers.push_back({std::string(pod.ns()), std::string(pod.name()), container.name});
      }
    }
  }
  const auto placement = unpack_placement(packed, containers);
  return placement.ok() ? *placement : std::map<ContainerName, int>();
}

std::optional<std::string> refusal_without_zones(const PodRequest& pod, const NodeView& known,
                                                 const Profile& profile) {
  if (passes_unseen(pod)) {
    return std::nullopt;
  }
  if (!known.fresh) {
    return kStaleData;
  }
  return profile.require_topology ? std::optional<std::string>(kNoTopology) : std::nullopt;
}

const SchedulingHooks& numa_scheduling() {
  static const Kind* const kReads[] = {&api::kPod, &api::kNode, &kTopologyKind, &api::kDeployment,
                                       &api::kConfigMap};
  static const SchedulingHooks kHooks{.name = "numa",
                                      .reads = kReads,
                                      .begin = begin,
                                      .profiles = profiles,
                                      .instruments = &scheduling_instruments()};
  return kHooks;
}

}  // namespace athanor::numa
