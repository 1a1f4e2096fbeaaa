// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/emulation/node_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "kube/text/quantity.hpp"
#include "systems/numa/emulation/emulated_podresources.hpp"
#include "systems/numa/emulation/node_profile.hpp"

namespace athanor::numa {
namespace {

constexpr std::uint64_t kKibi = 1024;
constexpr std::string_view kNodes = "/sys/devices/system/node";
constexpr std::string_view kHugepages = "hugepages-";

std::string cpu_list(const std::vector<std::int64_t>& cpus) {
  return fmt::format("{}\n", fmt::join(cpus, ","));
}

// Returns sysfs' file of one page size, e.g. of "hugepages-2Mi"; nullopt below 1 KiB.
std::optional<NodeFile> hugepages_file(const std::string& folder, const std::string& resource,
                                       std::uint64_t bytes) {
  const auto size = Quantity::parse(std::string_view(resource).substr(kHugepages.size()));
  if (!size || size->value() < static_cast<std::int64_t>(kKibi)) {
    return std::nullopt;
  }
  const auto page = static_cast<std::uint64_t>(size->value());
  return NodeFile{
      .path = fmt::format("{}/hugepages/hugepages-{}kB/nr_hugepages", folder, page / kKibi),
      .content = fmt::format("{}\n", bytes / page)};
}

void add_zone(const HardwareNode& zone, std::vector<NodeFile>& files) {
  const std::string folder = fmt::format("{}/node{}", kNodes, zone.id);
  std::vector<std::int64_t> distances;
  distances.reserve(zone.distances.size());
  for (const auto& [other, distance] : zone.distances) {
    distances.push_back(distance);
  }
  files.push_back({folder + "/cpulist", cpu_list(zone.cpus)});
  files.push_back({folder + "/distance", fmt::format("{}\n", fmt::join(distances, " "))});
  for (const auto& [resource, bytes] : zone.memory) {
    if (resource == "memory") {
      files.push_back({folder + "/meminfo",
                       fmt::format("Node {} MemTotal:       {} kB\n", zone.id, bytes / kKibi)});
    } else if (auto file = hugepages_file(folder, resource, bytes)) {
      files.push_back(*std::move(file));
    }
  }
}

}  // namespace

std::vector<NodeFile> files_of(const Object& node) {
  const auto profile = profile_of(node);
  if (!profile) {
    return {};
  }
  std::vector<NodeFile> files;
  const Hardware hardware = hardware_of(*profile);
  std::vector<std::int64_t> cpus;
  std::vector<std::int64_t> ids;
  for (const HardwareNode& zone : hardware.nodes) {
    add_zone(zone, files);
    cpus.insert(cpus.end(), zone.cpus.begin(), zone.cpus.end());
    ids.push_back(zone.id);
  }
  std::ranges::sort(cpus);
  files.push_back({fmt::format("{}/online", kNodes), cpu_list(ids)});
  files.push_back({"/sys/devices/system/cpu/online", cpu_list(cpus)});
  files.push_back({"/var/lib/kubelet/config.yaml",
                   fmt::format("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: "
                               "KubeletConfiguration\ntopologyManagerPolicy: {}\n"
                               "topologyManagerScope: {}\n",
                               profile->policy, profile->scope)});
  return files;
}

}  // namespace athanor::numa
