// SPDX-License-Identifier: Apache-2.0
// Hints, their merge, and the choice of cpus, memory and devices.
#include "systems/numa/emulation/kubelet_managers.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <numeric>

namespace athanor::numa {
namespace {

using Mask = std::uint64_t;
// All sets of so many zones are enumerated; of more zones those of one and two.
constexpr std::size_t kMostSetZones = 16;

struct Hint {
  Mask zones = 0;
  bool preferred = true;
};

// A resource that a manager gives hints for, with what each zone could give and still has.
struct Claim {
  std::string resource{};
  std::int64_t amount = 0;
  std::vector<std::int64_t> allocatable{};
  std::vector<std::int64_t> free{};
};

std::int64_t count_of(const FreeZones& free, std::size_t zone, std::string_view resource) {
  if (resource == "cpu") {
    return static_cast<std::int64_t>(free.cpus[zone].size()) * kUnit;
  }
  const auto devices = free.devices[zone].find(resource);
  if (devices != free.devices[zone].end()) {
    return static_cast<std::int64_t>(devices->second.size()) * kUnit;
  }
  return amount_of(free.memory[zone], resource);
}

bool takes_for_itself(const std::string& resource, std::int64_t amount, bool guaranteed) {
  if (amount <= 0) {
    return false;
  }
  if (!is_native(resource)) {
    return true;
  }
  return guaranteed && is_numa_affine(resource) && (resource != "cpu" || amount % kUnit == 0);
}

std::vector<Claim> claims_of(const NodeProfile& profile, const FreeZones& free,
                             const Amounts& request, bool guaranteed) {
  std::vector<Claim> claims;
  for (const auto& [resource, amount] : request) {
    if (!takes_for_itself(resource, amount, guaranteed)) {
      continue;
    }
    Claim claim{.resource = resource, .amount = amount};
    bool known = false;
    for (std::size_t i = 0; i < profile.zones.size(); ++i) {
      const Amounts allocatable = profile.allocatable(i);
      known = known || allocatable.find(resource) != allocatable.end();
      claim.allocatable.push_back(amount_of(allocatable, resource));
      claim.free.push_back(count_of(free, i, resource));
    }
    // A device that no zone has comes without topology and gives no hint.
    if (known || is_native(resource)) {
      claims.push_back(std::move(claim));
    }
  }
  return claims;
}

std::int64_t sum_over(const std::vector<std::int64_t>& amounts, Mask zones) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    sum += (zones >> i & 1U) != 0 ? amounts[i] : 0;
  }
  return sum;
}

// Returns the zones with the largest amounts that serve the claim together; all where none do.
Mask largest_first(const std::vector<std::int64_t>& amounts, std::int64_t wanted) {
  std::vector<std::size_t> order(amounts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return amounts[i]; });
  Mask zones = 0;
  for (const std::size_t i : order) {
    if (wanted <= 0) {
      break;
    }
    zones |= Mask{1} << i;
    wanted -= amounts[i];
  }
  return zones;
}

// Returns the sets of zones that are looked at for a claim.
std::vector<Mask> candidates_of(const Claim& claim) {
  const std::size_t count = claim.free.size();
  std::vector<Mask> sets;
  if (count <= kMostSetZones) {
    for (Mask zones = 1; zones < Mask{1} << count; ++zones) {
      sets.push_back(zones);
    }
    return sets;
  }
  Mask all = 0;
  for (std::size_t i = 0; i < count; ++i) {
    all |= Mask{1} << i;
    sets.push_back(Mask{1} << i);
    for (std::size_t j = 0; j < i; ++j) {
      sets.push_back(Mask{1} << i | Mask{1} << j);
    }
  }
  // One set of three and more zones, and all of them.
  for (const Mask zones : {largest_first(claim.free, claim.amount), all}) {
    if (std::popcount(zones) > 2) {
      sets.push_back(zones);
    }
  }
  return sets;
}

// Sets of zones that can serve a claim; preferred are those of the smallest size that an empty node
// needs.
std::vector<Hint> hints_of(const Claim& claim) {
  const int smallest = std::popcount(largest_first(claim.allocatable, claim.amount));
  std::vector<Hint> hints;
  for (const Mask zones : candidates_of(claim)) {
    if (sum_over(claim.free, zones) >= claim.amount) {
      hints.push_back({.zones = zones, .preferred = std::popcount(zones) == smallest});
    }
  }
  return hints;
}

