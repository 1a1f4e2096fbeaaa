// SPDX-License-Identifier: Apache-2.0
// The resource groups of a ClusterQueue as the clusters want them (docs/spec/hearth.md 8.2, 8.3):
// pure arithmetic on one Value. What it makes obeys every rule of Kueue's webhook; what would not
// is left out, and said.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor::hearth {

// What one cluster wants of the queue.
struct QuotaWish {
  enum class Presence : std::uint8_t {
    Join,   // have an entry
    Stay,   // keep the entry, if there is one
    Leave,  // have none
  };
  std::string cluster{};
  Presence presence = Presence::Join;
  std::optional<std::int64_t> slots{};         // nullopt: what is stored, else kSlotsPerCluster
  bool discovered = false;                     // false: GPU quotas stay as they are
  std::map<std::string, std::int64_t> gpus{};  // by resource; those not named are 0
};

// What became of the wish.
struct QuotaOutcome {
  enum class Kind : std::uint8_t { Synced, QuotaLimit, Rejected };
  Kind kind = Kind::Synced;
  std::string message{};                       // unless Synced
  bool was_there = false;                      // before
  std::optional<std::int64_t> former_slots{};  // its stored value before
  bool differs = false;                        // entry before and after
  bool gpus_differ = false;
};

// Result of edit_quotas().
struct QuotaEdit {
  Value groups{};  // spec.resourceGroups, to be written as a whole
  bool changed = false;
  std::map<std::string, QuotaOutcome> outcomes{};  // by cluster; of those that join or stay
};

// Keeps the order of existing entries; new ones follow in the order of `wishes`. Other groups stay
// as they are. `gpu_prefix` marks GPU quotas.
QuotaEdit edit_quotas(const Value& groups, const std::vector<QuotaWish>& wishes,
                      const std::string& gpu_prefix);

}  // namespace athanor::hearth
