// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/network/service_table.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace athanor::nodes {
namespace {

constexpr std::string_view kServiceLabel = "kubernetes.io/service-name";
constexpr std::string_view kPodOwner = "pod ";
constexpr std::int64_t kDefaultAffinitySeconds = 10800;

std::optional<Protocol> protocol_of(const Value& port) {
  const std::string_view name = port["protocol"].as_string();
  if (name.empty() || name == "TCP") {
    return Protocol::Tcp;
  }
  return name == "UDP" ? std::optional(Protocol::Udp) : std::nullopt;
}

std::uint16_t port_of(const Value& value) {
  const std::int64_t port = value.as_int();
  return port > 0 && port <= UINT16_MAX ? static_cast<std::uint16_t>(port) : std::uint16_t{0};
}

std::string unserved(const Value& port, const Value& protocol) {
  return fmt::format("Port {}/{} is not served: only TCP and UDP are", port.as_int(),
                     protocol.as_string());
}

using SlicesByService = std::map<std::string, std::vector<const Value*>, std::less<>>;

SlicesByService group(std::span<const Value> slices) {
  SlicesByService result;
  for (const Value& slice : slices) {
    const Value& metadata = slice["metadata"];
    const std::string_view service = metadata["labels"][kServiceLabel].as_string();
    if (!service.empty() && slice["addressType"].as_string() == "IPv4") {
      result[fmt::format("{}/{}", metadata["namespace"].as_string(), service)].push_back(&slice);
    }
  }
  return result;
}

// As a node's proxy chooses: the ready ones, else those that end and still serve.
enum class Wanted : std::uint8_t { Ready, Ending };

bool is_wanted(const Value& endpoint, Wanted wanted) {
  const Value& conditions = endpoint["conditions"];
  return wanted == Wanted::Ready
             ? conditions["ready"].as_bool(true)
             : conditions["serving"].as_bool() && conditions["terminating"].as_bool();
}

std::optional<std::uint32_t> first_ip(const Value& endpoint) {
  return endpoint["addresses"].empty() ? std::nullopt : ip_of(endpoint["addresses"][0].as_string());
}

std::vector<Address> endpoints_of(const std::vector<const Value*>& slices, const ServicePort& port,
                                  Wanted wanted) {
  std::vector<Address> result;
  for (const Value* slice : slices) {
    for (const Value& open : (*slice)["ports"].items()) {
      const std::uint16_t number = port_of(open["port"]);
      if (open["name"].as_string() != port.name || protocol_of(open) != port.protocol ||
          number == 0) {
        continue;
      }
      for (const Value& endpoint : (*slice)["endpoints"].items()) {
        if (const auto ip = first_ip(endpoint); ip && is_wanted(endpoint, wanted)) {
          result.push_back({.ip = *ip, .port = number});
        }
      }
    }
  }
  std::ranges::sort(result);
  const auto twice = std::ranges::unique(result);
  result.erase(twice.begin(), twice.end());
  return result;
}

void add_ip(ServiceEntry& entry, const Value& text) {
  const auto ip = ip_of(text.as_string());
  if (ip && std::ranges::find(entry.ips, *ip) == entry.ips.end()) {
    entry.ips.push_back(*ip);
  }
}

ServiceEntry entry_of(const Value& service) {
  const Value& spec = service["spec"];
  ServiceEntry entry;
  if (spec["type"].as_string() == "ExternalName") {
    entry.external_name = spec["externalName"].str();
    return entry;
  }
  entry.headless = spec["clusterIP"].as_string() == "None";
  entry.cluster_ip = ip_of(spec["clusterIP"].as_string()).value_or(0);
  for (const Value& ip : spec["clusterIPs"].items()) {
    add_ip(entry, ip);
  }
  add_ip(entry, spec["clusterIP"]);
  for (const Value& ip : spec["externalIPs"].items()) {
    add_ip(entry, ip);
  }
  for (const Value& ingress : service["status"]["loadBalancer"]["ingress"].items()) {
    add_ip(entry, ingress["ip"]);
  }
  return entry;
}

void add_ports(ServiceTable& table, const Value& service, const std::string& key,
               ServiceEntry& entry, const std::vector<const Value*>& slices) {
  const Value& spec = service["spec"];
  const bool sticky = spec["sessionAffinity"].as_string() == "ClientIP";
  for (const Value& item : spec["ports"].items()) {
    const auto protocol = protocol_of(item);
    if (!protocol) {
      table.problems.push_back({.owner = key, .text = unserved(item["port"], item["protocol"])});
      continue;
    }
    ServicePort port{.service = key,
                     .name = item["name"].str(),
                     .protocol = *protocol,
                     .port = port_of(item["port"]),
                     .node_port = port_of(item["nodePort"]),
                     .endpoints = {}};
    if (sticky) {
      port.affinity_seconds = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"].as_int(
          kDefaultAffinitySeconds);
    }
    port.endpoints = endpoints_of(slices, port, Wanted::Ready);
    if (port.endpoints.empty()) {
      port.endpoints = endpoints_of(slices, port, Wanted::Ending);
    }
    const std::size_t index = table.ports.size();
    entry.ports.push_back(index);
    for (const std::uint32_t ip : entry.ips) {
      table.by_address.try_emplace({Address{.ip = ip, .port = port.port}, *protocol}, index);
    }
    if (port.node_port != 0) {
      table.by_node_port.try_emplace({port.node_port, *protocol}, index);
    }
    table.ports.push_back(std::move(port));
  }
}

