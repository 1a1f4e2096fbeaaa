// SPDX-License-Identifier: Apache-2.0
// Profile: arguments of NodeResourceTopologyMatch (docs/spec/numa.md 11.1), read from the deployed
// scheduler's configuration or from the extender's flags.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "runtime/view/view.hpp"
#include "systems/numa/scheduling/fit.hpp"
#include "systems/numa/scheduling/pod_request.hpp"
#include "systems/numa/scheduling/score.hpp"

namespace athanor::numa {

// How a scheduler accounts pods that a node's object does not include yet (docs/spec/numa.md 11.6).
enum class Cache : std::uint8_t {
  OverReserve,      // their requests are taken from every zone
  Passthrough,      // they are not accounted
  DiscardReserved,  // likewise, and a node takes one pod at a time until that is bound
};
// Settings foreignPodsDetect and resyncMethod (docs/spec/numa.md 11.1).
enum class ForeignPods : std::uint8_t { None, All, OnlyExclusiveResources };
enum class ResyncMethod : std::uint8_t { Autodetect, All, OnlyExclusiveResources };

// The profile that the secondary scheduler runs with.
struct Profile {
  std::string name{};
  Cache cache = Cache::OverReserve;
  ForeignPods foreign = ForeignPods::OnlyExclusiveResources;
  ResyncMethod resync = ResyncMethod::Autodetect;
  // Objects without fingerprint are believed when they changed after the pods did (17, row 11).
  bool trust_unfingerprinted = false;
  // Victims are chosen by zone (docs/spec/numa.md 11.8); set only with OverReserve.
  bool preemption = false;
  bool require_topology = false;  // nodes without NodeResourceTopology are refused (17, row 2)
  FilterOptions filter{};         // policies besides single-numa-node (11.9)
  Sidecars sidecars = Sidecars::Counted;
  Scoring scoring{};
};

// Members of the section "numa" of the configuration: the profile whose pods an extender is asked
// about, in place of a deployed scheduler's, with the plug-in's default arguments besides these.
inline constexpr const char* kExtenderProfile = "extenderProfile";        // its name
inline constexpr const char* kExtenderPreemption = "extenderPreemption";  // a boolean
inline constexpr const char* kExtenderScoring = "extenderScoring";        // a scoring type
inline constexpr const char* kExtenderCache = "extenderCache";            // see cache_of()

// Returns the cache of this name: "over-reserve", "passthrough" or "discard-reserved"; nullopt:
// another name.
std::optional<Cache> cache_of(std::string_view name);

// Returns the profile of the deployed scheduler; nullopt: none runs.
std::optional<Profile> profile_of(const View& view);
// Reads a KubeSchedulerConfiguration. Errors: "invalid ScoringStrategyType: ...", "invalid
// PreemptionMode: ...", or the text is no configuration with a profile.
Result<Profile> read_scheduler_config(std::string_view text);

}  // namespace athanor::numa
