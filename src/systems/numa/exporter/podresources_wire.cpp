// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/exporter/podresources_wire.hpp"

#include <fmt/core.h>

#include <limits>

namespace athanor::numa {
namespace {

constexpr std::uint32_t kVarint = 0;
constexpr std::uint32_t kFixed64 = 1;
constexpr std::uint32_t kBytes = 2;
constexpr std::uint32_t kFixed32 = 5;

Error malformed(std::string_view what) {
  return Error::bad_request(fmt::format("malformed podresources message: {}", what));
}

// One message, field by field.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  struct Field {
    std::uint32_t number = 0;
    std::uint32_t type = 0;
    std::uint64_t value = 0;   // of a varint
    std::string_view bytes{};  // of texts, messages and packed lists
  };

  [[nodiscard]] bool done() const { return rest_.empty(); }

  Result<Field> next() {
    ATHANOR_TRY(const std::uint64_t tag, varint());
    Field field{.number = static_cast<std::uint32_t>(tag >> 3U),
                .type = static_cast<std::uint32_t>(tag & 7U)};
    if (field.type == kVarint) {
      ATHANOR_TRY(field.value, varint());
    } else if (field.type == kBytes) {
      ATHANOR_TRY(const std::uint64_t size, varint());
      ATHANOR_TRY(field.bytes, take(size));
    } else if (field.type == kFixed64 || field.type == kFixed32) {
      ATHANOR_TRY(field.bytes, take(field.type == kFixed64 ? 8 : 4));
    } else {
      return malformed("unknown wire type");
    }
    return field;
  }

  Result<std::uint64_t> varint() {
    constexpr unsigned kMostBits = 64;
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < kMostBits; shift += 7) {
      if (rest_.empty()) {
        return malformed("it ends within a number");
      }
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if ((byte & 0x80U) == 0) {
        return value;
      }
    }
    return malformed("a number is too long");
  }

 private:
  Result<std::string_view> take(std::uint64_t size) {
    if (size > rest_.size()) {
      return malformed("it ends within a field");
    }
    const std::string_view part = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return part;
  }

  std::string_view rest_;
};

// Reads every field of a message; `handle` takes those it knows.
template <class Handle>
Result<void> read_message(std::string_view bytes, Handle handle) {
  Reader reader(bytes);
  while (!reader.done()) {
    ATHANOR_TRY(const Reader::Field field, reader.next());
    ATHANOR_TRY_VOID(handle(field));
  }
  return {};
}

bool is_bytes(const Reader::Field& field, std::uint32_t number) {
  return field.number == number && field.type == kBytes;
}

// Ids, one by one or packed. Negative ones mean none.
Result<void> read_ids(const Reader::Field& field, std::vector<std::int64_t>& ids) {
  const auto add = [&](std::uint64_t value) {
    if (value <= static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
      ids.push_back(static_cast<std::int64_t>(value));
    }
  };
  if (field.type == kVarint) {
    add(field.value);
    return {};
  }
  Reader reader(field.bytes);
  while (!reader.done()) {
    ATHANOR_TRY(const std::uint64_t value, reader.varint());
    add(value);
  }
  return {};
}

// 0 where the message is empty: zeros are left out on the wire.
Result<std::uint64_t> read_node_id(std::string_view bytes) {
  std::uint64_t id = 0;
  ATHANOR_TRY_VOID(read_message(bytes, [&](const Reader::Field& field) -> Result<void> {
    id = field.number == 1 && field.type == kVarint ? field.value : id;
    return {};
  }));
  return id;
}

Result<std::vector<int>> read_topology(std::string_view bytes) {
  std::vector<int> nodes;
  ATHANOR_TRY_VOID(read_message(bytes, [&](const Reader::Field& field) -> Result<void> {
    if (!is_bytes(field, 1)) {
      return {};
    }
    ATHANOR_TRY(const std::uint64_t id, read_node_id(field.bytes));
    if (id <= static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
      nodes.push_back(static_cast<int>(id));
    }
    return {};
  }));
  return nodes;
}

Result<DeviceIds> read_device(std::string_view bytes) {
  DeviceIds device;
  ATHANOR_TRY_VOID(read_message(bytes, [&](const Reader::Field& field) -> Result<void> {
    if (is_bytes(field, 1)) {
      device.resource = field.bytes;
    } else if (is_bytes(field, 2)) {
      device.ids.emplace_back(field.bytes);
    } else if (is_bytes(field, 3)) {
      ATHANOR_TRY(device.nodes, read_topology(field.bytes));
    }
    return {};
  }));
  return device;
}

Result<MemoryBlock> read_memory_bytes(std::string_view bytes) {
  MemoryBlock block;
  ATHANOR_TRY_VOID(read_message(bytes, [&](const Reader::Field& field) -> Result<void> {
    if (is_bytes(field, 1)) {
      block.type = field.bytes;
    } else if (field.number == 2 && field.type == kVarint) {
      block.size = field.value;
    } else if (is_bytes(field, 3)) {
      ATHANOR_TRY(block.nodes, read_topology(field.bytes));
    }
    return {};
  }));
  return block;
}

// Devices, cpus and memory under these field numbers.
struct Numbers {
  std::uint32_t devices;
  std::uint32_t cpus;
  std::uint32_t memory;
};
template <class Resources>
Result<void> read_resources(const Reader::Field& field, const Numbers& numbers,
                            Resources& resources) {
  if (is_bytes(field, numbers.devices)) {
    ATHANOR_TRY(DeviceIds device, read_device(field.bytes));
    resources.devices.push_back(std::move(device));
  } else if (field.number == numbers.cpus) {
    return read_ids(field, resources.cpus);
  } else if (is_bytes(field, numbers.memory)) {
    ATHANOR_TRY(MemoryBlock block, read_memory_bytes(field.bytes));
    resources.memory.push_back(std::move(block));
  }
  return {};
}

