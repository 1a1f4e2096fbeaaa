// SPDX-License-Identifier: Apache-2.0
// The scheduler's hooks.
#include "systems/numa/scheduling/session.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "api/builtin.hpp"
#include "kube/text/yaml.hpp"
#include "kube/value/condition.hpp"
#include "systems/numa/instruments.hpp"
#include "systems/numa/kinds.hpp"
#include "systems/numa/operator/manifests.hpp"
#include "systems/numa/scheduling/eviction.hpp"
#include "systems/numa/scheduling/fingerprint.hpp"
#include "systems/numa/settings.hpp"

namespace athanor::numa {
namespace {

bool is_active(const Object& pod) {
  const std::string_view phase = pod.status()["phase"].as_string();
  return phase != "Succeeded" && phase != "Failed";
}

// When a pod was bound, as far as its conditions tell.
std::tuple<std::string, std::string, std::string> order_of(const Object& pod) {
  return {find_condition(pod.status()["conditions"], "PodScheduled")["lastTransitionTime"].str(),
          pod.metadata()["creationTimestamp"].str(), std::string(pod.name())};
}

struct Resident {
  Object pod{};
  PodRequest request{};
};

// The pods whose resources the node's zones account, those bound first in front.
std::vector<Resident> residents_of(const View& view, const Object& node,
                                   const NodeTopology& topology) {
  std::vector<Resident> residents;
  for (const Object& pod :
       view.list(api::kPod, {.index = "node", .index_value = std::string(node.name())})) {
    PodRequest request = request_of(pod);
    if (is_active(pod) && (topology.method == kMethodAll || is_exclusive(request, topology))) {
      residents.push_back({pod, std::move(request)});
    }
  }
  std::ranges::stable_sort(residents, {}, [](const Resident& one) { return order_of(one.pod); });
  return residents;
}

bool covers(const NodeTopology& topology, const std::vector<Resident>& residents,
            std::size_t count) {
  std::vector<Key> keys;
  for (std::size_t i = 0; i < count; ++i) {
    keys.push_back(residents[i].pod.key());
  }
  return check_fingerprint(fingerprint_of(std::span<const Key>(keys)), topology.fingerprint).ok();
}

// How many of the residents the object accounts already: all but the newest ones. 0 where nothing
// matches: then all of them count once more, and nothing is given twice.
std::size_t covered(const NodeTopology& topology, const std::vector<Resident>& residents) {
  for (std::size_t count = residents.size(); count > 0; --count) {
    if (covers(topology, residents, count)) {
      return count;
    }
  }
  return 0;
}

// A container that the exporter places: it holds cpus, memory or devices of a zone.
bool has_place(const ContainerRequest& container, const PodRequest& pod,
               const NodeTopology& topology) {
  const PodRequest alone{
      .guaranteed = pod.guaranteed, .non_native = pod.non_native, .containers = {container}};
  return is_exclusive(alone, topology);
}

class Session final : public SchedulingSession {
 public:
  explicit Session(const View& view) : view_(view), profile_(profile_of(view)) {}

  bool concerns(const Object& pod) override {
    return profile_ && pod.spec()["schedulerName"].as_string() == profile_->name;
  }

  std::optional<HookRefusal> filter(const Object& pod, const Object& node,
                                    std::span<const std::string_view> leaving) override {
    const PodRequest request = request_of(pod);
    if (passes_unseen(request)) {
      return std::nullopt;
    }
    const NodeView& known = look(node);
    if (!known.fresh) {
      return HookRefusal{.reason = kStaleData};
    }
    if (!known.topology) {
      return profile_->require_topology
                 ? std::optional(HookRefusal{.reason = kNoTopology, .for_good = true})
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
    return numa::score(request_of(pod), known.fresh && known.topology ? &*known.topology : nullptr,
                       profile_->scoring);
  }

  Plan reserve(const Object& pod, const Object& node) override {
    const std::string name(node.name());
    placed_[name].push_back(request_of(pod));
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
    return known_.emplace(name, believed(view_, node, *profile_, placed_[name])).first->second;
  }

  const View& view_;
  std::optional<Profile> profile_;
  std::map<std::string, NodeView> known_{};
  std::map<std::string, std::vector<PodRequest>> placed_{};
};

std::unique_ptr<SchedulingSession> begin(const View& view, Instant /*now*/) {
  return std::make_unique<Session>(view);
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
  const std::vector<Resident> residents = residents_of(view, node, topology);
  std::vector<ContainerName> containers;
  for (std::size_t i = 0; i < covered(topology, residents); ++i) {
    const Object& pod = residents[i].pod;
    for (const ContainerRequest& container : residents[i].request.containers) {
      if (has_place(container, residents[i].request, topology)) {
        containers.push_back({std::string(pod.ns()), std::string(pod.name()), container.name});
      }
    }
  }
  const auto placement = unpack_placement(packed, containers);
  return placement.ok() ? *placement : std::map<ContainerName, int>();
}

NodeView believed(const View& view, const Object& node, const Profile& profile,
                  const std::vector<PodRequest>& placed) {
  const auto object = view.get(kTopologyKind, {"", std::string(node.name())});
  if (!object) {
    return {};
  }
  NodeTopology topology = read_topology(object->body());
  if (profile.cached && !topology.fingerprint.empty()) {
    const std::vector<Resident> residents = residents_of(view, node, topology);
    for (std::size_t i = covered(topology, residents); i < residents.size(); ++i) {
      const bool foreign = residents[i].pod.spec()["schedulerName"].as_string() != profile.name;
      if (foreign && (profile.aggressive || is_exclusive(residents[i].request, topology))) {
        return {.topology = std::nullopt, .fresh = false};
      }
      subtract_everywhere(residents[i].request.effective, topology);
    }
  }
  for (const PodRequest& request : placed) {
    subtract_everywhere(request.effective, topology);
  }
  return {.topology = std::move(topology)};
}

bool accounts_all(const View& view, const Object& node, const NodeTopology& topology) {
  const std::vector<Resident> residents = residents_of(view, node, topology);
  return covered(topology, residents) == residents.size();
}

std::optional<Profile> read_scheduler_config(std::string_view text) {
  const auto config = yaml::parse(text);
  if (!config.ok()) {
    return std::nullopt;
  }
  const Value& profile = (*config)["profiles"][0];
  const Value& args = profile["pluginConfig"][0]["args"];
  const auto strategy = parse_strategy(args["scoringStrategy"]["type"].as_string());
  if (profile["schedulerName"].as_string().empty() || !strategy.ok()) {
    return std::nullopt;
  }
  Profile result{.name = profile["schedulerName"].str(),
                 .cached = args["cacheResyncPeriodSeconds"].as_int() > 0,
                 .aggressive = args["cache"]["foreignPodsDetect"].as_string() == "All",
                 .preemption = args["preemptionMode"].as_string() == "Enabled",
                 .require_topology = args["requireTopology"].as_bool(),
                 .scoring = {.strategy = *strategy}};
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
    return Profile{.name = std::string(name)};
  }
  const std::string ns = settings_of(section).ns;
  const auto deployment = view.get(api::kDeployment, {ns, kDeploymentName});
  if (!deployment || deployment->status()["availableReplicas"].as_int() < 1) {
    return std::nullopt;
  }
  const auto config = view.get(api::kConfigMap, {ns, kSchedulerConfig});
  return config ? read_scheduler_config(config->body()["data"]["config.yaml"].as_string())
                : std::nullopt;
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
