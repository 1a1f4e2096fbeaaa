// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/network/cluster_names.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "base/ascii.hpp"

namespace athanor::nodes {
namespace {

constexpr std::uint32_t kSeconds = 5;  // as CoreDNS in a cluster
constexpr int kMostAliases = 8;        // a chain of them may lead to itself
constexpr std::uint16_t kWeight = 100;

std::string reversed_domain() {
  return ".in-addr.arpa";
}

std::string dashed(std::uint32_t ip) {
  std::string text = ip_text(ip);
  std::ranges::replace(text, '.', '-');
  return text;
}

std::string name_of(const NamedEndpoint& endpoint) {
  return endpoint.hostname.empty() ? dashed(endpoint.ip) : lower(endpoint.hostname);
}

std::vector<std::string_view> labels_of(std::string_view name) {
  std::vector<std::string_view> labels;
  while (!name.empty()) {
    const std::size_t dot = name.find('.');
    labels.push_back(name.substr(0, dot));
    name.remove_prefix(dot == std::string_view::npos ? name.size() : dot + 1);
  }
  return labels;
}

// Returns 1.2.3.4 for "4.3.2.1.in-addr.arpa".
std::optional<std::uint32_t> reversed_ip(std::string_view name) {
  name.remove_suffix(reversed_domain().size());
  std::vector<std::string_view> labels = labels_of(name);
  if (labels.size() != 4) {
    return std::nullopt;
  }
  return ip_of(fmt::format("{}.{}.{}.{}", labels[3], labels[2], labels[1], labels[0]));
}

class Answerer {
 public:
  Answerer(const DnsQuestion& question, const ServiceTable& table, std::size_t turn)
      : question_(question), table_(table), turn_(turn) {}

  std::optional<NameAnswer> answer() {
    if (question_.name.ends_with(reversed_domain())) {
      return back();
    }
    std::string name = question_.name;
    for (int aliases = 0; aliases < kMostAliases; ++aliases) {
      const auto inside = inside_cluster(name);
      if (!inside) {
        if (answer_.content.answers.empty()) {
          return std::nullopt;
        }
        answer_.go_on = name;
        return answer_;
      }
      answer_.content.authoritative = true;
      const std::string alias = add(*inside, name);
      if (alias.empty()) {
        if (!known_) {
          answer_.content.code = DnsCode::NoName;
        }
        if (answer_.content.answers.empty()) {
          add_authority();
        }
        return answer_;
      }
      answer_.content.answers.push_back(
          {.name = name, .type = kTypeCname, .seconds = kSeconds, .data = dns_name(alias)});
      name = alias;
    }
    answer_.content.code = DnsCode::ServerFailure;
    answer_.content.answers.clear();
    return answer_;
  }

 private:
  // Returns the labels before "cluster.local".
  static std::optional<std::vector<std::string_view>> inside_cluster(const std::string& name) {
    std::string_view rest = name;
    if (rest == kClusterDomain) {
      return std::vector<std::string_view>();
    }
    if (!rest.ends_with(kClusterDomain) || rest.size() <= kClusterDomain.size() ||
        rest[rest.size() - kClusterDomain.size() - 1] != '.') {
      return std::nullopt;
    }
    rest.remove_suffix(kClusterDomain.size() + 1);
    return labels_of(rest);
  }

  [[nodiscard]] bool wants(std::uint16_t type) const {
    return question_.type == type || question_.type == kTypeAny;
  }

  void add_address(const std::string& name, std::uint32_t ip) {
    known_ = true;
    if (wants(kTypeA)) {
      answer_.content.answers.push_back(
          {.name = name, .type = kTypeA, .seconds = kSeconds, .data = dns_number(ip)});
    }
  }

  void add_authority() {
    answer_.content.authority.push_back(
        {.name = std::string(kClusterDomain),
         .type = kTypeSoa,
         .seconds = kSeconds,
         .data = dns_name("ns.dns.cluster.local") + dns_name("hostmaster.cluster.local") +
                 dns_number(1) + dns_number(7200) + dns_number(1800) + dns_number(86400) +
                 dns_number(kSeconds)});
  }

  // Adds the records of a name of the cluster; returns the name that it is an alias of, or empty.
  std::string add(const std::vector<std::string_view>& labels, const std::string& name) {
    const std::size_t count = labels.size();
    if (count < 2) {
      known_ = count == 0 || labels[0] == "svc" || labels[0] == "pod";
      return {};
    }
    if (labels[count - 1] == "pod" && count == 3) {
      std::string text(labels[0]);
      std::ranges::replace(text, '-', '.');
      if (const auto ip = ip_of(text)) {
        add_address(name, *ip);
      }
      return {};
    }
    if (labels[count - 1] != "svc") {
      return {};
    }
    if (count == 2) {
      known_ = has_namespace(labels[0]);
      return {};
    }
    const auto found =
        table_.services.find(fmt::format("{}/{}", labels[count - 2], labels[count - 3]));
    if (found == table_.services.end()) {
      return {};
    }
    return count == 3   ? add_service(found->second, name)
           : count == 4 ? add_endpoint(found->second, labels[0], name)
           : count == 5 ? add_ports(found->second, labels, name)
                        : std::string{};
  }

