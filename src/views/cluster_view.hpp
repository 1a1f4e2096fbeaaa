// SPDX-License-Identifier: Apache-2.0
// Clusters as a person asks for them: what the FournosCluster says, the queue that hands them out,
// and how much of them is in use.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "kube/value/object.hpp"
#include "views/listing.hpp"

namespace athanor::views {

// The state of a cluster in the ClusterQueues that name its flavor.
struct ClusterUse {
  std::string queues{};       // names, joined by ","; empty: none
  std::string utilisation{};  // of its most used resource: "25%"; empty: it has no quota
  std::string details{};      // "a100 4/8, slots 12/100"
  std::string gpus{};         // what it has quota of: "8x A100"
};
// Sums the cluster's quotas and usage over all ClusterQueues.
ClusterUse cluster_use(const std::vector<Object>& cluster_queues, std::string_view cluster);

// Cells in the order of cluster_header(), the age last.
std::vector<std::string> cluster_header(bool wide);
std::vector<std::string> cluster_row(const Object& cluster, const ClusterUse& use, bool wide,
                                     Instant now);
// Returns true for a ResourceFlavor that stands for a cluster, whether or not Hearth manages it.
bool is_cluster_flavor(const Object& flavor);
// Returns the row of a cluster that the queue alone has: no FournosCluster has its name.
std::vector<std::string> bare_row(const Object& flavor, const ClusterUse& use, bool wide,
                                  Instant now);
// Returns the states that --phase takes.
const std::vector<std::string>& cluster_phases();
// Returns the state and the owner of a cluster.
Traits cluster_traits(const Object& cluster);
// Clusters as rows, those that the queue alone knows last.
Listing cluster_listing(const std::vector<Object>& clusters, const std::vector<Object>& bare,
                        const std::vector<Object>& cluster_queues, bool wide, Instant now);
// Returns what cannot be done with such a cluster.
std::string unmanaged_text(std::string_view cluster, std::string_view ns);
// Returns the least widths of the columns in a live list, which prints rows one by one.
std::vector<std::size_t> cluster_widths(bool wide);

// Returns the state of the kubeconfig, or what keeps a cluster with a valid one from use:
// "DiscoveryFailed", "SameCluster", "Cordoned".
std::string usable_state(const Object& cluster);

// Returns one line for each condition that is not as it should be: "KubeconfigValid: Missing:
// Kubeconfig secret ... not found".
std::vector<std::string> cluster_troubles(const Object& cluster);

// Checks whether a text is a lock duration (docs/spec/hearth.md 9.4): digits and one of m, h, d.
bool is_lock_time(std::string_view text);

}  // namespace athanor::views
