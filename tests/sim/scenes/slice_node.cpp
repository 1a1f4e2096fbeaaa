// SPDX-License-Identifier: Apache-2.0
#include "sim/scenes/slice_node.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "systems/das/gpus/inventory.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/slices/slots.hpp"

namespace athanor::sim {

SliceNode::SliceNode(std::string wanted) : name(std::move(wanted)) {
  const das::GpuModel& model = *das::find_model(das::kDefaultModel);
  gpu = {.uuid = das::emulated_uuid(name, 0),
         .name = model.product(),
         .memory_bytes = std::int64_t{model.memory_gib} << 30,
         .table = model.table};
}

std::string SliceNode::boot_id() const {
  return fmt::format("{}-{}", name, boot);
}

Value SliceNode::resources() const {
  das::Discovery found{.gpus = {gpu}};
  for (const Slice& slice : slices) {
    found.slices.push_back(slice.found);
  }
  return das::node_resources(found, records, boot_id());
}

das::SliceRecord SliceNode::record_of(std::string_view claim_uid) const {
  const auto found = std::ranges::find(records, claim_uid, &das::SliceRecord::claim_uid);
  return found == records.end() ? das::SliceRecord() : *found;
}

std::vector<das::CdiSpec> SliceNode::specs() const {
  std::vector<das::CdiSpec> all;
  for (const auto& [file, text] : files) {
    auto spec = das::parse_cdi(text);
    ATHANOR_CHECK(spec.has_value(), "an agent reads what it wrote");
    all.push_back(*std::move(spec));
  }
  return all;
}

std::vector<std::string> SliceNode::devices_of(const std::string& device) const {
  constexpr std::string_view kVariable = "NVIDIA_VISIBLE_DEVICES=";
  std::vector<std::string> devices;
  for (const das::CdiSpec& spec : specs()) {
    for (const std::string& variable : spec.env) {
      if (spec.device() != device || !variable.starts_with(kVariable)) {
        continue;
      }
      std::string_view rest = std::string_view(variable).substr(kVariable.size());
      while (!rest.empty()) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        devices.emplace_back(rest.substr(0, comma));
        rest.remove_prefix(std::min(comma + 1, rest.size()));
      }
    }
  }
  return devices;
}

std::vector<std::string> SliceNode::free_ids(const std::string& profile, std::size_t count) const {
  std::vector<std::string> ids;
  for (int i = 0; ids.size() < count; ++i) {
    std::string id = fmt::format("{}-{}", profile, i);
    const bool held = std::ranges::any_of(admitted, [&](const auto& entry) {
      return std::ranges::find(entry.second.ids, id) != entry.second.ids.end();
    });
    if (!held) {
      ids.push_back(std::move(id));
    }
  }
  return ids;
}

Result<std::string> SliceNode::create(const das::Claim& claim) {
  std::vector<das::Slice> all;
  for (const Slice& slice : slices) {
    all.push_back({.profile = gpu.table.find(slice.profile), .start = slice.found.start});
  }
  all.push_back({.profile = gpu.table.find(claim.profile), .start = claim.start});
  if (claim.gpu != gpu.uuid || !gpu.healthy) {
    return Error{.code = 500, .reason = "GpuIsLost", .message = "GPU is lost"};
  }
  if (!das::is_legal(gpu.table, all)) {
    return Error{.code = 500, .reason = "InsufficientResources", .message = "the slots are taken"};
  }
  const std::string device = "MIG-" + das::uuid_of(fmt::format("{}/{}/{}", name, boot, ++made));
  slices.push_back(
      {.found = {.gpu = gpu.uuid, .device = device, .start = claim.start, .size = claim.size},
       .profile = claim.profile,
       .claim_uid = std::string(claim.object.uid())});
  return device;
}

namespace {

bool is_of(const SliceNode::Slice& slice, const das::SliceRecord& record) {
  return slice.found.start == record.start && slice.found.size == record.size &&
         (record.device.empty() || slice.found.device.empty() ||
          slice.found.device == record.device);
}

}  // namespace

void SliceNode::destroy_compute(const das::SliceRecord& record) {
  for (Slice& slice : slices) {
    if (is_of(slice, record)) {
      slice.found.device.clear();
    }
  }
}

void SliceNode::destroy_instance(const das::SliceRecord& record) {
  std::erase_if(slices, [&](const Slice& slice) {
    return is_of(slice, record) && slice.found.device.empty();
  });
}

void SliceNode::reboot() {
  ++boot;
  slices.clear();
  records.clear();
  files.clear();
  exchange.clear();
  admitted.clear();
  used.clear();
}

}  // namespace athanor::sim
