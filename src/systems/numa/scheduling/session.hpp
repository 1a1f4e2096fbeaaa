// SPDX-License-Identifier: Apache-2.0
// NodeResourceTopologyMatch in the lab's scheduler (docs/spec/numa.md 11). What a node has free is
// computed anew in each cycle: its NodeResourceTopology, less the pods that its fingerprint does
// not cover yet, taken from every zone.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/view/scheduling.hpp"
#include "systems/numa/scheduling/cache.hpp"
#include "systems/numa/scheduling/fit.hpp"
#include "systems/numa/scheduling/placement_codec.hpp"
#include "systems/numa/scheduling/score.hpp"

namespace athanor::numa {

// The profile that the secondary scheduler runs with.
struct Profile {
  std::string name{};
  bool cached = true;             // false: Passthrough
  bool discard_reserved = false;  // nodes with a pod of this cycle take no other
  ForeignPods foreign = ForeignPods::OnlyExclusiveResources;
  ResyncMethod resync = ResyncMethod::Autodetect;
  // Objects without fingerprint are believed when they changed after the pods did (17, row 11).
  bool trust_unfingerprinted = false;
  // Victims are chosen by zone (docs/spec/numa.md 11.8); never set where nothing is cached.
  bool preemption = false;
  bool require_topology = false;  // nodes without NodeResourceTopology are refused (17, row 2)
  FilterOptions filter{};         // policies besides single-numa-node (11.9)
  Sidecars sidecars = Sidecars::Counted;
  Scoring scoring{};
};
// Member of the section "numa" of the configuration: the name of the profile whose pods an extender
// is asked about. It stands in for a deployed scheduler, with the plug-in's default arguments
// besides the two below: a boolean and a scoring type.
inline constexpr const char* kExtenderProfile = "extenderProfile";
inline constexpr const char* kExtenderPreemption = "extenderPreemption";
inline constexpr const char* kExtenderScoring = "extenderScoring";
// The profile of the scheduler that is deployed; nullopt: none runs.
std::optional<Profile> profile_of(const View& view);
// Reads a KubeSchedulerConfiguration. Errors: "invalid ScoringStrategyType: ...", "invalid
// PreemptionMode: ...", or the text is no configuration with a profile.
Result<Profile> read_scheduler_config(std::string_view text);

// What is known besides the view.
struct Beliefs {
  std::vector<PodRequest> placed{};  // of pods that the view does not show on the node yet
  std::optional<Instant> now{};      // nullopt: how old things are does not matter
};
// What the scheduler believes of a node.
NodeView believed(const View& view, const Object& node, const Profile& profile,
                  const Beliefs& beliefs);

// Whether the node's object accounts every pod on it that it should.
bool accounts_all(const View& view, const Object& node, const NodeTopology& topology);
// The zone of each container that the node's object places; empty where it does not say, or where
// what it says cannot be read.
std::map<ContainerName, int> placement_on(const View& view, const Object& node);

// Reason for a node without NodeResourceTopology where the profile requires one.
inline constexpr const char* kNoTopology = "no topology data";

// Returns the reason against a node whose zones are not known or not used; nullopt: the pod passes.
std::optional<std::string> refusal_without_zones(const PodRequest& pod, const NodeView& known,
                                                 const Profile& profile);

// Returns the plugin's hooks in the lab's scheduler.
const SchedulingHooks& numa_scheduling();

}  // namespace athanor::numa
