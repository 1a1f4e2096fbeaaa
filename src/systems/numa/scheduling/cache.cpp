// SPDX-License-Identifier: Apache-2.0
// The three caches.
#include "systems/numa/scheduling/cache.hpp"

#include <algorithm>

#include "systems/numa/scheduling/fingerprint.hpp"

namespace athanor::numa {

NodeView passthrough(std::optional<NodeTopology> live) {
  return {.topology = std::move(live), .fresh = true};
}

NodeView DiscardReserved::view(const std::string& node, std::optional<NodeTopology> live) const {
  const auto found = reserved_.find(node);
  if (found != reserved_.end() && !found->second.empty()) {
    return {.topology = std::nullopt, .fresh = false};
  }
  return passthrough(std::move(live));
}

std::string fingerprint_of(const std::vector<ResidentPod>& pods, const NodeTopology& topology,
                           bool exclusive_only) {
  std::vector<Key> keys;
  for (const ResidentPod& pod : pods) {
    if (!exclusive_only || is_exclusive(pod.request, topology)) {
      keys.push_back(pod.key);
    }
  }
  return fingerprint_of(keys);
}

void subtract_everywhere(const Amounts& request, NodeTopology& topology) {
  for (Zone& zone : topology.zones) {
    for (const auto& [resource, amount] : request) {
      const auto found = zone.available.find(resource);
      if (found != zone.available.end()) {
        found->second = std::max<std::int64_t>(found->second - amount, 0);
      }
    }
  }
}

void OverReserve::put(const NodeTopology& topology) {
  Node& node = nodes_[topology.node];
  if (!node.topology) {
    node.topology = topology;
  } else if (options_.resync_attributes && !node.topology->same_attributes(topology)) {
    ++node.attributes_changed;
  }
}

void OverReserve::remove(std::string_view node) {
  const auto found = nodes_.find(node);
  if (found != nodes_.end()) {
    nodes_.erase(found);
  }
}

NodeView OverReserve::view(std::string_view node) const {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) {
    return {};
  }
  if (found->second.foreign > 0) {
    return {.topology = std::nullopt, .fresh = false};
  }
  NodeView view{.topology = found->second.topology};
  if (view.topology) {
    for (const auto& [pod, request] : found->second.assumed) {
      subtract_everywhere(request, *view.topology);
    }
  }
  return view;
}

void OverReserve::reserve(const std::string& node, const Key& pod, const PodRequest& request) {
  const auto found = nodes_.find(node);
  if (found != nodes_.end() && found->second.topology) {
    found->second.assumed.insert_or_assign(pod, request.effective);
  }
}

void OverReserve::unreserve(std::string_view node, const Key& pod) {
  const auto found = nodes_.find(node);
  if (found != nodes_.end()) {
    found->second.assumed.erase(pod);
  }
}

void OverReserve::filter_failed(const std::string& node) {
  const auto found = nodes_.find(node);
  if (found != nodes_.end()) {
    ++found->second.maybe_over_reserved;
  }
}

void OverReserve::foreign_pod(const std::string& node, const PodRequest& request) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end() || !found->second.topology || options_.foreign == ForeignPods::None) {
    return;
  }
  if (options_.foreign == ForeignPods::All || is_exclusive(request, *found->second.topology)) {
    ++found->second.foreign;
  }
}

bool OverReserve::compares_exclusive(const NodeTopology& topology) const {
  return options_.method == ResyncMethod::Autodetect
             ? topology.method == kMethodExclusive
             : options_.method == ResyncMethod::OnlyExclusiveResources;
}

void OverReserve::resync(const Live& live, const Pods& pods) {
  bool flushed = false;
  for (auto& [name, node] : nodes_) {
    const bool dirty = node.maybe_over_reserved > 0 || node.foreign > 0;
    if (!dirty && node.attributes_changed == 0) {
      continue;
    }
    auto topology = live(name);
    if (!topology) {
      continue;
    }
    if (node.attributes_changed == 0) {
      const bool unsigned_change = options_.trust_unfingerprinted &&
                                   topology->fingerprint.empty() && node.topology &&
                                   node.topology->resource_version != topology->resource_version;
      const std::vector<ResidentPod> residents =
          unsigned_change ? std::vector<ResidentPod>() : pods(name);
      if (!unsigned_change &&
          (residents.empty() || topology->fingerprint.empty() ||
           !check_fingerprint(fingerprint_of(residents, *topology, compares_exclusive(*topology)),
                              topology->fingerprint)
                .ok())) {
        continue;
      }
    }
    node = Node{.topology = std::move(topology)};
    flushed = true;
  }
  generation_ += flushed ? 1 : 0;
}

bool OverReserve::dirty(std::string_view node) const {
  const auto found = nodes_.find(node);
  return found != nodes_.end() &&
         (found->second.maybe_over_reserved > 0 || found->second.foreign > 0 ||
          found->second.attributes_changed > 0);
}

}  // namespace athanor::numa
