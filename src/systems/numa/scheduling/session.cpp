// SPDX-License-Identifier: Apache-2.0
// The scheduler's hooks.
#include "systems/numa/scheduling/session.hpp"

#include <algorithm>
#include <map>

#include "api/builtin.hpp"
#include "kube/text/yaml.hpp"
#include "kube/value/condition.hpp"
#include "systems/numa/instruments.hpp"
#include "systems/numa/kinds.hpp"
#include "systems/numa/operator/manifests.hpp"
#include "systems/numa/scheduling/eviction.hpp"
#include "systems/numa/scheduling/fingerprint.hpp"
#include "systems/numa/scheduling/residents.hpp"
#include "systems/numa/settings.hpp"

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

// Which pods the fingerprint is computed of.
std::string_view method_of(ResyncMethod resync, const NodeTopology& topology) {
  return resync == ResyncMethod::All                      ? kMethodAll
         : resync == ResyncMethod::OnlyExclusiveResources ? kMethodExclusive
                                                          : std::string_view(topology.method);
}

// Whether a pod of another scheduler that the object does not account keeps ours away.
bool blocks(ForeignPods detect, const PodRequest& request, const NodeTopology& topology) {
  return detect == ForeignPods::All ||
         (detect == ForeignPods::OnlyExclusiveResources && is_exclusive(request, topology));
}

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

NodeView believed(const View& view, const Object& node, const Profile& profile,
                  const Beliefs& beliefs) {
  const auto object = view.get(kTopologyKind, {"", std::string(node.name())});
  if (!object) {
    return {};
  }
  NodeTopology topology = read_topology(object->body());
  if (profile.discard_reserved && !beliefs.placed.empty()) {
    return {.topology = std::nullopt, .fresh = false};
  }
  if (profile.cached) {
    const Residents residents =
        residents_of(view, node, topology, method_of(profile.resync, topology));
    const Trust trust{.now = beliefs.now, .unfingerprinted = profile.trust_unfingerprinted};
    for (std::size_t i = covered(topology, residents, trust); i < residents.active.size(); ++i) {
      const Resident& resident = residents.active[i];
      const bool foreign = resident.pod.spec()["schedulerName"].as_string() != profile.name;
      if (foreign && blocks(profile.foreign, resident.request, topology)) {
        return {.topology = std::nullopt, .fresh = false};
      }
      subtract_everywhere(resident.request.effective, topology);
    }
  }
  for (const PodRequest& request : beliefs.placed) {
    subtract_everywhere(request.effective, topology);
  }
  return {.topology = std::move(topology)};
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

bool accounts_all(const View& view, const Object& node, const NodeTopology& topology) {
  const Residents residents = residents_of(view, node, topology, topology.method);
  return covered(topology, residents, {}) == residents.active.size();
}

namespace {

// The plug-in's defaults where nothing, or nothing known, is written (docs/spec/numa.md 11.1).
ForeignPods foreign_of(std::string_view text) {
  return text == "None"                     ? ForeignPods::None
         : text == "OnlyExclusiveResources" ? ForeignPods::OnlyExclusiveResources
                                            : ForeignPods::All;
}

ResyncMethod resync_of(std::string_view text) {
  return text == "All"                      ? ResyncMethod::All
         : text == "OnlyExclusiveResources" ? ResyncMethod::OnlyExclusiveResources
                                            : ResyncMethod::Autodetect;
}

}  // namespace

Result<Profile> read_scheduler_config(std::string_view text) {
  ATHANOR_TRY(const Value config, yaml::parse(text));
  const Value& profile = config["profiles"][0];
  const Value& args = profile["pluginConfig"][0]["args"];
  if (profile["schedulerName"].as_string().empty()) {
    return Error::bad_request("profiles[0].schedulerName is required");
  }
  ATHANOR_TRY(const Strategy strategy, parse_strategy(args["scoringStrategy"]["type"].as_string()));
  const std::string_view preemption = args["preemptionMode"].as_string();
  if (!preemption.empty() && preemption != "Enabled" && preemption != "Disabled") {
    return Error::bad_request("invalid PreemptionMode: " + std::string(preemption));
  }
  Profile result{
      .name = profile["schedulerName"].str(),
      .cached = args["cacheResyncPeriodSeconds"].as_int() > 0,
      .discard_reserved = args["discardReservedNodes"].as_bool(),
      .foreign = foreign_of(args["cache"]["foreignPodsDetect"].as_string()),
      .resync = resync_of(args["cache"]["resyncMethod"].as_string()),
      .trust_unfingerprinted = args["cache"]["trustUnfingerprinted"].as_bool(),
      .preemption = preemption == "Enabled" && args["cacheResyncPeriodSeconds"].as_int() > 0 &&
                    !args["discardReservedNodes"].as_bool(),
      .require_topology = args["requireTopology"].as_bool(),
      .sidecars = args.contains("sidecarAccounting") && !args["sidecarAccounting"].as_bool()
                      ? Sidecars::LikeInit
                      : Sidecars::Counted,
      .scoring = {.strategy = strategy,
                  .ignore_unlisted = args["scoringStrategy"]["ignoreUnlisted"].as_bool()}};
  for (const Value& policy : args["policies"].items()) {
    result.filter.restricted = result.filter.restricted || policy.as_string() == kRestricted;
  }
  for (const Value& resource : args["scoringStrategy"]["resources"].items()) {
    result.scoring.weights.insert_or_assign(resource["name"].str(), resource["weight"].as_int());
  }
  return result;
}

std::optional<Profile> profile_of(const View& view) {
  const Value& section = view.config("numa");
  if (const std::string_view name = section[kExtenderProfile].as_string(); !name.empty()) {
    const auto strategy = parse_strategy(section[kExtenderScoring].as_string());
    return Profile{.name = std::string(name),
                   .foreign = ForeignPods::OnlyExclusiveResources,
                   .preemption = section[kExtenderPreemption].as_bool(),
                   .scoring = {.strategy = strategy.ok() ? *strategy : Strategy::LeastAllocated}};
  }
  const std::string ns = settings_of(section).ns;
  const auto deployment = view.get(api::kDeployment, {ns, kDeploymentName});
  if (!deployment || deployment->status()["availableReplicas"].as_int() < 1) {
    return std::nullopt;
  }
  const auto config = view.get(api::kConfigMap, {ns, kSchedulerConfig});
  if (!config) {
    return std::nullopt;
  }
  auto profile = read_scheduler_config(config->body()["data"]["config.yaml"].as_string());
  return profile.ok() ? std::optional(*std::move(profile)) : std::nullopt;
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
