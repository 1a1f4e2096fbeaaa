// SPDX-License-Identifier: Apache-2.0
#include "systems/das/makers/shares_of_gpus.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace athanor::das {
namespace {

constexpr std::int64_t kMibInGib = 1024;

// The first `count` free shares of the fullest part of a GPU that has so many; empty: none has.
std::vector<int> free_shares(const SharedGpu& gpu, int offered, int count) {
  const int parts = std::max(gpu.sharing.parts(), 1);
  const int each = offered / parts;
  std::vector<int> best;
  if (static_cast<int>(gpu.used.size()) + count > offered) {
    return best;
  }
  int fewest = each + 1;
  for (int part = 0; part < parts; ++part) {
    std::vector<int> free;
    for (int index = part * each; index < (part + 1) * each; ++index) {
      if (!gpu.used.contains(index)) {
        free.push_back(index);
      }
    }
    const auto left = static_cast<int>(free.size());
    if (left >= count && left < fewest) {
      fewest = left;
      free.resize(static_cast<std::size_t>(count));
      best = std::move(free);
    }
  }
  return best;
}

}  // namespace

std::optional<int> read_number(std::string_view text, int most) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end && value >= 0 && value <= most ? std::optional(value)
                                                                            : std::nullopt;
}

std::string_view take_part(std::string_view& text, char separator) {
  const std::string_view head = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(head.size() + 1, text.size()));
  return head;
}

GpuModel whole_model(std::string_view type, std::string_view maker, std::string_view key, int gib) {
  GpuModel model;
  model.key = key;
  model.memory_gib = gib;
  model.type = type;
  model.maker = maker;
  return model;
}

std::vector<SharePlace> fill_gpus(const Vendor& vendor, std::vector<SharedGpu> gpus,
                                  const std::vector<ShareRequest>& requests,
                                  Together (*together)(std::string_view resource)) {
  std::vector<std::map<std::string, int>> capacities;
  capacities.reserve(gpus.size());
  for (const SharedGpu& gpu : gpus) {
    capacities.push_back(gpu.sharing.sliced() ? std::map<std::string, int>()
                                              : vendor.capacity(gpu, MigTable()));
  }
  std::vector<SharePlace> placed;
  for (std::size_t next = 0; next < requests.size();) {
    const ShareRequest& request = requests[next];
    std::size_t end = next + 1;
    while (together(request.resource) == Together::Container && end < requests.size() &&
           requests[end].container == request.container &&
           requests[end].resource == request.resource) {
      ++end;
    }
    const auto count = static_cast<int>(end - next);
    std::size_t best = gpus.size();
    std::vector<int> shares;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const auto offered = capacities[i].find(request.resource);
      if (!gpus[i].healthy || offered == capacities[i].end() ||
          (best != gpus.size() && gpus[i].used.size() <= gpus[best].used.size())) {
        continue;
      }
      if (auto free = free_shares(gpus[i], offered->second, count); !free.empty()) {
        best = i;
        shares = std::move(free);
      }
    }
    if (shares.empty()) {
      return {};
    }
    for (const int index : shares) {
      gpus[best].used.insert(index);
      placed.push_back({.gpu = best, .index = index});
    }
    next = end;
  }
  return placed;
}

Value equal_share(const SharedGpu& gpu, int index) {
  return Value::object(
      {{"index", index},
       {"memoryMiB", gpu.memory_gib * kMibInGib / std::max(gpu.sharing.replicas, 1)}});
}

std::string count_up(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ",", i);
  }
  return text;
}

}  // namespace athanor::das
