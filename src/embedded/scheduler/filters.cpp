// SPDX-License-Identifier: Apache-2.0
// Which nodes a pod fits on. The order of the checks and their texts are kube-scheduler's.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "embedded/scheduler/node_state.hpp"
#include "kube/names/node_match.hpp"

namespace athanor::scheduler {
namespace {

constexpr std::string_view kAnyAddress = "0.0.0.0";
constexpr std::string_view kUnschedulableTaint = "node.kubernetes.io/unschedulable";

Refusal refuse(std::string reason) {
  return {.reasons = {std::move(reason)}, .for_good = true};
}

Refusal check_resources(const Candidate& candidate, const NodeState& state) {
  Refusal refusal;
  const auto allocatable = [&](std::string_view name) {
    const auto found = state.allocatable.find(name);
    return found == state.allocatable.end() ? std::int64_t{0} : found->second;
  };
  if (state.pods + 1 > allocatable("pods")) {
    refusal.reasons.emplace_back("Too many pods");
  }
  for (const auto& [name, amount] : candidate.requests) {
    const std::int64_t most = allocatable(name);
    if (most == 0 && std::ranges::find(candidate.covered, name) != candidate.covered.end()) {
      continue;
    }
    const auto used = state.used.find(name);
    const std::int64_t taken = used == state.used.end() ? 0 : used->second;
    if (amount > 0 && amount > most - taken) {
      refusal.reasons.push_back("Insufficient " + name);
      refusal.for_good = refusal.for_good || amount > most;
    }
  }
  return refusal;
}

bool conflict(const HostPort& a, const HostPort& b) {
  return a.port == b.port && a.protocol == b.protocol &&
         (a.address == b.address || a.address == kAnyAddress || b.address == kAnyAddress);
}

bool has_free_ports(const Candidate& candidate, const NodeState& state) {
  return std::ranges::none_of(candidate.host_ports, [&](const HostPort& wanted) {
    return std::ranges::any_of(state.host_ports,
                               [&](const HostPort& taken) { return conflict(wanted, taken); });
  });
}

void add_host_ports(const Value& container, std::set<HostPort>& ports) {
  for (const Value& port : container["ports"].items()) {
    if (const std::int64_t number = port["hostPort"].as_int(); number > 0) {
      const std::string_view protocol = port["protocol"].as_string();
      const std::string_view address = port["hostIP"].as_string();
      ports.insert({.protocol = std::string(protocol.empty() ? "TCP" : protocol),
                    .port = number,
                    .address = std::string(address.empty() ? kAnyAddress : address)});
    }
  }
}

// "2 Insufficient cpu, 1 Too many pods": each reason with its count, in order of text.
std::string histogram(const std::map<std::string, int>& counts) {
  std::vector<std::string> entries;
  entries.reserve(counts.size());
  for (const auto& [reason, count] : counts) {
    entries.push_back(fmt::format("{} {}", count, reason));
  }
  std::ranges::sort(entries);
  std::string text;
  for (const std::string& entry : entries) {
    text += (text.empty() ? "" : ", ") + entry;
  }
  return text;
}

}  // namespace

std::set<HostPort> host_ports_of(const Value& pod_spec) {
  std::set<HostPort> ports;
  for (const Value& container : pod_spec["containers"].items()) {
    add_host_ports(container, ports);
  }
  for (const Value& container : pod_spec["initContainers"].items()) {
    if (container["restartPolicy"].as_string() == "Always") {
      add_host_ports(container, ports);
    }
  }
  return ports;
}

std::string host_port_text(const HostPort& port) {
  return fmt::format("{}/{}/{}", port.protocol, port.port, port.address);
}

HostPort parse_host_port(std::string_view text) {
  const std::size_t first = text.find('/');
  const std::size_t second = text.find('/', first + 1);
  HostPort port{.protocol = std::string(text.substr(0, first)),
                .address = std::string(text.substr(second + 1))};
  std::from_chars(text.data() + first + 1, text.data() + second, port.port);
  return port;
}

void NodeState::place(const Object& pod) {
  const Value spec = counted_spec(pod);
  add(used, requests_of(spec));
  add(scored_used, scored_requests_of(spec));
  host_ports.merge(host_ports_of(pod.spec()));
  residents.push_back(pod);
  ++pods;
}

Candidate candidate_of(const Object& pod) {
  return {.pod = pod,
          .requests = requests_of(pod.spec()),
          .scored_requests = scored_requests_of(pod.spec()),
          .host_ports = host_ports_of(pod.spec())};
}

Refusal check(const Candidate& candidate, const NodeState& state) {
  const Value& spec = candidate.pod.spec();
  const Value& tolerations = spec["tolerations"];
  const Value& node = state.node.spec();
  if (node["unschedulable"].as_bool() &&
      !tolerates(tolerations,
                 Value::object({{"key", kUnschedulableTaint}, {"effect", "NoSchedule"}}))) {
    return refuse("node(s) were unschedulable");
  }
  for (const Value& taint : node["taints"].items()) {
    const std::string_view effect = taint["effect"].as_string();
    if ((effect == "NoSchedule" || effect == "NoExecute") && !tolerates(tolerations, taint)) {
      return refuse(fmt::format("node(s) had untolerated taint {{{}: {}}}",
                                taint["key"].as_string(), taint["value"].as_string()));
    }
  }
  if (!matches_node(spec, state.node)) {
    return refuse("node(s) didn't match Pod's node affinity/selector");
  }
  if (!has_free_ports(candidate, state)) {
    return {.reasons = {"node(s) didn't have free ports for the requested pod ports"}};
  }
  return check_resources(candidate, state);
}

std::string unschedulable_message(const Candidate& candidate, const std::vector<Refusal>& refusals,
                                  bool preempts) {
  if (refusals.empty()) {
    return "no nodes available to schedule pods";
  }
  std::map<std::string, int> reasons;
  std::map<std::string, int> preemption;
  for (const Refusal& refusal : refusals) {
    for (const std::string& reason : refusal.reasons) {
      ++reasons[reason];
    }
    ++preemption[refusal.for_good ? "Preemption is not helpful for scheduling"
                                  : "No preemption victims found for incoming pod"];
  }
  const std::string available = fmt::format("0/{} nodes are available: ", refusals.size());
  if (preempts) {
    return available + histogram(reasons) + ".";
  }
  const std::string text = available + histogram(reasons) + ". preemption: ";
  return candidate.pod.spec()["preemptionPolicy"].as_string() == "Never"
             ? text + "not eligible due to preemptionPolicy=Never."
             : text + available + histogram(preemption) + ".";
}

}  // namespace athanor::scheduler
