// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/pods/pod_warnings.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "embedded/kinds/checks.hpp"
#include "embedded/kinds/pods/pair_budget.hpp"
#include "embedded/kinds/pods/volume_warnings.hpp"
#include "kube/names/names.hpp"
#include "kube/text/quantity.hpp"
#include "kube/text/text.hpp"

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

// Fractions of bytes.
void warn_of_amount(const Value& value, const std::string& path,
                    std::vector<std::string>& warnings) {
  const auto amount = Quantity::parse(value);
  if (!value.is_null() && amount && amount->milli_value() % 1000 != 0) {
    warnings.push_back(fmt::format("{}: fractional byte value {} is invalid, must be an integer",
                                   path, go_quote(amount->text())));
  }
}

void warn_of_amounts(const Value& resources, const std::string& path,
                     std::vector<std::string>& warnings) {
  for (const std::string_view name : {"memory", "ephemeral-storage"}) {
    for (const std::string_view list : {"limits", "requests"}) {
      warn_of_amount(resources[list][name], at(below(path, list), name), warnings);
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
  PairBudget budget(warnings);
  each_container(spec, path, [&](const Value& container, const std::string& here) {
    const Value& ports = container["ports"];
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const Port port{.path = at(here + ".ports", i),
                      .host_ip = ports[i]["hostIP"].str(),
                      .host_port = ports[i]["hostPort"].as_int()};
      std::vector<Port>& others = seen[fmt::format("{}/{}", ports[i]["containerPort"].as_int(),
                                                   ports[i]["protocol"].as_string())];
      for (const Port& other : others) {
        if (!budget.take()) {
          return;
        }
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

// What a label of old is called now; empty for all others.
std::string_view newer_label(std::string_view label) {
  for (const auto& [old, text] : kOldNodeLabels) {
    if (label == old) {
      return text;
    }
  }
  return {};
}

// Terms of a node's affinity that name labels of old, or weigh nothing.
void warn_of_node_term(const Value& term, bool weighted, const std::string& path,
                       std::vector<std::string>& warnings) {
  const Value& expressions = term["matchExpressions"];
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    const std::string here = at(path + ".matchExpressions", i);
    const std::string_view key = expressions[i]["key"].as_string();
    if (const std::string_view text = newer_label(key); !text.empty()) {
      warnings.push_back(fmt::format("{}.key: {} is {}", here, key, text));
    }
    const Value& values = expressions[i]["values"];
    for (std::size_t k = 0; weighted && k < values.size(); ++k) {
      if (const NameError wrong = validate_label_value(values[k].as_string())) {
        warnings.push_back(fmt::format("{}: {} is invalid, {}", at(here + ".values", k),
                                       values[k].as_string(), *wrong));
      }
    }
  }
}

// A selector that is not there selects nothing.
void warn_of_pod_terms(const Value& affinity, const std::string& path,
                       std::vector<std::string>& warnings) {
  constexpr std::string_view kText =
      "labelSelector: a null labelSelector results in matching no pod";
  const std::string required = path + ".requiredDuringSchedulingIgnoredDuringExecution";
  const Value& terms = affinity["requiredDuringSchedulingIgnoredDuringExecution"];
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (terms[i]["labelSelector"].is_null()) {
      warnings.push_back(fmt::format("{}.{}", at(required, i), kText));
    }
  }
  const std::string preferred = path + ".preferredDuringSchedulingIgnoredDuringExecution";
  const Value& weighted = affinity["preferredDuringSchedulingIgnoredDuringExecution"];
  for (std::size_t i = 0; i < weighted.size(); ++i) {
    if (weighted[i]["podAffinityTerm"]["labelSelector"].is_null()) {
      warnings.push_back(fmt::format("{}.podAffinityTerm.{}", at(preferred, i), kText));
    }
  }
}

void warn_of_placement(const Value& spec, const std::string& path,
                       std::vector<std::string>& warnings) {
  for (const Member& label : spec["nodeSelector"].members()) {
    if (const std::string_view text = newer_label(label.key()); !text.empty()) {
      warnings.push_back(fmt::format("{}: {}", at(path + ".nodeSelector", label.key()), text));
    }
  }
  const Value& node = spec["affinity"]["nodeAffinity"];
  const Value& terms = node["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
  const std::string node_path = path + ".affinity.nodeAffinity.";
  for (std::size_t i = 0; i < terms.size(); ++i) {
    warn_of_node_term(
        terms[i], false,
        at(node_path + "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms", i),
        warnings);
  }
  const Value& weighted = node["preferredDuringSchedulingIgnoredDuringExecution"];
  for (std::size_t i = 0; i < weighted.size(); ++i) {
    warn_of_node_term(
        weighted[i]["preference"], true,
        at(node_path + "preferredDuringSchedulingIgnoredDuringExecution", i) + ".preference",
        warnings);
  }
  const Value& spread = spec["topologySpreadConstraints"];
  for (std::size_t i = 0; i < spread.size(); ++i) {
    const std::string here = at(path + ".topologySpreadConstraints", i);
    const std::string_view key = spread[i]["topologyKey"].as_string();
    if (const std::string_view text = newer_label(key); !text.empty()) {
      warnings.push_back(fmt::format("{}.topologyKey: {} is {}", here, key, text));
    }
    if (spread[i]["labelSelector"].is_null()) {
      warnings.push_back(here + ".labelSelector: a null labelSelector results in matching no pod");
    }
  }
}

// Addresses and names that are listed twice.
void warn_of_twins(const Value& list, std::string_view field, std::string_view what,
                   const std::string& path, std::vector<std::string>& warnings) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string_view text = list[i][field].as_string();
    if (!seen.insert(text).second) {
      warnings.push_back(
          fmt::format("{}.{}: duplicate {} {}", at(path, i), field, what, go_quote(text)));
    }
  }
}

}  // namespace

void warn_of_pod_spec(const Value& spec, const std::string& path,
                      std::vector<std::string>& warnings) {
  warn_of_placement(spec, path, warnings);
  warn_of_volumes(spec["volumes"], path, warnings);
  warn_of_twins(spec["hostAliases"], "ip", "ip", path + ".hostAliases", warnings);
  const Value& secrets = spec["imagePullSecrets"];
  warn_of_twins(secrets, "name", "name", path + ".imagePullSecrets", warnings);
  for (std::size_t i = 0; i < secrets.size(); ++i) {
    if (secrets[i]["name"].as_string().empty()) {
      warnings.push_back(fmt::format("{}.name: invalid empty name {}",
                                     at(path + ".imagePullSecrets", i), go_quote("")));
    }
  }
  for (const std::string_view name : {"memory", "ephemeral-storage"}) {
    warn_of_amount(spec["overhead"][name], at(path + ".overhead", name), warnings);
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
  warn_of_pod_terms(spec["affinity"]["podAffinity"], path + ".affinity.podAffinity", warnings);
  warn_of_pod_terms(spec["affinity"]["podAntiAffinity"], path + ".affinity.podAntiAffinity",
                    warnings);
}

}  // namespace athanor::apiserver
