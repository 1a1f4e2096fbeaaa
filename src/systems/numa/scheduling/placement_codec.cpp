// SPDX-License-Identifier: Apache-2.0
// Packing and unpacking of placements.
#include "systems/numa/scheduling/placement_codec.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "systems/numa/scheduling/fingerprint.hpp"
#include "systems/numa/scheduling/topology.hpp"

namespace athanor::numa {
namespace {

constexpr std::string_view kPlacementPrefix = "npv0v001";
constexpr std::string_view kSeparator = "::";
constexpr std::string_view kEncoding = "leb89";
constexpr std::uint64_t kLow = 64;   // characters that end a number
constexpr std::uint64_t kHigh = 25;  // characters that go on
// A larger offset than any node's containers have: what follows would overflow.
constexpr std::uint64_t kMostNumber = std::uint64_t{1} << 40U;

// Printable characters without those that JSON or XML escape.
constexpr std::array<char, kLow + kHigh> kAlphabet = [] {
  std::array<char, kLow + kHigh> alphabet{};
  std::size_t at = 0;
  for (char c = '!'; c <= '~'; ++c) {
    if (c != '"' && c != '&' && c != '<' && c != '>' && c != '\\') {
      alphabet[at++] = c;
    }
  }
  return alphabet;
}();

std::optional<std::uint64_t> digit_of(char c) {
  const auto* const found = std::ranges::lower_bound(kAlphabet, c);
  return found != kAlphabet.end() && *found == c
             ? std::optional<std::uint64_t>(found - kAlphabet.begin())
             : std::nullopt;
}

struct Metadata {
  std::string encoding{};
  std::uint64_t containers = 0;
  int nodes = 0;
  int busiest = 0;
};

bool read_int(std::string_view text, auto& number) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc() && end == text.data() + text.size();
}

Result<Metadata> read_metadata(std::string_view text) {
  if (!text.starts_with(kPlacementPrefix)) {
    return Error::bad_request("malformed metadata");
  }
  text.remove_prefix(kPlacementPrefix.size());
  Metadata metadata;
  while (!text.empty()) {
    if (!text.starts_with(kSeparator)) {
      return Error::bad_request("malformed metadata");
    }
    text.remove_prefix(kSeparator.size());
    const std::string_view field = text.substr(0, text.find(kSeparator));
    text.remove_prefix(field.size());
    const std::size_t equals = std::min(field.find('='), field.size());
    const std::string_view key = field.substr(0, equals);
    const std::string_view value = field.substr(std::min(equals + 1, field.size()));
    bool good = true;
    if (key == "ve") {
      metadata.encoding = value;
    } else if (key == "cc") {
      good = read_int(value, metadata.containers);
    } else if (key == "nn") {
      good = read_int(value, metadata.nodes);
    } else if (key == "bn") {
      good = read_int(value, metadata.busiest);
    } else {
      return Error::bad_request("unknown metadata field");
    }
    if (!good) {
      return Error::bad_request("malformed metadata");
    }
  }
  return metadata;
}

}  // namespace

std::uint64_t container_id(const ContainerName& name) {
  std::string text = name.ns;
  text.push_back('\0');
  text += name.pod;
  text.push_back('\0');
  text += name.container;
  return xxh64(text, 0);
}

void append_number(std::uint64_t number, std::string& text) {
  if (number < kLow) {
    text.push_back(kAlphabet[number]);
    return;
  }
  const std::uint64_t rest = number - kLow;
  std::string high;
  std::uint64_t quotient = rest / kLow;
  do {
    high.push_back(kAlphabet[kLow + quotient % kHigh]);
    quotient /= kHigh;
  } while (quotient != 0);
  text.append(high.rbegin(), high.rend());
  text.push_back(kAlphabet[rest % kLow]);
}

Result<std::vector<std::uint64_t>> read_numbers(std::string_view text) {
  std::vector<std::uint64_t> numbers;
  std::uint64_t high = 0;
  bool open = false;
  for (const char c : text) {
    const auto digit = digit_of(c);
    if (!digit || high > kMostNumber) {
      return Error::bad_request("corrupted NUMA vector");
    }
    if (*digit >= kLow) {
      high = high * kHigh + (*digit - kLow);
      open = true;
      continue;
    }
    numbers.push_back(open ? kLow + high * kLow + *digit : *digit);
    high = 0;
    open = false;
  }
  if (open) {
    return Error::bad_request("corrupted NUMA vector");
  }
  return numbers;
}

