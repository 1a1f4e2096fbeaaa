// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/exporter/hwloc.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "base/ascii.hpp"
#include "systems/numa/exporter/xml.hpp"

namespace athanor::numa {
namespace {

constexpr std::uint64_t kMostBytes = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kBytesPerKib = 1024;

Error wrong_topology(std::string_view what) {
  return Error::bad_request(std::string(what));
}

std::optional<std::uint64_t> hwloc_number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && end.ec == std::errc() && end.ptr == text.data() + text.size()
             ? std::optional(number)
             : std::nullopt;
}

// Pages besides those of the smallest size are huge.
Result<void> read_pages(const XmlElement& object, HardwareNode& node) {
  std::map<std::uint64_t, std::uint64_t> counts;
  for (const XmlElement& child : object.children) {
    if (child.name != "page_type") {
      continue;
    }
    const auto size = hwloc_number_of(child.attribute("size"));
    const std::string_view count_text = child.attribute("count");
    const auto count =
        count_text.empty() ? std::optional(std::uint64_t{0}) : hwloc_number_of(count_text);
    if (!size || *size < kBytesPerKib || !count || (*count != 0 && *size > kMostBytes / *count)) {
      return wrong_topology(fmt::format("page_type of NUMANode {} is malformed", node.id));
    }
    counts.insert_or_assign(*size, *count);
  }
  if (!counts.empty()) {
    counts.erase(counts.begin());
  }
  for (const auto& [size, count] : counts) {
    const std::string resource =
        hugepage_resource(fmt::format("hugepages-{}kB", size / kBytesPerKib));
    if (!resource.empty()) {
      node.memory.insert_or_assign(resource, size * count);
    }
  }
  return {};
}

Result<HardwareNode> read_hwloc_node(const XmlElement& object, std::set<std::int64_t>& taken) {
  const auto id = hwloc_number_of(object.attribute("os_index"));
  if (!id || *id >= kMostCpus) {
    return wrong_topology("a NUMANode has no os_index");
  }
  HardwareNode node{.id = static_cast<int>(*id)};
  auto cpus = parse_bitmap(object.attribute("cpuset"));
  if (!cpus.ok()) {
    return cpus.error().with_context(fmt::format("cpuset of NUMANode {}", node.id));
  }
  std::ranges::copy_if(*cpus, std::back_inserter(node.cpus),
                       [&](std::int64_t cpu) { return taken.insert(cpu).second; });
  const std::string_view memory = object.attribute("local_memory");
  if (!memory.empty()) {
    const auto bytes = hwloc_number_of(memory);
    if (!bytes || *bytes > kMostBytes) {
      return wrong_topology(fmt::format("local_memory of NUMANode {} is no number", node.id));
    }
    node.memory.insert_or_assign("memory", *bytes);
  }
  ATHANOR_TRY_VOID(read_pages(object, node));
  return node;
}

void collect(const XmlElement& element, std::vector<const XmlElement*>& nodes) {
  if (element.name == "object" && element.attribute("type") == "NUMANode") {
    nodes.push_back(&element);
  }
  for (const XmlElement& child : element.children) {
    collect(child, nodes);
  }
}

// The numbers of all children of this name, one after another.
Result<std::vector<std::uint64_t>> numbers_in(const XmlElement& element, std::string_view name) {
  std::vector<std::uint64_t> numbers;
  for (const XmlElement& child : element.children) {
    if (child.name != name) {
      continue;
    }
    for (const std::string_view line : words_of(child.text, '\n')) {
      for (const std::string_view word : words_of(trimmed(line), ' ')) {
        const auto number = hwloc_number_of(word);
        if (!number) {
          return wrong_topology(fmt::format("{}: \"{}\" is no number", name, word));
        }
        numbers.push_back(*number);
      }
    }
  }
  return numbers;
}

void put_distance(Hardware& hardware, std::size_t from, std::size_t to, std::int64_t value) {
  hardware.nodes[from].distances.insert_or_assign(hardware.nodes[to].id, value);
}

bool tells_latency(const XmlElement& distances) {
  constexpr std::uint64_t kMeansLatency = 4;  // a bit of `kind`
  const auto kind = hwloc_number_of(distances.attribute("kind"));
  return distances.attribute("type") == "NUMANode" && kind && (*kind & kMeansLatency) != 0;
}

// <distances2>: a matrix over the nodes' indexes.
Result<void> read_distances2(const XmlElement& distances, Hardware& hardware) {
  ATHANOR_TRY(const auto ids, numbers_in(distances, "indexes"));
  ATHANOR_TRY(const auto values, numbers_in(distances, "u64values"));
  if (ids.size() > kMostCpus || values.size() != ids.size() * ids.size()) {
    return wrong_topology("distances2 is no square matrix");
  }
  const auto place = [&](std::uint64_t id) {
    return static_cast<std::size_t>(
        std::ranges::find(hardware.nodes, static_cast<int>(id), &HardwareNode::id) -
        hardware.nodes.begin());
  };
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (std::size_t j = 0; j < ids.size(); ++j) {
      const std::size_t from = place(ids[i]);
      const std::size_t to = place(ids[j]);
      const std::uint64_t value = values[i * ids.size() + j];
      if (from < hardware.nodes.size() && to < hardware.nodes.size() && value <= kMostCpus) {
        put_distance(hardware, from, to, static_cast<std::int64_t>(value));
      }
    }
  }
  return {};
}

Result<void> read_hwloc_distances(const XmlElement& element, Hardware& hardware) {
  if (element.name == "distances2" && tells_latency(element)) {
    return read_distances2(element, hardware);
  }
  for (const XmlElement& child : element.children) {
    ATHANOR_TRY_VOID(read_hwloc_distances(child, hardware));
  }
  return {};
}

}  // namespace

Result<Hardware> read_hwloc(std::string_view xml) {
  ATHANOR_TRY(const XmlElement root, parse_xml(xml));
  if (root.name != "topology") {
    return wrong_topology(fmt::format("the root element is {}, not topology", root.name));
  }
  std::vector<const XmlElement*> objects;
  collect(root, objects);
  if (objects.empty()) {
    return wrong_topology("there is no NUMANode");
  }
  const auto index = [](const XmlElement* object) {
    return hwloc_number_of(object->attribute("os_index")).value_or(kMostCpus);
  };
  std::ranges::stable_sort(objects, {}, index);
  Hardware hardware;
  std::set<std::int64_t> taken;
  for (const XmlElement* object : objects) {
    ATHANOR_TRY(HardwareNode node, read_hwloc_node(*object, taken));
    if (!hardware.nodes.empty() && hardware.nodes.back().id == node.id) {
      return wrong_topology(fmt::format("NUMANode {} is there twice", node.id));
    }
    hardware.nodes.push_back(std::move(node));
  }
  ATHANOR_TRY_VOID(read_hwloc_distances(root, hardware));
  return hardware;
}

}  // namespace athanor::numa
