// SPDX-License-Identifier: Apache-2.0
#include "systems/das/makers/emulation.hpp"

#include <fmt/core.h>

#include "base/digest.hpp"
#include "systems/das/slices/profile.hpp"

namespace athanor::das {
namespace {

Value placements_of(const MigTable& table) {
  Value profiles = Value::object();
  for (const MigProfile& profile : table.profiles) {
    Value placements = Value::list();
    for (const int start : profile.starts) {
      placements.push_back(Value::object({{"size", profile.size}, {"start", start}}));
    }
    // Emulated nodes publish the numbers that existing readers know (docs/spec/das.md 4.4).
    Value entry = Value::object({{"placements", placements},
                                 {"giProfileId", profile.gi_profile},
                                 {"ciProfileId", profile.gi_profile},
                                 {"maxInstances", profile.most},
                                 {"computeSlices", profile.compute},
                                 {"memoryMiB", profile.memory_mib}});
    const auto name = parse_profile(profile.name);
    if (name && !name->attributes.empty()) {
      entry.set("attributes", Value::list({attribute_of(*name)}));
    }
    profiles.set(profile.name, std::move(entry));
  }
  return profiles;
}

}  // namespace

std::string uuid_of(std::string_view name) {
  // The 16 bytes of the namespace 6ba7b811-9dad-11d1-80b4-00c04fd430c8 (RFC 9562).
  static constexpr unsigned char kNamespace[] = {0x6b, 0xa7, 0xb8, 0x11, 0x9d, 0xad, 0x11, 0xd1,
                                                 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8};
  std::string bytes;
  for (const unsigned char byte : kNamespace) {
    bytes += static_cast<char>(byte);
  }
  std::string hex = sha1_hex(bytes.append(name)).substr(0, 32);
  hex[12] = '5';
  constexpr std::string_view kVariants = "89ab";
  constexpr std::string_view kDigits = "0123456789abcdef";
  hex[16] = kVariants[kDigits.find(hex[16]) % kVariants.size()];
  return fmt::format("{}-{}-{}-{}-{}", hex.substr(0, 8), hex.substr(8, 4), hex.substr(12, 4),
                     hex.substr(16, 4), hex.substr(20));
}

std::string emulated_uuid(std::string_view node, int index) {
  return "GPU-" + uuid_of(fmt::format("{}/{}", node, index));
}

std::string emulated_slice(std::string_view gpu, std::string_view profile, int start) {
  return "MIG-" + uuid_of(fmt::format("{}/{}/{}", gpu, profile, start));
}

Value emulated_resources(std::string_view node, const EmulatedGpus& gpus) {
  Value list = Value::list();
  for (int i = 0; i < gpus.count; ++i) {
    list.push_back(Value::object({{"gpuUuid", emulated_uuid(node, i)},
                                  {"gpuName", gpus.model->product()},
                                  {"gpuMemory", fmt::format("{}Gi", gpus.model->memory_gib)},
                                  {"index", i},
                                  {"slots", gpus.model->table.slots},
                                  {"pciBusId", fmt::format("00000000:{:02x}:00.0", i + 1)},
                                  {"numaNode", 0},
                                  {"health", "Healthy"}}));
  }
  return Value::object({{"nodeGpus", list},
                        {"migPlacement", placements_of(gpus.model->table)},
                        {"nodeResources", Value::object()}});
}

}  // namespace athanor::das
