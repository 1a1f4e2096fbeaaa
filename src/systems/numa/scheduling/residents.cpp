// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/scheduling/residents.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
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

bool lists(const NodeTopology& topology, std::string_view resource) {
  return std::ranges::any_of(topology.zones,
                             [&](const Zone& zone) { return zone.lists(resource); });
}

// Cpus, memory and devices, in thousandths; none is zero.
using Taken = std::map<std::string, std::int64_t, std::less<>>;

void add(Taken& to, std::string_view resource, std::int64_t amount) {
  if (amount == 0) {
    return;
  }
  const auto at = to.try_emplace(std::string(resource), 0).first;
  at->second += amount;
  if (at->second == 0) {
    to.erase(at);
  }
}

bool counts(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || !is_native(resource);
}

Taken given_away(const NodeTopology& topology) {
  Taken taken;
  for (const Zone& zone : topology.zones) {
    for (const auto& [resource, amount] : zone.allocatable) {
      if (counts(resource)) {
        add(taken, resource, amount - amount_of(zone.available, resource));
      }
    }
  }
  return taken;
}

// Exclusive resources from a kubelet's managers while the pod's containers run: cpus and memory to
// pods of quality Guaranteed, devices to every pod.
Taken held_by(const PodRequest& pod, const NodeTopology& topology) {
  Taken taken;
  for (const ContainerRequest& container : pod.containers) {
    if (container.role == ContainerRequest::Role::Init) {
      continue;
    }
    for (const auto& [resource, amount] : container.requests) {
      const bool whole = resource != "cpu" || amount % kUnit == 0;
      const bool kept = resource == "cpu" || lists(topology, resource);
      if (counts(resource) && kept && (pod.guaranteed || !is_native(resource)) && whole) {
        add(taken, resource, amount);
      }
    }
  }
  return taken;
}

void add_held(const PodRequest& pod, const NodeTopology& topology, Taken& taken) {
  for (const auto& [resource, amount] : held_by(pod, topology)) {
    add(taken, resource, amount);
  }
}

// The largest number of pods, those bound first, that hold what the zones have given away.
std::size_t covered_by_amounts(const NodeTopology& topology,
                               const std::vector<Resident>& residents) {
  const Taken given = given_away(topology);
  Taken held;
  std::size_t count = 0;
  for (std::size_t i = 0; i < residents.size(); ++i) {
    add_held(residents[i].request, topology, held);
    count = held == given ? i + 1 : count;
  }
  return count;
}

// Finds the pods that hold exactly what the zones have not given away yet, the newest first. Exact
// for the newest pods; a search that takes too long finds none.
class Unaccounted {
 public:
  Unaccounted(const NodeTopology& topology, const std::vector<Resident>& residents) {
    for (const Resident& resident : residents) {
      held_.push_back(held_by(resident.request, topology));
      for (const auto& [resource, amount] : held_.back()) {
        add(missing_, resource, amount);
      }
    }
    for (const auto& [resource, amount] : given_away(topology)) {
      add(missing_, resource, -amount);
    }
  }

  // By index; empty: there are none, or none fit.
  std::vector<std::size_t> find() {
    return !missing_.empty() && search(held_.size()) ? found_ : std::vector<std::size_t>();
  }

 private:
  static constexpr int kMostSteps = 4096;

  bool search(std::size_t below) {
    if (missing_.empty()) {
      return true;
    }
    for (std::size_t i = below; i-- > 0 && ++steps_ < kMostSteps;) {
      const bool fits = !held_[i].empty() && std::ranges::all_of(held_[i], [&](const auto& entry) {
        const auto left = missing_.find(entry.first);
        return left != missing_.end() && left->second >= entry.second;
      });
      if (!fits) {
        continue;
      }
      take(i, -1);
      found_.push_back(i);
      if (search(i)) {
        return true;
      }
      found_.pop_back();
      take(i, 1);
    }
    return false;
  }

  void take(std::size_t index, std::int64_t sign) {
    for (const auto& [resource, amount] : held_[index]) {
      add(missing_, resource, sign * amount);
    }
  }

  std::vector<Taken> held_{};
  Taken missing_{};
  std::vector<std::size_t> found_{};
  int steps_ = 0;
};

// An exporter need not see pods in the order in which they were bound: those that it did not
// account go to the end.
void put_unaccounted_last(const NodeTopology& topology, std::vector<Resident>& residents) {
  if (!topology.fingerprint.empty() || covered_by_amounts(topology, residents) > 0) {
    return;
  }
  const std::vector<std::size_t> found = Unaccounted(topology, residents).find();
  for (const std::size_t index : found) {  // falling
    std::rotate(residents.begin() + static_cast<std::ptrdiff_t>(index),
                residents.begin() + static_cast<std::ptrdiff_t>(index) + 1, residents.end());
  }
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
  for (std::size_t i = 0; i < count; ++i) {
    add_held(residents[i].request, topology, held);
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
  put_unaccounted_last(topology, residents.active);
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
