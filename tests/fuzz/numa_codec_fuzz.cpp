// SPDX-License-Identifier: Apache-2.0
// Placement vectors and fingerprints: lines are the metadata, then "node vector". What is unpacked
// is packed and unpacked again as it was; no text breaks the reader.
#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "base/ascii.hpp"
#include "fuzz/fuzz.hpp"
#include "systems/numa/scheduling/fingerprint.hpp"
#include "systems/numa/scheduling/placement_codec.hpp"

namespace {

using namespace athanor;
using namespace athanor::numa;

PackedPlacement packed_of(std::string_view text) {
  PackedPlacement packed;
  bool first = true;
  for (const std::string_view line : words_of(text, '\n')) {
    if (first) {
      packed.metadata = line;
      first = false;
      continue;
    }
    const std::size_t blank = std::min(line.find(' '), line.size());
    int node = 0;
    std::from_chars(line.data(), line.data() + blank, node);
    packed.vectors.insert_or_assign(node,
                                    std::string(line.substr(std::min(blank + 1, line.size()))));
  }
  return packed;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  static_cast<void>(check_fingerprint("pfp0v0010000000000000000", text).ok());
  if (const auto numbers = read_numbers(text); numbers.ok()) {
    std::string again;
    for (const std::uint64_t number : *numbers) {
      append_number(number, again);
    }
    ATHANOR_CHECK(read_numbers(again).value() == *numbers, "numbers are written as they were read");
  }
  std::vector<ContainerName> containers;
  for (int i = 0; i < 3; ++i) {
    containers.push_back({"ns", "pod", "c" + std::to_string(i)});
    const PackedPlacement packed = packed_of(text);
    const auto placed = unpack_placement(packed, containers);
    if (!placed.ok()) {
      continue;
    }
    ATHANOR_CHECK(placed->size() == containers.size(), "every container has a node");
    std::vector<PlacedContainer> list;
    int nodes = 1;
    for (const auto& [name, node] : *placed) {
      list.push_back({name, node});
      nodes = std::max(nodes, node + 1);
    }
    const auto again = unpack_placement(pack_placement(list, nodes), containers);
    ATHANOR_CHECK(again.ok() && *again == *placed, "a placement is packed as it was unpacked");
  }
  return 0;
}
