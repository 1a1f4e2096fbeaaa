// SPDX-License-Identifier: Apache-2.0
#include "systems/das/placement/slice_map.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "systems/das/claim.hpp"
#include "systems/das/placement/inventory.hpp"
#include "systems/das/placement/slots.hpp"
#include "systems/das/reservation.hpp"

namespace athanor::das {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

std::string claim_line(char letter, const Claim& claim) {
  if (is_reservation(claim.object)) {
    const Value& wanted = claim.object.spec()[kReservedMember];
    return fmt::format("  {}  {}  reserved until {}/{} returns\n", letter, claim.profile,
                       wanted["namespace"].as_string(), wanted["pod"].as_string());
  }
  return fmt::format("  {}  {}  {}/{}  {}\n", letter,
                     claim.profile.empty() ? "whole GPU" : claim.profile, claim.pod.ns,
                     claim.pod.name, claim.state.empty() ? "new" : claim.state);
}

std::string gpu_lines(const NodeGpus& node, const NodeGpu& gpu,
                      const std::vector<const Claim*>& claims) {
  const MigTable& table = node.tables[gpu.table];
  Occupancy occupancy;
  std::string letters(static_cast<std::size_t>(table.slots), '.');
  std::string below;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const Claim& claim = *claims[i];
    const char letter = kLetters[i % kLetters.size()];
    for (int slot = claim.start; slot < std::min(claim.start + claim.size, table.slots); ++slot) {
      letters[static_cast<std::size_t>(slot)] = letter;
    }
    occupancy.taken = static_cast<SlotMask>(occupancy.taken | claim.mask());
    const int profile = table.find(claim.profile);
    if (profile >= 0 && table.profiles[static_cast<std::size_t>(profile)].size == claim.size) {
      occupancy.take(profile, claim.start, table);
    }
    below += claim_line(letter, claim);
  }
  std::string row = "  |";
  for (std::size_t slot = 0; slot < letters.size(); ++slot) {
    const bool joined =
        slot + 1 < letters.size() && letters[slot] != '.' && letters[slot] == letters[slot + 1];
    row += fmt::format(" {} {}", letters[slot], joined ? ' ' : '|');
  }
  std::string fits;
  for (int i = 0; i < static_cast<int>(table.profiles.size()); ++i) {
    if (const int more = gpu.healthy ? remaining(table, occupancy, i) : 0; more > 0) {
      fits += fmt::format("{}{} {}", fits.empty() ? "" : ", ",
                          table.profiles[static_cast<std::size_t>(i)].name, more);
    }
  }
  return row + "\n" + below + "  fits  " + (fits.empty() ? "nothing" : fits) + "\n";
}

}  // namespace

std::string slice_map(std::span<const Object> nodes, std::span<const Object> claims) {
  std::vector<Claim> known;
  for (const Object& object : claims) {
    if (auto claim = read_claim(object)) {
      known.push_back(*std::move(claim));
    }
  }
  std::ranges::stable_sort(known, [](const Claim& a, const Claim& b) {
    return std::tie(a.start, a.pod) < std::tie(b.start, b.pod);
  });
  std::vector<bool> shown(known.size());
  std::string text;
  for (const Object& object : nodes) {
    const NodeGpus node = read_resources(object.status()["nodeResources"]);
    for (std::size_t i = 0; i < node.gpus.size(); ++i) {
      const NodeGpu& gpu = node.gpus[i];
      std::vector<const Claim*> held;
      for (std::size_t c = 0; c < known.size(); ++c) {
        if (known[c].gpu == gpu.uuid && known[c].node == object.name()) {
          held.push_back(&known[c]);
          shown[c] = true;
        }
      }
      text += fmt::format("{}{}  GPU {}  {}  {}{}\n", text.empty() ? "" : "\n", object.name(), i,
                          gpu.name, gpu.uuid, gpu.healthy ? "" : "  unhealthy");
      text += gpu_lines(node, gpu, held);
    }
  }
  std::string lost;
  for (std::size_t c = 0; c < known.size(); ++c) {
    if (!shown[c]) {
      lost += claim_line('?', known[c]);
    }
  }
  return lost.empty() ? text : text + "\nclaims of unknown GPUs\n" + lost;
}

}  // namespace athanor::das
