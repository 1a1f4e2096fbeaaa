// SPDX-License-Identifier: Apache-2.0
#include "systems/das/gpus/inventory.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "systems/das/gpus/mode.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/ownership.hpp"
#include "systems/das/slices/profile.hpp"
#include "systems/das/slices/slots.hpp"

namespace athanor::das {
namespace {

constexpr std::int64_t kMostGpus = 16;
constexpr std::int64_t kMostIndex = 9999;  // a status may be written by hand

MigTable read_table(const Value& placements, int slots) {
  MigTable table{.slots = slots};
  for (const Member& member : placements.members()) {
    const auto name = parse_profile(member.key());
    MigProfile profile{.name = std::string(member.key()),
                       .compute = name ? name->compute : 0,
                       .gi_profile = static_cast<int>(member.value["giProfileId"].as_int()),
                       .memory_mib = member.value["memoryMiB"].as_int(),
                       .smi_id = static_cast<int>(member.value["smiProfileId"].as_int(-1))};
    for (const Value& placement : member.value["placements"].items()) {
      const std::int64_t size = placement["size"].as_int();
      const std::int64_t start = placement["start"].as_int();
      const bool inside = start >= 0 && size >= 1 && size <= slots && start <= slots - size;
      if (inside && (profile.size == 0 || profile.size == size)) {
        profile.size = static_cast<int>(size);
        profile.starts.push_back(static_cast<int>(start));
      }
    }
    if (profile.starts.empty()) {
      continue;
    }
    const bool single = name && name->attributes.starts_with("+me");
    profile.most = static_cast<int>(member.value["maxInstances"].as_int(
        single ? 1 : static_cast<std::int64_t>(profile.starts.size())));
    table.add(std::move(profile));
  }
  return table;
}

// Checks the types in status.nodeResources. Returns the problem, or "" where there is none and
// where nothing is written yet.
std::string problem_of(const Value& node_resources) {
  const Value& gpus = node_resources["nodeGpus"];
  if (!gpus.is_null() && !gpus.is_list()) {
    return "nodeGpus is no list";
  }
  if (const Value& shared = node_resources["migPlacement"];
      !shared.is_null() && !shared.is_object()) {
    return "migPlacement is no object";
  }
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (!gpus[i]["gpuUuid"].is_string()) {
      return fmt::format("nodeGpus[{}].gpuUuid is no string", i);
    }
    if (const Value& own = gpus[i]["migPlacement"]; !own.is_null() && !own.is_object()) {
      return fmt::format("nodeGpus[{}].migPlacement is no object", i);
    }
  }
  return {};
}

}  // namespace

Result<EmulatedGpus> emulated_gpus(const Object& node, const Settings& settings) {
  const std::string_view wanted = node.annotation(kModelAnnotation);
  const std::string_view key = wanted.empty() ? std::string_view(settings.gpu_model) : wanted;
  EmulatedGpus gpus{.model = find_model(key), .count = static_cast<int>(settings.gpu_count)};
  if (gpus.model == nullptr) {
    return Error::bad_request(
        fmt::format("unknown emulated GPU model \"{}\"; known: {}", key, known_models()));
  }
  if (const std::string_view text = node.annotation(kCountAnnotation); !text.empty()) {
    std::int64_t count = 0;
    for (const char c : text) {
      count = c >= '0' && c <= '9' && count <= kMostGpus ? count * 10 + (c - '0') : kMostGpus + 1;
    }
    if (count < 1 || count > kMostGpus) {
      return Error::bad_request(fmt::format(
          "invalid {} \"{}\": must be a whole number from 1 to 16", kCountAnnotation, text));
    }
    gpus.count = static_cast<int>(count);
  }
  return gpus;
}

SlotMask foreign_slots(const Value& gpu) {
  SlotMask slots = 0;
  for (const Value& slice : gpu["foreign"].items()) {
    const std::int64_t start = slice["start"].as_int(-1);
    const std::int64_t size = slice["size"].as_int();
    if (start >= 0 && start < kMostSlots && size >= 1 && size <= kMostSlots) {
      slots =
          static_cast<SlotMask>(slots | mask_of(static_cast<int>(start), static_cast<int>(size)));
    }
  }
  return slots;
}

std::vector<std::string> offered_profiles(const Value& node_resources) {
  std::set<std::string> names;
  const auto add = [&](const Value& profiles) {
    for (const Member& profile : profiles.members()) {
      names.insert(std::string(profile.key()));
    }
  };
  add(node_resources["migPlacement"]);
  for (const Value& gpu : node_resources["nodeGpus"].items()) {
    add(gpu["migPlacement"]);  // of a node with several models
  }
  return {names.begin(), names.end()};
}

NodeGpus read_resources(const Value& node_resources) {
  NodeGpus node{.problem = problem_of(node_resources)};
  const auto table_of = [&](const Value& placements, int slots) {
    node.tables.push_back(read_table(placements, slots));
    return node.tables.size() - 1;
  };
  std::vector<std::pair<int, std::size_t>> shared;  // slots, table
  for (const Value& gpu : node_resources["nodeGpus"].items()) {
    const auto slots =
        static_cast<int>(std::clamp<std::int64_t>(gpu["slots"].as_int(kMostSlots), 1, kMostSlots));
    NodeGpu entry{
        .uuid = gpu["gpuUuid"].str(),
        .name = gpu["gpuName"].str(),
        .index = static_cast<int>(std::clamp<std::int64_t>(
            gpu["index"].as_int(static_cast<std::int64_t>(node.gpus.size())), 0, kMostIndex)),
        .healthy = gpu["health"].as_string() != "Unhealthy",
        .foreign = foreign_slots(gpu),
        .dra = gpu[kAllocationApiMember].as_string() == name_of(AllocationApi::Dra),
        .shared = gpu[kSharingMember].is_object()};
    if (gpu["migPlacement"].is_object()) {
      entry.table = table_of(gpu["migPlacement"], slots);
    } else {
      auto known = std::ranges::find(shared, slots, &std::pair<int, std::size_t>::first);
      if (known == shared.end()) {
        shared.emplace_back(slots, table_of(node_resources["migPlacement"], slots));
        known = shared.end() - 1;
      }
      entry.table = known->second;
    }
    node.gpus.push_back(std::move(entry));
  }
  return node;
}

}  // namespace athanor::das
