// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/scheduling/residents.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "api/builtin.hpp"
#include "kube/value/condition.hpp"
#include "systems/numa/scheduling/fingerprint.hpp"

namespace athanor::numa {
namespace {

// An exporter has published a pod by then, whatever its period: a later difference has another
// reason, such as an exporter that counts one namespace alone.
constexpr Duration kSettled = std::chrono::minutes(5);

bool is_active(const Object& pod) {
  const std::string_view phase = pod.status()["phase"].as_string();
  return phase != "Succeeded" && phase != "Failed";
}

std::string_view bound_at(const Object& pod) {
  return find_condition(pod.status()["conditions"], "PodScheduled")["lastTransitionTime"]
      .as_string();
}

// Returns when the pod was bound, as far as its conditions show. Texts of the pod, uncopied: a sort
// compares them some hundred times for each node.
std::tuple<std::string_view, std::string_view, std::string_view> order_of(const Object& pod) {
  return {bound_at(pod), pod.metadata()["creationTimestamp"].as_string(), pod.name()};
}

std::uint64_t version_of(std::string_view text) {
  std::uint64_t version = 0;
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

// The object was written when the pod was as it is now.
bool is_newer(const NodeTopology& topology, const Object& pod) {
  const std::uint64_t version = version_of(topology.resource_version);
  return version > 0 && version > version_of(pod.resource_version());
}

// Cpus and memory, in thousandths.
struct Taken {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  bool operator==(const Taken&) const = default;
};

Taken given_away(const NodeTopology& topology) {
  Taken taken;
  for (const Zone& zone : topology.zones) {
    taken.cpu += amount_of(zone.allocatable, "cpu") - amount_of(zone.available, "cpu");
    taken.memory += amount_of(zone.allocatable, "memory") - amount_of(zone.available, "memory");
  }
  return taken;
}

// What a kubelet's managers give the pod for itself, while its containers run.
void add_held(const PodRequest& pod, bool zones_list_memory, Taken& taken) {
  if (!pod.guaranteed) {
    return;
  }
  for (const ContainerRequest& container : pod.containers) {
    if (container.role == ContainerRequest::Role::Init) {
      continue;
    }
    const std::int64_t cpu = amount_of(container.requests, "cpu");
    taken.cpu += cpu % kUnit == 0 ? cpu : 0;
    taken.memory += zones_list_memory ? amount_of(container.requests, "memory") : 0;
  }
}

bool lists_memory(const NodeTopology& topology) {
  return std::ranges::any_of(topology.zones, [](const Zone& zone) { return zone.lists("memory"); });
}

// The largest number of pods, those bound first, that hold what the zones have given away.
std::size_t covered_by_amounts(const NodeTopology& topology,
                               const std::vector<Resident>& residents) {
  const Taken given = given_away(topology);
  const bool memory = lists_memory(topology);
  Taken held;
  std::size_t count = 0;
  for (std::size_t i = 0; i < residents.size(); ++i) {
    add_held(residents[i].request, memory, held);
    count = held == given ? i + 1 : count;
  }
  return count;
}

std::size_t covered_by_fingerprint(const NodeTopology& topology, const Residents& residents) {
  std::vector<std::uint64_t> active;
  active.reserve(residents.active.size());
  for (const Resident& resident : residents.active) {
    active.push_back(share_of(resident.pod.key()));
  }
  std::vector<std::uint64_t> ended;
  ended.reserve(residents.ended.size());
  for (const Resident& resident : residents.ended) {
    ended.push_back(share_of(resident.pod.key()));
  }
  const auto find = [&](std::vector<std::uint64_t> shares) {
    shares.insert(shares.end(), active.begin(), active.end());
    std::ranges::sort(shares);
    for (std::size_t count = active.size(); count > 0; --count) {
      if (check_fingerprint(fingerprint_of_shares(shares), topology.fingerprint).ok()) {
        return count;
      }
      shares.erase(std::ranges::lower_bound(shares, active[count - 1]));
    }
    return std::size_t{0};
  };
  const std::size_t count = find({});
  return count > 0 || ended.empty() ? count : find(ended);
}

// A pod that took an earlier one's name has its fingerprint, too. The two are distinguished by what
// the zones have given away, as long as an exporter may not have seen it.
std::size_t without_namesakes(const NodeTopology& topology, const std::vector<Resident>& residents,
                              std::size_t count, Instant now) {
  const auto first = std::ranges::find_if(
      residents.begin(), residents.begin() + static_cast<std::ptrdiff_t>(count),
      [&](const Resident& resident) {
        const auto bound = parse_time(bound_at(resident.pod));
        return bound && *bound + kSettled > now && !is_newer(topology, resident.pod);
      });
  const auto young = static_cast<std::size_t>(first - residents.begin());
  if (young == count) {
    return count;
  }
  Taken held;
  const bool memory = lists_memory(topology);
  for (std::size_t i = 0; i < count; ++i) {
    add_held(residents[i].request, memory, held);
  }
  return held == given_away(topology) ? count : young;
}

}  // namespace

Residents residents_of(const View& view, const Object& node, const NodeTopology& topology,
                       std::string_view method) {
  Residents residents;
  for (const Object& pod :
       view.list(api::kPod, {.index = "node", .index_value = std::string(node.name())})) {
    PodRequest request = request_of(pod);
    if (method == kMethodAll || is_exclusive(request, topology)) {
      (is_active(pod) ? residents.active : residents.ended).push_back({pod, std::move(request)});
    }
  }
  std::ranges::stable_sort(residents.active, {},
                           [](const Resident& one) { return order_of(one.pod); });
  return residents;
}

std::vector<Key> fingerprinted(std::span<const Object> pods, const NodeTopology& topology) {
  std::vector<Key> keys;
  for (const Object& pod : pods) {
    if (pod.spec()["nodeName"].as_string() == topology.node && is_active(pod) &&
        (topology.method == kMethodAll || is_exclusive(request_of(pod), topology))) {
      keys.push_back(pod.key());
    }
  }
  return keys;
}

std::size_t covered(const NodeTopology& topology, const Residents& residents, const Trust& trust) {
  const std::vector<Resident>& active = residents.active;
  if (topology.fingerprint.empty()) {
    const bool believed =
        trust.unfingerprinted && std::ranges::all_of(active, [&](const Resident& resident) {
          return is_newer(topology, resident.pod);
        });
    return believed ? active.size() : covered_by_amounts(topology, active);
  }
  const std::size_t count = covered_by_fingerprint(topology, residents);
  return trust.now ? without_namesakes(topology, active, count, *trust.now) : count;
}

}  // namespace athanor::numa
