// SPDX-License-Identifier: Apache-2.0
#include "systems/das/vendor/parts.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace athanor::das {
namespace {

constexpr std::int64_t kMibPerGib = 1024;

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

std::vector<std::size_t> fill_gpus(const Vendor& vendor, std::vector<SharedGpu> gpus,
                                   const std::vector<ShareRequest>& requests,
                                   Together (*together)(std::string_view resource)) {
  std::vector<std::map<std::string, int>> capacities;
  capacities.reserve(gpus.size());
  for (const SharedGpu& gpu : gpus) {
    capacities.push_back(gpu.sharing.sliced() ? std::map<std::string, int>()
                                              : vendor.capacity(gpu, MigTable()));
  }
  std::vector<std::size_t> placed;
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
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const auto offered = capacities[i].find(request.resource);
      const bool room = gpus[i].healthy && offered != capacities[i].end() &&
                        static_cast<int>(gpus[i].used.size()) + count <= offered->second;
      if (room && (best == gpus.size() || gpus[i].used.size() > gpus[best].used.size())) {
        best = i;
      }
    }
    if (best == gpus.size()) {
      return {};
    }
    for (int index = 0, taken = 0; taken < count; ++index) {
      taken += gpus[best].used.insert(index).second ? 1 : 0;
    }
    placed.insert(placed.end(), end - next, best);
    next = end;
  }
  return placed;
}

Value equal_share(const SharedGpu& gpu, int index) {
  return Value::object(
      {{"index", index},
       {"memoryMiB", gpu.memory_gib * kMibPerGib / std::max(gpu.sharing.replicas, 1)}});
}

std::string count_up(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ",", i);
  }
  return text;
}

}  // namespace athanor::das
