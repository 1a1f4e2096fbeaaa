// SPDX-License-Identifier: Apache-2.0
#include "systems/das/verb/gpu_states.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "systems/das/gpus/inventory.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/model/claim.hpp"
#include "systems/das/model/reservation.hpp"
#include "systems/das/sharing/share.hpp"
#include "systems/das/slices/slots.hpp"

namespace athanor::das {
namespace {

constexpr std::int64_t kMostWrittenSlots = 64;

GpuHolder holder_of(const Claim& claim) {
  GpuHolder holder{.claim = std::string(claim.object.name()),
                   .profile = claim.profile,
                   .pod = claim.pod,
                   .container = claim.container,
                   .state = claim.state.empty() ? "new" : claim.state,
                   .created = claim.object.metadata()["creationTimestamp"].str(),
                   .start = claim.start,
                   .size = claim.size};
  if (is_reservation(claim.object)) {
    const Value& wanted = claim.object.spec()[kReservedMember];
    holder.reserved_for =
        fmt::format("{}/{}", wanted["namespace"].as_string(), wanted["pod"].as_string());
  }
  return holder;
}

// Fills in the slots of a GPU that is sliced.
void count_slots(GpuState& state, const NodeGpu& gpu, const MigTable& table,
                 const std::vector<const Claim*>& held) {
  Occupancy occupancy{.taken = gpu.foreign};
  for (const Claim* claim : held) {
    occupancy.taken = static_cast<SlotMask>(occupancy.taken | claim->mask());
    const int profile = table.find(claim->profile);
    if (profile >= 0 && table.profiles[static_cast<std::size_t>(profile)].size == claim->size) {
      occupancy.take(profile, claim->start, table);
    }
  }
  state.total = table.slots;
  if (!gpu.healthy) {
    return;
  }
  state.free = free_slots(table, occupancy);
  for (int i = 0; i < static_cast<int>(table.profiles.size()); ++i) {
    if (const int more = remaining(table, occupancy, i); more > 0) {
      state.room.emplace_back(table.profiles[static_cast<std::size_t>(i)].name, more);
    }
  }
}

// Fills in the shares of a GPU that is shared; one index that two claims name counts twice.
void count_shares(GpuState& state, SharedGpu gpu, const std::map<std::string, int>& devices,
                  const std::vector<const Claim*>& held) {
  for (const Claim* claim : held) {
    if (!gpu.used.insert(claim->start).second) {
      take_share(gpu);
    }
  }
  state.mode = gpu.sharing.mode;
  for (const auto& [resource, count] : devices) {
    state.resource = resource;
    state.total += count;
  }
  state.free = gpu.healthy ? std::max(0, state.total - static_cast<int>(gpu.used.size())) : 0;
  if (state.free > 0) {
    state.room.emplace_back(state.resource, state.free);
  }
}

}  // namespace

GpuStates gpu_states(std::span<const Object> nodes, std::span<const Object> claims) {
  std::vector<Claim> known;
  for (const Object& object : claims) {
    if (auto claim = read_slice_or_share(object)) {
      known.push_back(*std::move(claim));
    }
  }
  std::ranges::stable_sort(known, [](const Claim& a, const Claim& b) {
    return std::tie(a.start, a.pod) < std::tie(b.start, b.pod);
  });
  std::vector<bool> shown(known.size());
  GpuStates states;
  for (const Object& object : nodes) {
    const Value& resources = object.status()["nodeResources"];
    const NodeGpus node = read_resources(resources);
    const std::vector<SharedGpu> shared = shared_gpus(resources);
    const Vendor* vendor = find_vendor(object.spec()["acceleratorType"].as_string());
    const auto devices = vendor != nullptr ? devices_of(resources, *vendor)
                                           : std::vector<std::map<std::string, int>>();
    for (std::size_t i = 0; i < node.gpus.size(); ++i) {
      const NodeGpu& gpu = node.gpus[i];
      const Value& written = resources["nodeGpus"][i];
      GpuState state{.node = std::string(object.name()),
                     .index = gpu.index,
                     .name = gpu.name,
                     .uuid = gpu.uuid,
                     .memory = written["gpuMemory"].str(),
                     .healthy = gpu.healthy};
      // A status may be written by hand.
      const auto slots = [](const Value& count) {
        return static_cast<int>(std::clamp<std::int64_t>(count.as_int(), 0, kMostWrittenSlots));
      };
      for (const Value& slice : written["foreign"].items()) {
        state.foreign.push_back({.start = slots(slice["start"]), .size = slots(slice["size"])});
      }
      std::vector<const Claim*> held;
      for (std::size_t c = 0; c < known.size(); ++c) {
        if (known[c].gpu == gpu.uuid && known[c].node == object.name()) {
          held.push_back(&known[c]);
          shown[c] = true;
          state.holders.push_back(holder_of(known[c]));
        }
      }
      if (gpu.shared) {
        count_shares(state, shared[i],
                     i < devices.size() ? devices[i] : std::map<std::string, int>(), held);
      } else {
        count_slots(state, gpu, node.tables[gpu.table], held);
      }
      states.gpus.push_back(std::move(state));
    }
  }
  for (std::size_t c = 0; c < known.size(); ++c) {
    if (!shown[c]) {
      states.lost.push_back(holder_of(known[c]));
    }
  }
  return states;
}

Value to_value(const GpuHolder& holder) {
  Value one = Value::object({{"claim", holder.claim},
                             {"profile", holder.profile},
                             {"namespace", holder.pod.ns},
                             {"pod", holder.pod.name},
                             {"container", holder.container},
                             {"state", holder.state},
                             {"start", holder.start},
                             {"size", holder.size}});
  if (!holder.created.empty()) {
    one.set("created", holder.created);
  }
  if (!holder.reserved_for.empty()) {
    one.set("reservedFor", holder.reserved_for);
  }
  return one;
}

Value to_value(const GpuState& state) {
  Value foreign = Value::list();
  for (const ForeignSlice& slice : state.foreign) {
    foreign.push_back(Value::object({{"start", slice.start}, {"size", slice.size}}));
  }
  Value holders = Value::list();
  for (const GpuHolder& holder : state.holders) {
    Value one = to_value(holder);
    if (!state.sliced()) {
      one.set("share", holder.start);
      one.erase("start");
      one.erase("size");
    }
    holders.push_back(std::move(one));
  }
  Value room = Value::object();
  for (const auto& [name, count] : state.room) {
    room.set(name, count);
  }
  return Value::object({{"node", state.node},
                        {"index", state.index},
                        {"name", state.name},
                        {"uuid", state.uuid},
                        {"memory", state.memory},
                        {"health", state.healthy ? "Healthy" : "Unhealthy"},
                        {"mode", state.sliced() ? "mig" : state.mode},
                        {"resource", state.resource},
                        {"total", state.total},
                        {"free", state.free},
                        {"foreign", std::move(foreign)},
                        {"holders", std::move(holders)},
                        {"room", std::move(room)}});
}

}  // namespace athanor::das
