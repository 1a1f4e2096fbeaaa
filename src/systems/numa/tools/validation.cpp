// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/tools/validation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kube/text/quantity.hpp"
#include "systems/numa/emulation/node_profile.hpp"
#include "systems/numa/scheduling/fingerprint.hpp"
#include "systems/numa/scheduling/residents.hpp"

namespace athanor::numa {
namespace {

constexpr Duration kShortestPeriod = std::chrono::seconds(1);
constexpr Duration kLongestPeriod = std::chrono::seconds(10);

// Findings about one kubelet.
class KubeletCheck {
 public:
  KubeletCheck(std::string node, const Value& config, std::vector<Finding>& findings)
      : node_(std::move(node)), config_(config), findings_(findings) {}

  void run() {
    expect_text("CPU manager", "policy", "cpuManagerPolicy", "static");
    check_period();
    if (config_["reservedSystemCPUs"].as_string().empty() && !is_reserved("kubeReserved") &&
        !is_reserved("systemReserved")) {
      add("CPU manager", "CPU", "reserved some CPU cores", "no reserved CPU cores");
    }
    expect_text("memory manager", "policy", "memoryManagerPolicy", "Static");
    if (config_["reservedMemory"].empty()) {
      add("memory manager", "memory", "reserved memory blocks", "no reserved memory blocks");
    }
    expect_text("topology manager", "policy", "topologyManagerPolicy", "single-numa-node");
  }

 private:
  void add(const char* component, const char* setting, std::string expected, std::string detected) {
    findings_.push_back(
        {node_, "kubelet", component, setting, std::move(expected), std::move(detected)});
  }

  void expect_text(const char* component, const char* setting, const char* key,
                   const char* expected) {
    const std::string detected = config_[key].str();
    if (detected != expected) {
      add(component, setting, expected, detected);
    }
  }

  // The kubelet's default is 10s.
  void check_period() {
    const std::string text = config_["cpuManagerReconcilePeriod"].str();
    if (text.empty()) {
      return;
    }
    const auto period = parse_go_duration(text);
    if (!period.ok() || *period < kShortestPeriod || *period > kLongestPeriod) {
      add("CPU manager", "reconcile period", "in range [1s, 10s]", text);
    }
  }

  [[nodiscard]] bool is_reserved(const char* key) const {
    const auto amount = Quantity::parse(config_[key]["cpu"]);
    return amount && !amount->is_zero();
  }

  std::string node_;
  const Value& config_;
  std::vector<Finding>& findings_;
};

void check_kubelets(const ClusterFacts& facts, std::vector<Finding>& findings) {
  if (facts.nodes.empty()) {
    findings.push_back({.area = "cluster", .expected = "worker nodes", .detected = "none"});
  }
  for (const Object& node : facts.nodes) {
    const std::string name(node.name());
    const auto config = facts.kubelet_configs.find(name);
    if (config == facts.kubelet_configs.end()) {
      findings.push_back({name, "kubelet", "configuration", "", "any value", "no configuration"});
    } else {
      KubeletCheck(name, config->second, findings).run();
    }
  }
}

void check_topologies(const ClusterFacts& facts, std::vector<Finding>& findings) {
  const auto add = [&](const char* setting, std::string expected, std::string detected) {
    findings.push_back(
        {"", "cluster", "NodeResourceTopology", setting, std::move(expected), std::move(detected)});
  };
  if (!facts.topologies) {
    add("installed", "true", "false");
    return;
  }
  const auto count = static_cast<std::size_t>(
      std::ranges::count_if(*facts.topologies, [&](const Object& topology) {
        return std::ranges::any_of(
            facts.nodes, [&](const Object& node) { return node.name() == topology.name(); });
      }));
  if (facts.topologies->empty()) {
    add("items", "> 0", "0");
  } else if (count != facts.nodes.size()) {
    add("items", fmt::to_string(facts.nodes.size()), fmt::to_string(count));
  }
}

void check_pods(const ClusterFacts& facts, std::vector<Finding>& findings) {
  for (const Object& pod : facts.operand_pods) {
    const std::string phase = pod.status()["phase"].str();
    if (phase != "Running") {
      findings.push_back({pod.spec()["nodeName"].str(), "kubelet", "pod",
                          fmt::format("{}/{}", pod.ns(), pod.name()), "Running", phase});
    }
  }
}

// What a scheduler with a clean cache would compute, beside what the exporter published.
void check_caches(const ClusterFacts& facts, std::vector<Finding>& findings) {
  if (!facts.topologies) {
    return;
  }
  for (const Object& object : *facts.topologies) {
    const NodeTopology topology = read_topology(object.body());
    if (topology.fingerprint.empty()) {
      continue;
    }
    const std::vector<Key> pods = fingerprinted(facts.pods, topology);
    const std::string computed = fingerprint_of(std::span<const Key>(pods));
    if (!check_fingerprint(computed, topology.fingerprint).ok()) {
      findings.push_back({topology.node, "cluster", "scheduler", "cache", "clean", "unsync"});
    }
  }
}

}  // namespace

std::string text_of(const Finding& finding) {
  const std::string where = finding.area == "cluster" ? std::string("cluster:")
                                                      : fmt::format("node \"{}\" area \"{}\"",
                                                                    finding.node, finding.area);
  return fmt::format(
      "Incorrect configuration of {} component \"{}\" setting \"{}\": expected \"{}\" detected "
      "\"{}\"",
      where, finding.component, finding.setting, finding.expected, finding.detected);
}

Value to_value(const Finding& finding) {
  return Value::object({{"node", finding.node},
                        {"area", finding.area},
                        {"component", finding.component},
                        {"setting", finding.setting},
                        {"expected", finding.expected},
                        {"detected", finding.detected}});
}

std::vector<Finding> validate(const ClusterFacts& facts, const std::set<std::string>& what) {
  std::vector<Finding> findings;
  const std::pair<const char*, void (*)(const ClusterFacts&, std::vector<Finding>&)> checks[] = {
      {"k8scfg", check_kubelets},
      {"nrt", check_topologies},
      {"podst", check_pods},
      {"schedcache", check_caches}};
  for (const auto& [name, check] : checks) {
    if (what.contains(name)) {
      check(facts, findings);
    }
  }
  return findings;
}

Value emulated_kubelet_config(const Object& node) {
  const auto profile = profile_of(node);
  if (!profile) {
    return {};
  }
  Value config = Value::object({{"cpuManagerPolicy", "static"},
                                {"cpuManagerReconcilePeriod", "10s"},
                                {"memoryManagerPolicy", "Static"},
                                {"topologyManagerPolicy", profile->policy},
                                {"topologyManagerScope", profile->scope}});
  std::string cpus;
  Value memory = Value::list();
  for (std::size_t i = 0; i < profile->zones.size(); ++i) {
    for (const int cpu : profile->zones[i].reserved_cpus) {
      cpus += fmt::format("{}{}", cpus.empty() ? "" : ",", cpu);
    }
    if (const std::int64_t reserved = profile->zones[i].reserved_memory; reserved > 0) {
      memory.push_back(Value::object(
          {{"numaNode", i},
           {"limits", Value::object({{"memory", fmt::to_string(reserved / kUnit)}})}}));
    }
  }
  config.set("reservedSystemCPUs", cpus);
  config.set("reservedMemory", std::move(memory));
  return config;
}

}  // namespace athanor::numa
