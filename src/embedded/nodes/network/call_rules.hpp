// SPDX-License-Identifier: Apache-2.0
// Rules for the addresses that a pod's processes bind and connect to. Pods share the network
// of this machine, each with a loopback address of its own: what they bind is moved to that, and
// what leads to a Service is moved to an endpoint. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "embedded/nodes/network/address.hpp"
#include "embedded/nodes/network/service_choice.hpp"
#include "embedded/nodes/network/service_table.hpp"

namespace athanor::nodes {

// Supervisor's verdict on a call.
struct CallRule {
  enum class Way : std::uint8_t {
    AsItIs,  // the kernel does the call
    Move     // the call is done with `to`
  };
  Way way = Way::AsItIs;
  Address to{};
  bool refused = false;      // ECONNREFUSED: a Service without endpoints
  bool own_source = false;   // the connection comes from the pod's address
  bool or_as_it_is = false;  // where nobody listens at `to`
};

// A process's pod.
struct CallingPod {
  std::uint32_t ip = 0;
  bool host_network = false;
};

// The rules of one lab, with what its pods have bound. Not thread-safe.
class CallRules {
 public:
  // `names`: where the lab's name server answers, and the address with port 53 that pods know.
  struct Names {
    Address known{};
    Address actual{};
  };
  explicit CallRules(Names names) : names_(names) {}

  // Returns the rule for TCP and for UDP: a socket of UDP on all addresses would answer from
  // 127.0.0.1, which a connected client drops.
  [[nodiscard]] static CallRule bind(const CallingPod& pod, const Address& wanted);
  CallRule connect(const CallingPod& pod, const Address& wanted, Protocol protocol,
                   const ServiceTable& table, std::int64_t now_ms);
  // Notes that a process of the pod has bound its own address with this port, as it asked for it.
  void bound(std::uint32_t pod, std::uint16_t port, Protocol protocol);
  // Forgets a port on which nothing listens any more.
  void unbound(std::uint32_t pod, std::uint16_t port, Protocol protocol);
  // Forgets a pod of which nothing runs any more.
  void ended(std::uint32_t pod);

  [[nodiscard]] ServiceChoice& choice() { return choice_; }

 private:
  Names names_;
  ServiceChoice choice_{};
  std::map<std::uint32_t, std::set<std::pair<std::uint16_t, Protocol>>> bound_{};
};

}  // namespace athanor::nodes
