// SPDX-License-Identifier: Apache-2.0
// Answers for the names of a cluster (the DNS specification of Kubernetes): Services, headless
// ones with their pods, named ports, addresses of pods, and back.
#pragma once

#include <optional>
#include <string_view>

#include "embedded/nodes/network/dns_message.hpp"
#include "embedded/nodes/network/service_table.hpp"

namespace athanor::nodes {

inline constexpr std::string_view kClusterDomain = "cluster.local";

// An answer; with `go_on` it ends with an alias of a name outside the cluster, which is to be asked
// for elsewhere.
struct NameAnswer {
  DnsContent content{};
  std::string go_on{};
};

// Returns the answer, or nullopt for a name outside the cluster. `turn` rotates answers of several
// addresses.
std::optional<NameAnswer> cluster_answer(const DnsQuestion& question, const ServiceTable& table,
                                         std::size_t turn);

}  // namespace athanor::nodes
