// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/exporter/hardware.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/ascii.hpp"
#include "kube/text/quantity.hpp"

namespace athanor::numa {
namespace {

constexpr const char* kNodes = "devices/system/node";
constexpr std::uint64_t kKibi = 1024;
// Largest number of kilobytes, or of pages, whose bytes fit in 63 bits.
constexpr std::uint64_t kMostKibi = (std::uint64_t{1} << 63U) / kKibi - 1;

std::optional<std::uint64_t> number_of(std::string_view text) {
  text = trimmed(text);
  std::uint64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && end.ec == std::errc() && end.ptr == text.data() + text.size()
             ? std::optional(number)
             : std::nullopt;
}

Error wrong_file(const std::string& path, std::string_view what) {
  return Error::bad_request(fmt::format("{}: {}", path, what));
}

// "Node 0 MemTotal:       16384000 kB"; 0 where no line says so.
Result<std::uint64_t> read_mem_total(std::string_view text, const std::string& path) {
  for (const std::string_view line : words_of(text, '\n')) {
    const std::size_t found = line.find("MemTotal:");
    if (found == std::string_view::npos) {
      continue;
    }
    const auto words = words_of(line.substr(found + std::string_view("MemTotal:").size()), ' ');
    const auto number = words.empty() ? std::nullopt : number_of(words.front());
    if (!number || *number > kMostKibi) {
      return wrong_file(path, "MemTotal is no number of kB");
    }
    return *number * kKibi;
  }
  return std::uint64_t{0};
}

Result<void> read_hugepages(const SysfsTree& sysfs, const std::string& folder, HardwareNode& node) {
  for (const std::string& name : sysfs.list(folder + "/hugepages")) {
    const std::string resource = hugepage_resource(name);
    const std::string path = fmt::format("{}/hugepages/{}/nr_hugepages", folder, name);
    const auto text = sysfs.read(path);
    if (resource.empty() || !text) {
      continue;
    }
    const auto count = number_of(*text);
    const auto kilobytes = number_of(std::string_view(name).substr(
        std::string_view("hugepages-").size(),
        name.size() - std::string_view("hugepages-").size() - std::string_view("kB").size()));
    if (!count || !kilobytes || (*count != 0 && *kilobytes > kMostKibi / *count)) {
      return wrong_file(path, "is no number of pages");
    }
    node.memory.insert_or_assign(resource, *count * *kilobytes * kKibi);
  }
  return {};
}

std::vector<int> node_ids(const SysfsTree& sysfs) {
  std::vector<int> ids;
  for (const std::string& name : sysfs.list(kNodes)) {
    const auto number =
        name.starts_with("node") ? number_of(std::string_view(name).substr(4)) : std::nullopt;
    // As the kernel writes it: "node00" would be a second node 0.
    if (number && *number < kMostCpus && name == fmt::format("node{}", *number)) {
      ids.push_back(static_cast<int>(*number));
    }
  }
  std::ranges::sort(ids);
  return ids;
}

// The file has one number for each node that is there, in the order of their ids. Where a node was
// taken away it may have one for each id.
Result<void> read_distances(const SysfsTree& sysfs, const std::vector<int>& ids,
                            const std::string& folder, HardwareNode& node) {
  const std::string path = folder + "/distance";
  const auto text = sysfs.read(path);
  if (!text) {
    return {};
  }
  const auto words = words_of(trimmed(*text), ' ');
  const bool by_id = words.size() == static_cast<std::size_t>(ids.back()) + 1;
  if (words.size() != ids.size() && !by_id) {
    return wrong_file(path, fmt::format("has {} numbers, not one for each of {} nodes",
                                        words.size(), ids.size()));
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::string_view word = words[by_id ? static_cast<std::size_t>(ids[i]) : i];
    const auto number = number_of(word);
    if (!number || *number > kMostCpus) {
      return wrong_file(path, fmt::format("\"{}\" is no distance", word));
    }
    node.distances.insert_or_assign(ids[i], static_cast<std::int64_t>(*number));
  }
  return {};
}

// Old kernels have a bitmap alone.
Result<std::vector<std::int64_t>> read_sysfs_cpus(const SysfsTree& sysfs,
                                                  const std::string& folder) {
  const auto list = sysfs.read(folder + "/cpulist");
  const auto map = list ? std::nullopt : sysfs.read(folder + "/cpumap");
  if (!list && !map) {
    return wrong_file(folder + "/cpulist", "cannot be read");
  }
  auto cpus = list ? parse_cpu_list(*list) : parse_bitmap(*map);
  return cpus.ok() ? cpus : cpus.error().with_context(folder + (list ? "/cpulist" : "/cpumap"));
}

Result<HardwareNode> read_node(const SysfsTree& sysfs, const std::vector<int>& ids, int id) {
  HardwareNode node{.id = id};
  const std::string folder = fmt::format("{}/node{}", kNodes, id);
  ATHANOR_TRY(node.cpus, read_sysfs_cpus(sysfs, folder));
  if (const auto meminfo = sysfs.read(folder + "/meminfo")) {
    ATHANOR_TRY(const std::uint64_t bytes, read_mem_total(*meminfo, folder + "/meminfo"));
    if (bytes > 0) {
      node.memory.insert_or_assign("memory", bytes);
    }
  }
  ATHANOR_TRY_VOID(read_hugepages(sysfs, folder, node));
  ATHANOR_TRY_VOID(read_distances(sysfs, ids, folder, node));
  return node;
}

// A kernel without NUMA: everything is on node 0.
Result<Hardware> one_node(const SysfsTree& sysfs) {
  constexpr std::int64_t kNear = 10;
  const std::string path = "devices/system/cpu/online";
  const auto text = sysfs.read(path);
  if (!text) {
    return wrong_file(path, "cannot be read, and there is no devices/system/node");
  }
  auto cpus = parse_cpu_list(*text);
  if (!cpus.ok()) {
    return cpus.error().with_context(path);
  }
  return Hardware{.nodes = {{.id = 0, .cpus = *std::move(cpus), .distances = {{0, kNear}}}}};
}

}  // namespace

std::optional<int> Hardware::node_of(std::int64_t cpu) const {
  for (const HardwareNode& node : nodes) {
    if (std::ranges::binary_search(node.cpus, cpu)) {
      return node.id;
    }
  }
  return std::nullopt;
}

Result<std::vector<std::int64_t>> parse_cpu_list(std::string_view text) {
  std::vector<std::int64_t> cpus;
  for (const std::string_view part : words_of(trimmed(text), ',')) {
    const std::size_t dash = part.find('-');
    const auto low = number_of(part.substr(0, dash));
    const auto high = dash == std::string_view::npos ? low : number_of(part.substr(dash + 1));
    if (!low || !high || *high < *low || *high >= kMostCpus) {
      return Error::bad_request(fmt::format("\"{}\" is no list of cpus", trimmed(text)));
    }
    for (std::uint64_t cpu = *low; cpu <= *high; ++cpu) {
      cpus.push_back(static_cast<std::int64_t>(cpu));
    }
    if (cpus.size() > kMostCpus) {
      return Error::bad_request(fmt::format("\"{}\" has too many cpus", trimmed(text)));
    }
  }
  std::ranges::sort(cpus);
  const auto same = std::ranges::unique(cpus);
  cpus.erase(same.begin(), same.end());
  return cpus;
}

Result<std::vector<std::int64_t>> parse_bitmap(std::string_view text) {
  constexpr std::size_t kWordBits = 32;
  constexpr std::size_t kMostWords = kMostCpus / kWordBits;
  const Error malformed = Error::bad_request(fmt::format("\"{}\" is no bitmap", trimmed(text)));
  text = trimmed(text);
  std::vector<std::uint32_t> words;  // the most significant first
  for (std::size_t begin = 0; begin <= text.size() && !text.empty();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string_view word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word.starts_with("0x")) {
      word.remove_prefix(2);
      if (word.empty()) {
        return malformed;
      }
    }
    std::uint32_t bits = 0;  // an empty word stands for zeros
    if (!word.empty()) {
      const auto read = std::from_chars(word.data(), word.data() + word.size(), bits, 16);
      if (read.ec != std::errc() || read.ptr != word.data() + word.size()) {
        return malformed;
      }
    }
    words.push_back(bits);
    if (words.size() > kMostWords) {
      return malformed;
    }
  }
  std::ranges::reverse(words);
  std::vector<std::int64_t> members;
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (std::size_t bit = 0; bit < kWordBits; ++bit) {
      if ((words[i] >> bit & 1U) != 0) {
        members.push_back(static_cast<std::int64_t>(i * kWordBits + bit));
      }
    }
  }
  return members;
}

std::string hugepage_resource(std::string_view folder) {
  constexpr std::string_view kPrefix = "hugepages-";
  constexpr std::string_view kSuffix = "kB";
  if (!folder.starts_with(kPrefix) || !folder.ends_with(kSuffix) ||
      folder.size() <= kPrefix.size() + kSuffix.size()) {
    return {};
  }
  const auto kilobytes =
      number_of(folder.substr(kPrefix.size(), folder.size() - kPrefix.size() - kSuffix.size()));
  if (!kilobytes || *kilobytes == 0 || *kilobytes > kMostKibi) {
    return {};
  }
  return std::string(kPrefix) + Quantity::from_int(static_cast<std::int64_t>(*kilobytes * kKibi),
                                                   Quantity::Format::BinarySI)
                                    .text();
}

Result<Hardware> read_hardware(const SysfsTree& sysfs) {
  const std::vector<int> ids = node_ids(sysfs);
  if (ids.empty()) {
    return one_node(sysfs);
  }
  Hardware hardware;
  for (const int id : ids) {
    ATHANOR_TRY(HardwareNode node, read_node(sysfs, ids, id));
    hardware.nodes.push_back(std::move(node));
  }
  return hardware;
}

}  // namespace athanor::numa
