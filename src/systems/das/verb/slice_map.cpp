// SPDX-License-Identifier: Apache-2.0
#include "systems/das/verb/slice_map.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

namespace athanor::das {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr char kForeignMark = '#';
constexpr std::size_t kColumns = 80;  // of a narrow terminal

std::string holder_line(const std::string& mark, const GpuHolder& holder) {
  std::string line =
      fmt::format("  {}  {}  ", mark, holder.profile.empty() ? "whole GPU" : holder.profile);
  line += holder.reserved_for.empty()
              ? fmt::format("{}/{}  {}", holder.pod.ns, holder.pod.name, holder.state)
              : fmt::format("reserved until {} returns", holder.reserved_for);
  return line + "\n";
}

// The row of slots and the lines of their holders.
std::string slot_lines(const GpuState& gpu) {
  std::string letters(static_cast<std::size_t>(gpu.total), '.');
  const auto mark = [&](int start, int size, char letter) {
    for (int slot = std::max(start, 0); slot < std::min(start + size, gpu.total); ++slot) {
      letters[static_cast<std::size_t>(slot)] = letter;
    }
  };
  std::string below;
  for (const ForeignSlice& slice : gpu.foreign) {
    mark(slice.start, slice.size, kForeignMark);
    below += fmt::format("  {}  {} slot{} from {} on: an instance that DAS did not make\n",
                         kForeignMark, slice.size, slice.size == 1 ? "" : "s", slice.start);
  }
  for (std::size_t i = 0; i < gpu.holders.size(); ++i) {
    const char letter = kLetters[i % kLetters.size()];
    mark(gpu.holders[i].start, gpu.holders[i].size, letter);
    below += holder_line(std::string(1, letter), gpu.holders[i]);
  }
  std::string row = "  |";
  for (std::size_t slot = 0; slot < letters.size(); ++slot) {
    const bool joined =
        slot + 1 < letters.size() && letters[slot] != '.' && letters[slot] == letters[slot + 1];
    row += fmt::format(" {} {}", letters[slot], joined ? ' ' : '|');
  }
  return row + "\n" + below;
}

std::string share_lines(const GpuState& gpu) {
  std::string lines;
  for (const GpuHolder& holder : gpu.holders) {
    lines += holder_line(std::to_string(holder.start), holder);
  }
  return lines;
}

// Node, GPU and model, and the rest behind it or on a line of its own.
std::string title_lines(const GpuState& gpu) {
  const std::string title = fmt::format("{}  GPU {}  {}", gpu.node, gpu.index, gpu.name);
  const std::string rest = fmt::format(
      "{}{}{}", gpu.uuid, gpu.healthy ? "" : "  unhealthy",
      gpu.sliced()
          ? ""
          : fmt::format("  {}: {} of {} shares held", gpu.mode, gpu.holders.size(), gpu.total));
  return fmt::format("{}{}{}\n", title, title.size() + rest.size() + 2 <= kColumns ? "  " : "\n  ",
                     rest);
}

std::string room_lines(const GpuState& gpu) {
  constexpr std::string_view kTitle = "  fits  ";
  std::string text(kTitle);
  std::size_t column = text.size();
  for (std::size_t i = 0; i < gpu.room.size(); ++i) {
    const auto& [name, count] = gpu.room[i];
    const std::string one = fmt::format("{} {}{}", name, count, i + 1 < gpu.room.size() ? "," : "");
    const bool first = column == kTitle.size();
    if (!first && column + 1 + one.size() > kColumns) {
      text += "\n" + std::string(kTitle.size(), ' ') + one;
      column = kTitle.size() + one.size();
    } else {
      text += (first ? "" : " ") + one;
      column += one.size() + (first ? 0 : 1);
    }
  }
  return text + (gpu.room.empty() ? "nothing\n" : "\n");
}

}  // namespace

std::string slice_map(const GpuStates& states) {
  std::string text;
  for (const GpuState& gpu : states.gpus) {
    text += (text.empty() ? "" : "\n") + title_lines(gpu);
    text += gpu.sliced() ? slot_lines(gpu) : share_lines(gpu);
    text += room_lines(gpu);
  }
  std::string lost;
  for (const GpuHolder& holder : states.lost) {
    lost += holder_line("?", holder);
  }
  return lost.empty() ? text : text + "\nclaims of unknown GPUs\n" + lost;
}

std::vector<std::string> gpu_header() {
  return {"NODE", "GPU", "MODE", "FREE", "ALL", "HEALTH", "UUID", "HOLDERS"};
}

std::vector<std::string> gpu_row(const GpuState& gpu) {
  std::string holders;
  for (const GpuHolder& holder : gpu.holders) {
    holders += fmt::format("{}{}/{}", holders.empty() ? "" : ",", holder.pod.ns, holder.pod.name);
  }
  return {gpu.node,
          std::to_string(gpu.index),
          gpu.sliced() ? "mig" : gpu.resource,
          std::to_string(gpu.free),
          std::to_string(gpu.total),
          gpu.healthy ? "Healthy" : "Unhealthy",
          gpu.uuid,
          holders.empty() ? "-" : holders};
}

}  // namespace athanor::das
