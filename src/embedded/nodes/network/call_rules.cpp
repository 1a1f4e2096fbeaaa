// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/network/call_rules.hpp"

namespace athanor::nodes {
namespace {

constexpr std::size_t kMostBound = 4096;  // ports of one pod that are remembered

}  // namespace

CallRule CallRules::bind(const CallingPod& pod, const Address& wanted) {
  const bool own = wanted.ip == 0 || wanted.ip == kLoopback || wanted.ip == pod.ip;
  if (pod.host_network || pod.ip == 0 || wanted.port == 0 || !own) {
    return {};
  }
  return {.way = CallRule::Way::Move, .to = {.ip = pod.ip, .port = pod_port(wanted.port)}};
}

CallRule CallRules::connect(const CallingPod& pod, const Address& wanted, Protocol protocol,
                            const ServiceTable& table, std::int64_t now_ms) {
  if (wanted == names_.known) {
    return names_.actual == names_.known
               ? CallRule{}
               : CallRule{.way = CallRule::Way::Move, .to = names_.actual};
  }
  if (const ServicePort* port = table.find(wanted, protocol)) {
    const auto endpoint = choice_.choose(*port, pod.ip, now_ms);
    if (!endpoint) {
      return {.way = CallRule::Way::Move, .refused = true};
    }
    return {.way = CallRule::Way::Move,
            .to = reachable(*endpoint),
            .own_source = is_pod(endpoint->ip) && !pod.host_network};
  }
  if (!is_loopback(wanted.ip) && wanted.ip != 0) {
    return {};
  }
  const bool local = wanted.ip == kLoopback || wanted.ip == 0;
  if (local && !pod.host_network) {
    const auto found = bound_.find(pod.ip);
    if (found == bound_.end() || !found->second.contains({wanted.port, protocol})) {
      return {};
    }
    return {.way = CallRule::Way::Move,
            .to = {.ip = pod.ip, .port = pod_port(wanted.port)},
            .or_as_it_is = true};
  }
  if (!is_pod(wanted.ip)) {
    return {};
  }
  return {.way = CallRule::Way::Move, .to = reachable(wanted), .own_source = !pod.host_network};
}

void CallRules::bound(std::uint32_t pod, std::uint16_t port, Protocol protocol) {
  auto& ports = bound_[pod];
  if (ports.size() < kMostBound) {
    ports.emplace(port, protocol);
  }
}

void CallRules::unbound(std::uint32_t pod, std::uint16_t port, Protocol protocol) {
  if (const auto found = bound_.find(pod); found != bound_.end()) {
    found->second.erase({port, protocol});
  }
}

void CallRules::ended(std::uint32_t pod) {
  bound_.erase(pod);
}

}  // namespace athanor::nodes