// Preferred first, then the fewest zones, then the lowest ids.
bool better(const Hint& a, const Hint& b) {
  if (a.preferred != b.preferred) {
    return a.preferred;
  }
  if (std::popcount(a.zones) != std::popcount(b.zones)) {
    return std::popcount(a.zones) < std::popcount(b.zones);
  }
  return a.zones < b.zones;
}

// Intersects one hint of each claim in every way and keeps the best. nullopt: some claim has none.
std::optional<Hint> merged(const std::vector<Claim>& claims, bool single) {
  // Several ways lead to one intersection: only whether all parts were preferred differs.
  std::map<Mask, bool> sets{{~Mask{0}, true}};
  for (const Claim& claim : claims) {
    std::map<Mask, bool> next;
    for (const Hint& hint : hints_of(claim)) {
      if (single && std::popcount(hint.zones) != 1) {
        continue;
      }
      for (const auto& [zones, preferred] : sets) {
        if (const Mask both = zones & hint.zones; both != 0) {
          bool& known = next[both];
          known = known || (preferred && hint.preferred);
        }
      }
    }
    sets = std::move(next);
  }
  std::optional<Hint> best;
  for (const auto& [zones, preferred] : sets) {
    const Hint hint{zones, preferred};
    if (!best || better(hint, *best)) {
      best = hint;
    }
  }
  return best;
}

bool admits(std::string_view policy, const std::optional<Hint>& hint) {
  if (policy == kSingleNumaNode) {
    return hint && std::popcount(hint->zones) == 1;
  }
  return policy != kRestricted || (hint && hint->preferred);
}

// Takes from the zones of the mask first, then from any: policies that do not align may spill.
void allocate(const NodeProfile& profile, const Claim& claim, Mask zones, FreeZones& free,
              Allocation& allocation) {
  std::int64_t rest = claim.amount;
  for (const bool wanted : {true, false}) {
    for (std::size_t i = 0; i < profile.zones.size() && rest > 0; ++i) {
      if (((zones >> i & 1U) != 0) != wanted) {
        continue;
      }
      const auto pool = free.devices[i].find(claim.resource);
      if (claim.resource == "cpu") {
        while (rest > 0 && !free.cpus[i].empty()) {
          allocation.cpus.push_back(free.cpus[i].front());
          free.cpus[i].erase(free.cpus[i].begin());
          rest -= kUnit;
        }
      } else if (pool != free.devices[i].end()) {
        while (rest > 0 && !pool->second.empty()) {
          allocation.devices[claim.resource].push_back(pool->second.front());
          pool->second.erase(pool->second.begin());
          rest -= kUnit;
        }
      } else if (const auto memory = free.memory[i].find(claim.resource);
                 memory != free.memory[i].end() && memory->second > 0) {
        const std::int64_t part = std::min(rest, memory->second);
        memory->second -= part;
        allocation.memory[static_cast<int>(i)][claim.resource] += part;
        rest -= part;
      }
    }
  }
}

// Devices without topology: any of them, as many as there are.
void allocate_loose(const Amounts& request, FreeZones& free, Allocation& allocation) {
  for (auto& [resource, ids] : free.loose) {
    const auto count =
        std::min<std::int64_t>(amount_of(request, resource) / kUnit, std::ssize(ids));
    if (count > 0) {
      std::vector<std::string>& taken = allocation.devices[resource];
      taken.insert(taken.end(), ids.begin(), ids.begin() + count);
      ids.erase(ids.begin(), ids.begin() + count);
    }
  }
}

void erase_ids(const DeviceIdsByName& taken, DeviceIdsByName& free) {
  for (auto& [resource, ids] : free) {
    const auto gone = taken.find(resource);
    if (gone != taken.end()) {
      std::erase_if(ids, [&](const std::string& id) {
        return std::ranges::find(gone->second, id) != gone->second.end();
      });
    }
  }
}

class Admission {
 public:
  Admission(const NodeProfile& profile, const PodRequest& pod) : profile_(profile), pod_(pod) {}

