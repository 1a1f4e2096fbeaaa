// SPDX-License-Identifier: Apache-2.0
#include "systems/das/dra/engines.hpp"

#include <algorithm>
#include <string_view>

namespace athanor::das {
namespace {

constexpr std::int64_t kMibPerGib = 1024;

// Four slots, and media engines that instances may take whole or leave.
bool is_rtx(const GpuModel& model) {
  return model.table.exclusive;
}

int multiprocessors_of(const GpuModel& model, int compute) {
  if (is_rtx(model)) {
    return compute == 1 ? 46 : compute * 47;
  }
  return compute * (model.architecture == "Ampere" ? 14 : model.architecture == "Hopper" ? 16 : 18);
}

// A100 has five decoders and gives none to a plain 1g; A30 has one for each slice of larger ones.
int decoders_of_ampere(const GpuModel& model, const MigProfile& profile, bool media) {
  if (profile.compute == 1) {
    return media || profile.size == 2 ? 1 : 0;
  }
  if (model.table.slots == 4) {
    return profile.compute;
  }
  return profile.compute == 2 ? 1 : profile.compute == 7 ? 5 : 2;
}

}  // namespace

Engines engines_of(const GpuModel& model, const MigProfile& profile) {
  const bool media = profile.name.ends_with("+me") || profile.media == Media::All;
  const bool whole = profile.size == model.table.slots;
  const bool ampere = model.architecture == "Ampere";
  Engines engines{.multiprocessors = multiprocessors_of(model, profile.compute),
                  .copy = profile.compute,
                  .decoders = ampere ? decoders_of_ampere(model, profile, media) : profile.compute,
                  // One instance alone has Ampere's; later GPUs have one for each compute slice.
                  .jpeg = ampere ? static_cast<int>(media || whole) : profile.compute,
                  .ofa = static_cast<int>(media || whole),
                  .memory_mib = profile.memory_mib};
  if (is_rtx(model)) {
    const int all = model.table.slots;
    engines.decoders = profile.media == Media::All    ? all
                       : profile.media == Media::None ? 0
                                                      : profile.compute;
    engines.encoders = engines.decoders;
    engines.jpeg = engines.decoders;
  }
  if (engines.memory_mib == 0) {
    engines.memory_mib = model.memory_gib * kMibPerGib * profile.size / model.table.slots;
  }
  return engines;
}

Engines engines_of(const GpuModel& model) {
  Engines most;
  for (const MigProfile& profile : model.table.profiles) {
    const Engines one = engines_of(model, profile);
    most.multiprocessors = std::max(most.multiprocessors, one.multiprocessors);
    most.copy = std::max(most.copy, one.copy);
    most.decoders = std::max(most.decoders, one.decoders);
    most.encoders = std::max(most.encoders, one.encoders);
    most.jpeg = std::max(most.jpeg, one.jpeg);
    most.ofa = std::max(most.ofa, one.ofa);
    most.memory_mib = std::max(most.memory_mib, one.memory_mib);
  }
  return most;
}

}  // namespace athanor::das
