// SPDX-License-Identifier: Apache-2.0
// A node during one cycle: what it has, and what the pods placed so far leave of it.
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/scheduler/amounts.hpp"
#include "kube/value/object.hpp"

namespace athanor::scheduler {

// A port of a node that a pod asks for.
struct HostPort {
  std::string protocol{};
  std::int64_t port = 0;
  std::string address{};  // 0.0.0.0: each of the node

  friend auto operator<=>(const HostPort&, const HostPort&) = default;
};
// Returns the host ports of the containers and native sidecars.
std::set<HostPort> host_ports_of(const Value& pod_spec);
// Formats a port as "TCP/80/0.0.0.0", and reads that.
std::string host_port_text(const HostPort& port);
HostPort parse_host_port(std::string_view text);

// A node's amounts; cpu in thousandths.
struct NodeState {
  Object node{};
  Amounts allocatable{};
  Amounts used{};
  Amounts scored_used{};
  std::int64_t pods = 0;
  std::set<HostPort> host_ports{};  // taken
  std::vector<Object> residents{};  // those placed in this cycle; all, once asked for

  // Counts a pod that runs or will run here.
  void place(const Object& pod);
};

// A pod that waits, with what every node is asked about it.
struct Candidate {
  Object pod{};
  Amounts requests{};
  Amounts scored_requests{};
  std::set<HostPort> host_ports{};
  // Resources that hooks judge where the node reports none of them.
  std::vector<std::string> covered{};
};
// Computes a pod's requests.
Candidate candidate_of(const Object& pod);

// Why a pod does not fit on a node, in kube-scheduler's words; empty: it fits.
struct Refusal {
  std::vector<std::string> reasons{};
  bool for_good = false;  // even an empty node would refuse
};
// Checks spec.unschedulable, taints, node selector and affinity, host ports, then resources and
// number of pods.
Refusal check(const Candidate& candidate, const NodeState& node);

// Returns one score for each of `nodes`, which fit; the higher, the better.
std::vector<std::int64_t> scores(const Candidate& candidate,
                                 const std::vector<const NodeState*>& nodes);

// Returns "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {a: b}.
// ...", with the outcome of preemption unless it found victims.
std::string unschedulable_message(const Candidate& candidate, const std::vector<Refusal>& refusals,
                                  bool preempts = false);

}  // namespace athanor::scheduler