Result<ContainerResources> read_container(std::string_view bytes) {
  ContainerResources container;
  ATHANOR_TRY_VOID(read_message(bytes, [&](const Reader::Field& field) -> Result<void> {
    if (is_bytes(field, 1)) {
      container.name = field.bytes;
      return {};
    }
    return read_resources(field, {.devices = 2, .cpus = 3, .memory = 4}, container);
  }));
  return container;
}

Result<PodResources> read_pod_bytes(std::string_view bytes) {
  PodResources pod;
  ATHANOR_TRY_VOID(read_message(bytes, [&](const Reader::Field& field) -> Result<void> {
    if (is_bytes(field, 1)) {
      pod.key.name = field.bytes;
    } else if (is_bytes(field, 2)) {
      pod.key.ns = field.bytes;
    } else if (is_bytes(field, 3)) {
      ATHANOR_TRY(ContainerResources container, read_container(field.bytes));
      pod.containers.push_back(std::move(container));
    }
    return {};
  }));
  return pod;
}

void put_varint(std::uint64_t value, std::string& out) {
  for (; value >= 0x80U; value >>= 7U) {
    out += static_cast<char>((value & 0x7FU) | 0x80U);
  }
  out += static_cast<char>(value);
}

void put_bytes(std::uint32_t number, std::string_view bytes, std::string& out) {
  put_varint(number << 3U | kBytes, out);
  put_varint(bytes.size(), out);
  out += bytes;
}

std::string topology_bytes(const std::vector<int>& nodes) {
  std::string all;
  for (const int node : nodes) {
    std::string one;
    if (node != 0) {
      put_varint(1U << 3U, one);
      put_varint(static_cast<std::uint64_t>(node), one);
    }
    put_bytes(1, one, all);
  }
  return all;
}

template <class Resources>
void put_resources(const Resources& resources, const Numbers& numbers, std::string& out) {
  for (const DeviceIds& device : resources.devices) {
    std::string one;
    put_bytes(1, device.resource, one);
    for (const std::string& id : device.ids) {
      put_bytes(2, id, one);
    }
    if (!device.nodes.empty()) {
      put_bytes(3, topology_bytes(device.nodes), one);
    }
    put_bytes(numbers.devices, one, out);
  }
  if (!resources.cpus.empty()) {
    std::string packed;
    for (const std::int64_t cpu : resources.cpus) {
      put_varint(static_cast<std::uint64_t>(cpu), packed);
    }
    put_bytes(numbers.cpus, packed, out);
  }
  for (const MemoryBlock& block : resources.memory) {
    std::string one;
    put_bytes(1, block.type, one);
    put_varint(2U << 3U, one);
    put_varint(block.size, one);
    if (!block.nodes.empty()) {
      put_bytes(3, topology_bytes(block.nodes), one);
    }
    put_bytes(numbers.memory, one, out);
  }
}

}  // namespace

Result<std::vector<PodResources>> decode_list(std::string_view bytes) {
  std::vector<PodResources> pods;
  ATHANOR_TRY_VOID(read_message(bytes, [&](const Reader::Field& field) -> Result<void> {
    if (is_bytes(field, 1)) {
      ATHANOR_TRY(PodResources pod, read_pod_bytes(field.bytes));
      pods.push_back(std::move(pod));
    }
    return {};
  }));
  return pods;
}

Result<AllocatableResources> decode_allocatable(std::string_view bytes) {
  AllocatableResources resources;
  ATHANOR_TRY_VOID(read_message(bytes, [&](const Reader::Field& field) {
    return read_resources(field, {.devices = 1, .cpus = 2, .memory = 3}, resources);
  }));
  return resources;
}

Result<PodResources> decode_get(std::string_view bytes) {
  ATHANOR_TRY(const std::vector<PodResources> pods, decode_list(bytes));  // one instead of many
  if (pods.size() != 1) {
    return malformed("it holds no pod");
  }
  return pods.front();
}

Result<Key> decode_get_request(std::string_view bytes) {
  Key pod;
  ATHANOR_TRY_VOID(read_message(bytes, [&](const Reader::Field& field) -> Result<void> {
    if (is_bytes(field, 1)) {
      pod.name = field.bytes;
    } else if (is_bytes(field, 2)) {
      pod.ns = field.bytes;
    }
    return {};
  }));
  return pod;
}

std::string encode_get(const PodResources& pod) {
  std::string one;
  put_bytes(1, pod.key.name, one);
  put_bytes(2, pod.key.ns, one);
  for (const ContainerResources& container : pod.containers) {
    std::string inner;
    put_bytes(1, container.name, inner);
    put_resources(container, {.devices = 2, .cpus = 3, .memory = 4}, inner);
    put_bytes(3, inner, one);
  }
  std::string out;
  put_bytes(1, one, out);
  return out;
}

std::string encode_get_request(const Key& pod) {
  std::string out;
  put_bytes(1, pod.name, out);
  put_bytes(2, pod.ns, out);
  return out;
}

std::string encode(const std::vector<PodResources>& pods) {
  std::string out;
  for (const PodResources& pod : pods) {
    out += encode_get(pod);
  }
  return out;
}

std::string encode(const AllocatableResources& resources) {
  std::string out;
  put_resources(resources, {.devices = 1, .cpus = 2, .memory = 3}, out);
  return out;
}

}  // namespace athanor::numa