PackedPlacement pack_placement(std::span<const PlacedContainer> containers, int nodes) {
  std::vector<std::pair<std::uint64_t, int>> ordered;
  std::map<int, std::size_t> counts;
  for (const PlacedContainer& one : containers) {
    ordered.emplace_back(container_id(one.name), one.node);
    ++counts[one.node];
  }
  std::ranges::sort(ordered);
  const auto most = std::ranges::max_element(
      counts, [](const auto& a, const auto& b) { return a.second < b.second; });
  const int busiest = most == counts.end() ? 0 : most->first;
  PackedPlacement packed{.metadata = fmt::format("{}::ve={}::cc={}::nn={}::bn={}", kPlacementPrefix,
                                                 kEncoding, ordered.size(), nodes, busiest)};
  std::map<int, std::uint64_t> last;
  for (std::uint64_t offset = 0; offset < ordered.size(); ++offset) {
    const int node = ordered[offset].second;
    if (node != busiest) {
      append_number(offset - last[node], packed.vectors[node]);
      last[node] = offset;
    }
  }
  return packed;
}

Result<std::map<ContainerName, int>> unpack_placement(const PackedPlacement& packed,
                                                      std::span<const ContainerName> containers) {
  ATHANOR_TRY(const Metadata metadata, read_metadata(packed.metadata));
  if (metadata.encoding != kEncoding) {
    return Error::bad_request("unsupported vector encoding");
  }
  if (metadata.containers != containers.size()) {
    return Error::bad_request("inconsistent container set");
  }
  if (metadata.busiest >= metadata.nodes && metadata.containers > 0) {
    return Error::bad_request("wrong NUMA affinity");
  }
  std::vector<std::optional<int>> nodes(containers.size());
  for (const auto& [node, text] : packed.vectors) {
    if (node < 0 || node >= metadata.nodes) {
      return Error::bad_request("wrong NUMA affinity");
    }
    ATHANOR_TRY(const std::vector<std::uint64_t> numbers, read_numbers(text));
    std::uint64_t offset = 0;
    for (const std::uint64_t number : numbers) {
      offset += number;
      if (offset >= nodes.size()) {
        return Error::bad_request("corrupted NUMA vector");
      }
      if (nodes[offset]) {
        return Error::bad_request("duplicated data in multiple NUMA vectors");
      }
      nodes[offset] = node;
    }
  }
  std::vector<std::pair<std::uint64_t, const ContainerName*>> ordered;
  for (const ContainerName& name : containers) {
    ordered.emplace_back(container_id(name), &name);
  }
  std::ranges::sort(ordered, [](const auto& a, const auto& b) { return a.first < b.first; });
  std::map<ContainerName, int> placement;
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    placement.emplace(*ordered[i].second, nodes[i].value_or(metadata.busiest));
  }
  return placement;
}

Result<int> node_of(const std::map<ContainerName, int>& placement, const ContainerName& name) {
  const auto found = placement.find(name);
  if (found == placement.end()) {
    return Error::not_found("unknown container");
  }
  return found->second;
}

PackedPlacement read_placement(const Value& nrt) {
  PackedPlacement packed;
  for (const Value& attribute : nrt["attributes"].items()) {
    if (attribute["name"].as_string() == "topology.node.k8s.io/numaplacement-metadata") {
      packed.metadata = attribute["value"].str();
    }
  }
  for (const Value& zone : nrt["zones"].items()) {
    const int id = zone_id(zone["name"].as_string());
    for (const Value& attribute : zone["attributes"].items()) {
      if (id >= 0 && attribute["name"].as_string() == "topology.node.k8s.io/numaplacement-vector") {
        packed.vectors.insert_or_assign(id, attribute["value"].str());
      }
    }
  }
  return packed;
}

}  // namespace athanor::numa