void add_host_port(ServiceTable& table, const std::string& owner, std::uint32_t ip,
                   const Value& item) {
  const auto protocol = protocol_of(item);
  const std::uint16_t number = port_of(item["hostPort"]);
  if (number == 0) {
    return;
  }
  if (!protocol) {
    table.problems.push_back(
        {.owner = owner, .text = unserved(item["hostPort"], item["protocol"])});
    return;
  }
  const auto [place, added] =
      table.by_node_port.try_emplace({number, *protocol}, table.ports.size());
  if (!added) {
    const std::string& holder = table.ports[place->second].service;
    table.problems.push_back(
        {.owner = owner,
         .text = fmt::format("Host port {} is not open: all nodes of the lab are on one machine, "
                             "and {}{} has it",
                             number, holder.starts_with(kPodOwner) ? "" : "Service ", holder)});
    return;
  }
  table.ports.push_back({.service = owner,
                         .name = item["name"].str(),
                         .protocol = *protocol,
                         .node_port = number,
                         .endpoints = {{.ip = ip, .port = port_of(item["containerPort"])}}});
}

void add_host_ports(ServiceTable& table, const Value& pod) {
  const auto ip = ip_of(pod["status"]["podIP"].as_string());
  const Value& metadata = pod["metadata"];
  const std::string owner = fmt::format("{}{}/{}", kPodOwner, metadata["namespace"].as_string(),
                                        metadata["name"].as_string());
  for (const char* list : {"initContainers", "containers"}) {
    for (const Value& container : pod["spec"][list].items()) {
      for (std::size_t i = 0; ip && i < container["ports"].size(); ++i) {
        add_host_port(table, owner, *ip, container["ports"][i]);
      }
    }
  }
}

}  // namespace

bool has_host_ports(const Value& pod) {
  const Value& spec = pod["spec"];
  const std::string_view phase = pod["status"]["phase"].as_string();
  if (phase != "Running" || spec["hostNetwork"].as_bool()) {
    return false;
  }
  const auto has_one = [](const Value& container) {
    return std::ranges::any_of(container["ports"].items(),
                               [](const Value& port) { return port["hostPort"].as_int() != 0; });
  };
  return std::ranges::any_of(spec["containers"].items(), has_one) ||
         std::ranges::any_of(spec["initContainers"].items(), has_one);
}

ServiceTable make_service_table(std::span<const Value> services, std::span<const Value> slices,
                                std::span<const Value> pods) {
  ServiceTable table;
  const SlicesByService by_service = group(slices);
  static const std::vector<const Value*> kNone;
  for (const Value& service : services) {
    const Value& metadata = service["metadata"];
    const std::string key =
        fmt::format("{}/{}", metadata["namespace"].as_string(), metadata["name"].as_string());
    ServiceEntry entry = entry_of(service);
    const auto found = by_service.find(key);
    const std::vector<const Value*>& own = found == by_service.end() ? kNone : found->second;
    add_ports(table, service, key, entry, own);
    for (const Value* slice : own) {
      for (const Value& endpoint : (*slice)["endpoints"].items()) {
        const auto ip = first_ip(endpoint);
        if (ip && is_wanted(endpoint, Wanted::Ready)) {
          entry.endpoints.push_back({.hostname = endpoint["hostname"].str(), .ip = *ip});
        }
      }
    }
    table.services.insert_or_assign(key, std::move(entry));
  }
  for (const Value& pod : pods) {
    add_host_ports(table, pod);
  }
  return table;
}

const ServicePort* ServiceTable::find(const Address& address, Protocol protocol) const {
  const auto found = by_address.find({address, protocol});
  return found == by_address.end() ? nullptr : &ports[found->second];
}

const ServicePort* ServiceTable::find_node_port(std::uint16_t port, Protocol protocol) const {
  const auto found = by_node_port.find({port, protocol});
  return found == by_node_port.end() ? nullptr : &ports[found->second];
}

bool ServiceTable::is_service_ip(std::uint32_t ip) const {
  const auto next = by_address.lower_bound({Address{.ip = ip, .port = 0}, Protocol::Tcp});
  return next != by_address.end() && next->first.first.ip == ip;
}

}  // namespace athanor::nodes
