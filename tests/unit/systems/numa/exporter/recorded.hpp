// SPDX-License-Identifier: Apache-2.0
// Recorded sysfs trees (tests/data/numa/sysfs) and the worked example of docs/spec/numa.md 9.6.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kube/text/json.hpp"
#include "support/source_dir/source_dir.hpp"
#include "systems/numa/exporter/config.hpp"
#include "systems/numa/exporter/hardware.hpp"
#include "systems/numa/exporter/podresources.hpp"

namespace athanor::numa::testing {

inline SysfsTree recorded_tree(const std::string& name) {
  const std::string root = std::string(test::source_dir()) + "/tests/data/numa/sysfs/" + name + "/";
  return {.read = [root](const std::string& path) -> std::optional<std::string> {
            std::ifstream file(root + path);
            if (!file) {
              return std::nullopt;
            }
            return std::string(std::istreambuf_iterator<char>(file), {});
          },
          .list =
              [root](const std::string& path) {
                std::vector<std::string> names;
                std::error_code none;
                for (const auto& entry : std::filesystem::directory_iterator(root + path, none)) {
                  names.push_back(entry.path().filename().string());
                }
                return names;
              }};
}

inline std::string test_file(const std::string& path) {
  std::ifstream file(std::string(test::source_dir()) + "/tests/data/numa/" + path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// A machine of tests/data/numa/machines: paths and their contents.
inline SysfsTree recorded_machine(const std::string& name) {
  const Value files = json::parse(test_file("machines/" + name + ".json")).value()["files"];
  return {.read = [files](const std::string& path) -> std::optional<std::string> {
            const Value* text = files.find(path);
            return text == nullptr ? std::nullopt : std::optional(text->str());
          },
          .list =
              [files](const std::string& path) {
                std::set<std::string> names;
                for (const Member& file : files.members()) {
                  if (file.key().starts_with(path + "/")) {
                    const std::string_view rest = file.key().substr(path.size() + 1);
                    names.emplace(rest.substr(0, rest.find('/')));
                  }
                }
                return std::vector<std::string>(names.begin(), names.end());
              }};
}

inline Hardware recorded_hardware(const std::string& name) {
  return read_hardware(recorded_tree(name)).value();
}

inline AllocatableResources example_allocatable() {
  return read_allocatable(json::parse(R"({"cpu_ids": [1, 2, 3, 5, 6, 7],
    "devices": [{"resource_name": "vendor.io/nic", "device_ids": ["nicA"], "topology": {"nodes": [{"ID": 0}]}},
                {"resource_name": "vendor.io/nic", "device_ids": ["nicB"], "topology": {"nodes": [{"ID": 1}]}},
                {"resource_name": "vendor.io/nic", "device_ids": ["nicC"], "topology": {"nodes": [{}, {"ID": 1}]}},
                {"resource_name": "vendor.io/fpga", "device_ids": ["f0"]}],
    "memory": [{"memory_type": "memory", "size": 15000000000, "topology": {"nodes": [{"ID": 0}]}},
               {"memory_type": "memory", "size": "16000000000", "topology": {"nodes": [{"ID": 1}]}},
               {"memory_type": "hugepages-2Mi", "size": 134217728, "topology": {"nodes": [{"ID": 0}]}},
               {"memory_type": "hugepages-2Mi", "size": 0, "topology": {"nodes": [{"ID": 1}]}},
               {"memory_type": "hugepages-1Gi", "size": 1073741824, "topology": {"nodes": [{"ID": 0}]}},
               {"memory_type": "hugepages-1Gi", "size": 1073741824, "topology": {"nodes": [{"ID": 1}]}}]})")
                              .value())
      .value();
}

inline std::vector<PodResources> example_pods() {
  return read_list(json::parse(R"({"pod_resources": [
    {"name": "pod-a", "namespace": "default", "containers": [{"name": "c1", "cpu_ids": [2, 3],
      "devices": [{"resource_name": "vendor.io/nic", "device_ids": ["nicA"], "topology": {"nodes": [{"ID": 0}]}}],
      "memory": [{"memory_type": "memory", "size": 1073741824, "topology": {"nodes": [{"ID": 0}]}}]}]},
    {"name": "pod-b", "namespace": "default", "containers": [{"name": "main", "cpuIds": ["1", "5"]}]},
    {"name": "numaresourcesoperator-worker-abcde", "namespace": "numaresources",
     "containers": [{"name": "shared-pool-container", "cpu_ids": [1, 5]}]}]})")
                       .value())
      .value();
}

// Defaults, as an exporter on node worker-0 with the example's reference container has them.
inline ExporterConfig example_config() {
  ExporterConfig config;
  config.hostname = "worker-0";
  config.fingerprint_method = "with-exclusive-resources";
  config.reference = {.ns = "numaresources",
                      .pod = "numaresourcesoperator-worker-abcde",
                      .container = "shared-pool-container"};
  config.policy = "single-numa-node";
  config.scope = "container";
  config.sleep_interval = std::chrono::seconds(10);
  return config;
}

}  // namespace athanor::numa::testing