  std::optional<PodAllocation> run(FreeZones free) {
    std::optional<Mask> for_all;
    if (profile_.scope == "pod") {
      const auto zones = decide(free, aligned_request(pod_));
      if (!zones) {
        return std::nullopt;
      }
      for_all = *zones;
    }
    PodAllocation allocations;
    for (const ContainerRequest& container : pod_.containers) {
      const bool passing = container.role == ContainerRequest::Role::Init;
      const auto zones = for_all ? for_all : decide(free, container.requests);
      if (!zones) {
        return std::nullopt;
      }
      // Init containers hand on what they had: the pod needs no more than its larger part.
      FreeZones scratch = free;
      FreeZones& from = passing ? scratch : free;
      Allocation allocation;
      for (const Claim& claim : claims_of(profile_, from, container.requests, pod_.guaranteed)) {
        allocate(profile_, claim, *zones, from, allocation);
      }
      allocate_loose(container.requests, from, allocation);
      if (!passing && !allocation.empty()) {
        allocations.emplace(container.name, std::move(allocation));
      }
    }
    return allocations;
  }

 private:
  // nullopt: refused. All zones where nothing is to be aligned.
  [[nodiscard]] std::optional<Mask> decide(const FreeZones& free, const Amounts& request) const {
    const std::vector<Claim> claims = claims_of(profile_, free, request, pod_.guaranteed);
    if (claims.empty() || profile_.policy == kNoPolicy) {
      return ~Mask{0};
    }
    const auto hint = merged(claims, profile_.policy == kSingleNumaNode);
    if (!admits(profile_.policy, hint)) {
      return std::nullopt;
    }
    return hint ? hint->zones : ~Mask{0};
  }

  const NodeProfile& profile_;
  const PodRequest& pod_;
};

std::vector<std::string> texts_of(const Value& list) {
  std::vector<std::string> texts;
  for (const Value& item : list.items()) {
    texts.push_back(item.str());
  }
  return texts;
}

}  // namespace

Value Allocation::to_value() const {
  Value value = Value::object();
  for (const int cpu : cpus) {
    value.member("cpus").push_back(cpu);
  }
  for (const auto& [zone, amounts] : memory) {
    for (const auto& [resource, amount] : amounts) {
      value.member("memory").push_back(
          Value::object({{"zone", zone}, {"type", resource}, {"size", amount / kUnit}}));
    }
  }
  for (const auto& [resource, ids] : devices) {
    for (const std::string& id : ids) {
      value.member("devices").member(resource).push_back(id);
    }
  }
  return value;
}

Allocation Allocation::of(const Value& value) {
  Allocation allocation;
  for (const Value& cpu : value["cpus"].items()) {
    allocation.cpus.push_back(static_cast<int>(cpu.as_int(-1)));
  }
  for (const Value& block : value["memory"].items()) {
    allocation.memory[static_cast<int>(block["zone"].as_int(-1))][block["type"].str()] +=
        block["size"].as_int() * kUnit;
  }
  for (const Member& device : value["devices"].members()) {
    allocation.devices.emplace(device.key(), texts_of(device.value));
  }
  return allocation;
}

FreeZones::FreeZones(const NodeProfile& profile) {
  for (std::size_t i = 0; i < profile.zones.size(); ++i) {
    cpus.push_back(profile.zones[i].cpus);
    Amounts amounts = profile.zones[i].capacity;
    amounts["memory"] -= profile.zones[i].reserved_memory;
    memory.push_back(std::move(amounts));
    auto& pool = devices.emplace_back();
    for (const NodeProfile::Device& device : profile.zones[i].devices) {
      pool.emplace(device.resource, device.ids);
    }
  }
  for (const NodeProfile::Device& device : profile.devices) {
    loose.emplace(device.resource, device.ids);
  }
}

void FreeZones::take(const NodeProfile& profile, const Allocation& allocation) {
  for (std::size_t i = 0; i < profile.zones.size(); ++i) {
    std::erase_if(cpus[i], [&](int cpu) {
      return std::ranges::find(allocation.cpus, cpu) != allocation.cpus.end();
    });
    const auto block = allocation.memory.find(static_cast<int>(i));
    if (block != allocation.memory.end()) {
      for (const auto& [resource, amount] : block->second) {
        std::int64_t& left = memory[i][resource];
        left = std::max<std::int64_t>(left - amount, 0);
      }
    }
    erase_ids(allocation.devices, devices[i]);
  }
  erase_ids(allocation.devices, loose);
}

std::optional<PodAllocation> admit_pod(const NodeProfile& profile, FreeZones free,
                                       const PodRequest& pod) {
  return Admission(profile, pod).run(std::move(free));
}

}  // namespace athanor::numa
