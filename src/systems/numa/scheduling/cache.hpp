// SPDX-License-Identifier: Apache-2.0
// What a scheduler believes of the zones of its nodes (docs/spec/numa.md 11.6): three variants. All
// are plain values: events in, views out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/kind.hpp"
#include "systems/numa/scheduling/pod_request.hpp"
#include "systems/numa/scheduling/topology.hpp"

namespace athanor::numa {

// What is known of one node. Data that are not fresh are not used.
struct NodeView {
  std::optional<NodeTopology> topology{};
  bool fresh = true;
};

// Settings foreignPodsDetect and resyncMethod (docs/spec/numa.md 11.1).
enum class ForeignPods : std::uint8_t { None, All, OnlyExclusiveResources };
enum class ResyncMethod : std::uint8_t { Autodetect, All, OnlyExclusiveResources };

// Nodes with a pod that is reserved and not yet bound are left out.
class DiscardReserved {
 public:
  void reserve(const std::string& node, const Key& pod) { reserved_[node].insert(pod); }
  void unreserve(const std::string& node, const Key& pod) { reserved_[node].erase(pod); }
  void bound(const std::string& node, const Key& pod) { unreserve(node, pod); }
  // `live`: the node's NodeResourceTopology as it is now.
  [[nodiscard]] NodeView view(const std::string& node, std::optional<NodeTopology> live) const;

 private:
  std::map<std::string, std::set<Key>, std::less<>> reserved_{};
};

// Returns the live data, always fresh.
NodeView passthrough(std::optional<NodeTopology> live);

// A pod on a node, as resync sees it.
struct ResidentPod {
  Key key{};
  PodRequest request{};
};
// Returns the fingerprint of the pods that count by this method.
std::string fingerprint_of(const std::vector<ResidentPod>& pods, const NodeTopology& topology,
                           bool exclusive_only);
// Returns `topology` less the request in every zone: deliberately pessimistic.
void subtract_everywhere(const Amounts& request, NodeTopology& topology);

// Cached topologies less the requests of assumed pods, corrected by resync()
// (docs/spec/numa.md 11.6). Not thread-safe.
class OverReserve {
 public:
  struct Options {
    ForeignPods foreign = ForeignPods::All;
    ResyncMethod method = ResyncMethod::Autodetect;
    bool resync_attributes = true;  // resyncScope All
    // Objects without fingerprint, written by hand, are taken over when their version changed.
    bool trust_unfingerprinted = false;
  };
  explicit OverReserve(const Options& options) : options_(options) {}
  OverReserve() = default;

  // The first data of a node are taken over at once; later ones change attributes alone, until a
  // resync takes the amounts.
  void put(const NodeTopology& topology);
  void remove(std::string_view node);

  [[nodiscard]] NodeView view(std::string_view node) const;
  void reserve(const std::string& node, const Key& pod, const PodRequest& request);
  void unreserve(std::string_view node, const Key& pod);
  // The filter refused a pod on this node.
  void filter_failed(const std::string& node);
  // A pod that another scheduler bound came, changed or went.
  void foreign_pod(const std::string& node, const PodRequest& request);

  // Takes over the data of every dirty node whose fingerprint is that of its pods. `live` and
  // `pods` answer for one node.
  using Live = std::function<std::optional<NodeTopology>(const std::string& node)>;
  using Pods = std::function<std::vector<ResidentPod>(const std::string& node)>;
  void resync(const Live& live, const Pods& pods);

  [[nodiscard]] std::uint64_t generation() const { return generation_; }
  [[nodiscard]] bool dirty(std::string_view node) const;

 private:
  struct Node {
    std::optional<NodeTopology> topology{};
    std::map<Key, Amounts> assumed{};
    int maybe_over_reserved = 0;
    int foreign = 0;
    int attributes_changed = 0;
  };
  [[nodiscard]] bool compares_exclusive(const NodeTopology& topology) const;

  Options options_{};
  std::map<std::string, Node, std::less<>> nodes_{};
  std::uint64_t generation_ = 0;
};

}  // namespace athanor::numa