  [[nodiscard]] bool has_namespace(std::string_view ns) const {
    const std::string prefix = std::string(ns) + "/";
    const auto next = table_.services.lower_bound(prefix);
    return next != table_.services.end() && next->first.starts_with(prefix);
  }

  std::string add_service(const ServiceEntry& service, const std::string& name) {
    known_ = true;
    if (!service.external_name.empty()) {
      std::string alias = lower(service.external_name);
      if (alias.ends_with('.')) {
        alias.pop_back();
      }
      return dns_name(alias).empty() ? std::string{} : alias;
    }
    if (!service.headless) {
      if (service.cluster_ip != 0) {
        add_address(name, service.cluster_ip);
      }
      return {};
    }
    const std::size_t count = service.endpoints.size();
    std::vector<std::uint32_t> seen;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t ip = service.endpoints[(i + turn_) % count].ip;
      if (std::ranges::find(seen, ip) == seen.end()) {
        seen.push_back(ip);
        add_address(name, ip);
      }
    }
    known_ = count > 0;  // as CoreDNS: a headless Service without endpoints has no name
    return {};
  }

  // Adds "HOST.SERVICE...": an endpoint by its host name or dashed address.
  std::string add_endpoint(const ServiceEntry& service, std::string_view host,
                           const std::string& name) {
    for (const NamedEndpoint& endpoint : service.endpoints) {
      if (name_of(endpoint) == host) {
        add_address(name, endpoint.ip);
      }
    }
    return {};
  }

  // Adds the ports of "_PORT._PROTOCOL.SERVICE...".
  std::string add_ports(const ServiceEntry& service, const std::vector<std::string_view>& labels,
                        const std::string& name) {
    if (!labels[0].starts_with('_') || !labels[1].starts_with('_')) {
      return {};
    }
    const std::string host = fmt::format("{}.{}.svc.{}", labels[2], labels[3], kClusterDomain);
    for (const std::size_t index : service.ports) {
      const ServicePort& port = table_.ports[index];
      const std::string_view protocol = port.protocol == Protocol::Tcp ? "_tcp" : "_udp";
      if (lower(port.name) != labels[0].substr(1) || labels[1] != protocol) {
        continue;
      }
      known_ = true;
      if (!wants(kTypeSrv)) {
        continue;
      }
      if (!service.headless) {
        add_port(name, port.port, host);
        continue;
      }
      for (const Address& address : port.endpoints) {
        const auto endpoint = std::ranges::find(service.endpoints, address.ip, &NamedEndpoint::ip);
        if (endpoint != service.endpoints.end()) {
          add_port(name, address.port, fmt::format("{}.{}", name_of(*endpoint), host));
        }
      }
    }
    return {};
  }

  void add_port(const std::string& name, std::uint16_t port, const std::string& host) {
    answer_.content.answers.push_back(
        {.name = name,
         .type = kTypeSrv,
         .seconds = kSeconds,
         .data = dns_short(0) + dns_short(kWeight) + dns_short(port) + dns_name(host)});
  }

  // Answers with the names of an address; nullopt: it is none of the cluster.
  std::optional<NameAnswer> back() {
    const auto ip = reversed_ip(question_.name);
    if (!ip) {
      return std::nullopt;
    }
    for (const auto& [key, service] : table_.services) {
      const std::size_t slash = key.find('/');
      const std::string host =
          fmt::format("{}.{}.svc.{}", key.substr(slash + 1), key.substr(0, slash), kClusterDomain);
      if (service.cluster_ip == *ip) {
        add_name(host);
      }
      for (const NamedEndpoint& endpoint : service.endpoints) {
        if (endpoint.ip == *ip && !endpoint.hostname.empty()) {
          add_name(fmt::format("{}.{}", name_of(endpoint), host));
        }
      }
    }
    if (answer_.content.answers.empty()) {
      return std::nullopt;
    }
    answer_.content.authoritative = true;
    return answer_;
  }

  void add_name(const std::string& host) {
    if (wants(kTypePtr)) {
      answer_.content.answers.push_back(
          {.name = question_.name, .type = kTypePtr, .seconds = kSeconds, .data = dns_name(host)});
    }
  }

  const DnsQuestion& question_;
  const ServiceTable& table_;
  std::size_t turn_;
  NameAnswer answer_{};
  bool known_ = false;  // the name is there, if not with a record of this type
};

}  // namespace

std::optional<NameAnswer> cluster_answer(const DnsQuestion& question, const ServiceTable& table,
                                         std::size_t turn) {
  return Answerer(question, table, turn).answer();
}

}  // namespace athanor::nodes
