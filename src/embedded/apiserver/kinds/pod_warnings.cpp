// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/kinds/pod_warnings.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "embedded/apiserver/kinds/checks.hpp"
#include "kube/quantity.hpp"
#include "kube/text.hpp"

namespace athanor::apiserver {
namespace {

// Labels of nodes that have newer names.
constexpr std::pair<std::string_view, std::string_view> kOldNodeLabels[] = {
    {"beta.kubernetes.io/arch", R"(deprecated since v1.14; use "kubernetes.io/arch" instead)"},
    {"beta.kubernetes.io/os", R"(deprecated since v1.14; use "kubernetes.io/os" instead)"},
    {"failure-domain.beta.kubernetes.io/region",
     R"(deprecated since v1.17; use "topology.kubernetes.io/region" instead)"},
    {"failure-domain.beta.kubernetes.io/zone",
     R"(deprecated since v1.17; use "topology.kubernetes.io/zone" instead)"},
    {"beta.kubernetes.io/instance-type",
     R"(deprecated since v1.17; use "node.kubernetes.io/instance-type" instead)"},
};

template <class Visit>
void each_container(const Value& spec, const std::string& path, const Visit& visit) {
  for (const std::string_view list : {"initContainers", "containers"}) {
    const Value& containers = spec[list];
    for (std::size_t i = 0; i < containers.size(); ++i) {
      visit(containers[i], at(below(path, list), i));
    }
  }
}

// Bytes that are no whole number.
void warn_of_amounts(const Value& resources, const std::string& path,
                     std::vector<std::string>& warnings) {
  for (const std::string_view list : {"requests", "limits"}) {
    for (const std::string_view name : {"memory", "ephemeral-storage"}) {
      const Value& value = resources[list][name];
      const auto amount = Quantity::parse(value);
      if (!value.is_null() && amount && amount->milli_value() % 1000 != 0) {
        warnings.push_back(
            fmt::format("{}: fractional byte value {} is invalid, must be an integer",
                        at(below(path, list), name), go_quote(amount->text())));
      }
    }
  }
}

void warn_of_env(const Value& env, const std::string& path, std::vector<std::string>& warnings) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < env.size(); ++i) {
    const std::string_view name = env[i]["name"].as_string();
    const std::string reference = fmt::format("$({})", name);
    const std::string_view value = env[i]["value"].as_string();
    const bool extends = env[i]["valueFrom"].is_null() && value != reference &&
                         value.find(reference) != std::string_view::npos;
    if (!names.insert(name).second && !extends) {
      warnings.push_back(
          fmt::format("{}: hides previous definition of {}, which may be dropped when using apply",
                      at(path, i), go_quote(name)));
    }
  }
}

struct Port {
  std::string path{};
  std::string host_ip{};
  std::int64_t host_port = 0;
};

void warn_of_ports(const Value& spec, const std::string& path, std::vector<std::string>& warnings) {
  std::map<std::string, std::vector<Port>> seen;
  each_container(spec, path, [&](const Value& container, const std::string& here) {
    const Value& ports = container["ports"];
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const Port port{.path = at(here + ".ports", i),
                      .host_ip = ports[i]["hostIP"].str(),
                      .host_port = ports[i]["hostPort"].as_int()};
      std::vector<Port>& others = seen[fmt::format("{}/{}", ports[i]["containerPort"].as_int(),
                                                   ports[i]["protocol"].as_string())];
      for (const Port& other : others) {
        if (port.host_ip == other.host_ip && port.host_port == other.host_port) {
          warnings.push_back(
              fmt::format("{}: duplicate port definition with {}", port.path, other.path));
        } else if (port.host_port == 0 || other.host_port == 0) {
          warnings.push_back(
              fmt::format("{}: overlapping port definition with {}", port.path, other.path));
        } else if (port.host_port == other.host_port &&
                   port.host_ip.empty() != other.host_ip.empty()) {
          warnings.push_back(fmt::format("{}: dangerously ambiguous port definition with {}",
                                         port.path, other.path));
        }
      }
      others.push_back(port);
    }
  });
}

// Names are unique within a container, not within the pod.
void warn_of_port_names(const Value& spec, const std::string& path,
                        std::vector<std::string>& warnings) {
  std::map<std::string, std::string> seen;
  each_container(spec, path, [&](const Value& container, const std::string& here) {
    const Value& ports = container["ports"];
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const std::string name = ports[i]["name"].str();
      const std::string port = at(here + ".ports", i);
      const auto [first, fresh] = seen.emplace(name, port);
      if (!name.empty() && !fresh) {
        warnings.push_back(fmt::format(
            "{}: duplicate port name {} with {}, services and probes that select ports by name "
            "will use {}",
            port, go_quote(name), first->second, first->second));
      }
    }
  });
}

}  // namespace

void warn_of_pod_spec(const Value& spec, const std::string& path,
                      std::vector<std::string>& warnings) {
  for (const auto& [label, text] : kOldNodeLabels) {
    if (spec["nodeSelector"].contains(label)) {
      warnings.push_back(fmt::format("{}: {}", at(path + ".nodeSelector", label), text));
    }
  }
  const Value& secrets = spec["imagePullSecrets"];
  for (std::size_t i = 0; i < secrets.size(); ++i) {
    if (secrets[i]["name"].as_string().empty()) {
      warnings.push_back(fmt::format("{}: invalid empty name {}", at(path + ".imagePullSecrets", i),
                                     go_quote("")));
    }
  }
  each_container(spec, path, [&](const Value& container, const std::string& here) {
    warn_of_amounts(container["resources"], here + ".resources", warnings);
    warn_of_env(container["env"], here + ".env", warnings);
  });
  warn_of_ports(spec, path, warnings);
  warn_of_port_names(spec, path, warnings);
  if (spec["terminationGracePeriodSeconds"].as_int() < 0) {
    warnings.push_back(path +
                       ".terminationGracePeriodSeconds: must be >= 0; negative values are invalid "
                       "and will be treated as 1");
  }
}

}  // namespace athanor::apiserver
