// SPDX-License-Identifier: Apache-2.0
// The scenes that are played, and what is checked of each.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/properties/properties.hpp"

namespace athanor::sim {

// Everything bad at once in a world with one store and one feed: what is late is late in order.
Faults laptop_storm();

Scene fournos_scene();
Value fournos_endings(const World& world);
Scene hearth_scene();
Value hearth_ending(const World& world);
Scene tekton_scene();
Value tekton_ending(const World& world);
Scene three_jobs();
// One of the three is deleted in the middle of its run, one is stopped by its user.
Scene interrupted_jobs();
Value jobs_as_seen(const World& world);
// Pods that want slices of GPUs, more than there are at times.
Scene slices_scene();
Value slices_as_seen(const World& world);
// The same on nodes with agents of their own, which die between their steps; one that makes a
// mistake breaks a rule.
enum class Mistake : std::uint8_t;
Scene slice_agents_scene(Mistake mistake);
// Four pods with one slice each on one node, whose kubelet admits them in another order than they
// are old: their agent exchanges claims. Two of them end.
Scene slice_exchange_scene();
// Bursts of pods of quality Guaranteed on nodes with zones.
Scene zones_scene();
// The same with exporters that publish at their periods, are restarted and paused, and pods that
// take former ones' names.
Scene zones_late_scene();
Value zones_late_as_seen(const World& world);
Value zones_as_seen(const World& world);
// Queues in a random tree of cohorts, another one for each seed.
Scene queueing_scene(std::uint64_t seed);
Value queueing_ending(const World& world);
// A hand-over at one write in ten.
Faults queueing_handovers();
// AppWrappers that are queued, preempted, reset and deleted; and one life with a reset.
Scene appwrapper_scene();
Scene appwrapper_reset_scene();
Value appwrappers_as_seen(const World& world);
Scene workloads_scene();
Value workloads_as_seen(const World& world);
// Schedules whose every start makes one Job.
Scene schedules_scene();
Value schedules_as_seen(const World& world);
// A few ReplicaSets whose pods run at once, made, scaled, deleted; `bystanders` that nothing
// happens to.
Scene small_scene(int bystanders = 0);
Value small_ending(const World& world);

// One scene with what its checks need. What is empty is not checked.
struct Play {
  std::string name{};
  SceneMaker make{};
  std::function<Scene(std::uint64_t seed)> make_of{};  // instead: each seed plays its own scene
  Projection projection{};
  Faults storm{};
  std::vector<const Kind*> roots{};                // P11: what an administrator deletes
  std::vector<Edit> edits{};                       // P8
  std::function<Scene(int bystanders)> crowded{};  // P10
  std::optional<Duration> takeover{};              // P12: the latest moment of it
  std::uint64_t stride = 1;  // of exhaustive placement in `make sim`: every that many chances
};
const std::vector<Play>& plays();
const Play* play_named(std::string_view name);

// What one seed checks of a play: a storm, and in turn one of the other properties. `placed`: both
// under exactly these faults instead of chance.
std::optional<Finding> check_seed(const Play& play, std::uint64_t seed, Tally* tally,
                                  const std::optional<FaultList>& placed = {}, bool record = false);

}  // namespace athanor::sim
