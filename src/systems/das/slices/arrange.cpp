// SPDX-License-Identifier: Apache-2.0
// The demand is a number of slices for each distinct profile. GPU after GPU takes a share of it
// that cannot be extended (taking more never hurts the rest); (GPU, rest of the demand) that failed
// once is not tried again.
#include "systems/das/slices/arrange.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace athanor::das {
namespace {

using Demand = std::vector<int>;  // by distinct profile

struct Start {
  std::size_t kind = 0;  // of the demand
  int start = 0;
  int size = 0;
};
using Layout = std::vector<Start>;

class Search {
 public:
  Search(std::span<const GpuSlots> gpus, const std::vector<std::string>& kinds,
         const std::vector<std::size_t>& order)
      : gpus_(gpus), kinds_(kinds), order_(order), layouts_(gpus.size()) {}

  // True when GPUs from order_[next] on hold the demand.
  bool solve(std::size_t next, const Demand& demand) {
    if (std::ranges::all_of(demand, [](int count) { return count == 0; })) {
      return true;
    }
    if (next == order_.size() || failed_.contains({next, demand})) {
      return false;
    }
    const std::size_t gpu = order_[next];
    for (auto& [share, layout] : shares(gpu, demand)) {
      Demand rest = demand;
      for (std::size_t k = 0; k < rest.size(); ++k) {
        rest[k] -= share[k];
      }
      if (solve(next + 1, rest)) {
        layouts_[gpu] = std::move(layout);
        return true;
      }
    }
    failed_.insert({next, demand});
    return false;
  }

  [[nodiscard]] const Layout& layout(std::size_t gpu) const { return layouts_[gpu]; }

 private:
  // The largest shares of the demand that this GPU holds, each with one layout.
  std::map<Demand, Layout> shares(std::size_t gpu, const Demand& demand) const {
    std::map<Demand, Layout> found;
    if (gpus_[gpu].open) {
      std::vector<int> indexes;
      indexes.reserve(kinds_.size());
      for (const std::string& kind : kinds_) {
        indexes.push_back(gpus_[gpu].table->find(kind));
      }
      Filling filling{.gpu = gpu,
                      .demand = demand,
                      .indexes = indexes,
                      .occupancy = gpus_[gpu].occupancy,
                      .share = Demand(demand.size())};
      fill(filling, 0, 0, found);
    }
    if (found.empty()) {
      found.emplace(Demand(demand.size()), Layout{});
    }
    std::erase_if(found, [&](const auto& one) {
      return std::ranges::any_of(found, [&](const auto& other) {
        return &other != &one && std::ranges::equal(one.first, other.first, std::less_equal<>{});
      });
    });
    return found;
  }

  // One GPU that is being filled.
  struct Filling {
    std::size_t gpu = 0;
    const Demand& demand;
    const std::vector<int>& indexes;
    Occupancy occupancy{};
    Demand share{};
    Layout layout{};
  };

  // Places kinds one after another, equal ones at rising starts.
  void fill(Filling& filling, std::size_t kind, std::size_t from,
            std::map<Demand, Layout>& found) const {
    auto& [gpu, demand, indexes, occupancy, share, layout] = filling;
    if (kind == kinds_.size()) {
      found.emplace(share, layout);
      return;
    }
    const int index = indexes[kind];
    if (index >= 0 && share[kind] < demand[kind]) {
      const MigTable& table = *gpus_[gpu].table;
      const MigProfile& profile = table.profiles[static_cast<std::size_t>(index)];
      for (std::size_t at = from; at < profile.starts.size(); ++at) {
        const int start = profile.starts[at];
        if (!fits_at(table, occupancy, index, start)) {
          continue;
        }
        occupancy.take(index, start, table);
        ++share[kind];
        layout.push_back({kind, start, profile.size});
        fill(filling, kind, at + 1, found);
        layout.pop_back();
        --share[kind];
        occupancy.release(index, start, table);
      }
    }
    fill(filling, kind + 1, 0, found);
  }

  std::span<const GpuSlots> gpus_;
  const std::vector<std::string>& kinds_;
  const std::vector<std::size_t>& order_;
  std::vector<Layout> layouts_;
  std::set<std::pair<std::size_t, Demand>> failed_{};
};

}  // namespace

std::optional<std::vector<PlacedSlice>> arrange(std::span<const GpuSlots> gpus,
                                                std::span<const std::string> profiles,
                                                const std::vector<std::size_t>& order) {
  std::vector<std::string> kinds(profiles.begin(), profiles.end());
  std::ranges::sort(kinds);
  const auto [first, last] = std::ranges::unique(kinds);
  kinds.erase(first, last);
  Demand demand(kinds.size());
  const auto kind_of = [&](const std::string& profile) {
    return static_cast<std::size_t>(std::ranges::lower_bound(kinds, profile) - kinds.begin());
  };
  for (const std::string& profile : profiles) {
    ++demand[kind_of(profile)];
  }
  Search search(gpus, kinds, order);
  if (!search.solve(0, demand)) {
    return std::nullopt;
  }
  // Slices of one profile are alike: the first request takes the first slot found.
  std::vector<std::vector<PlacedSlice>> by_kind(kinds.size());
  for (const std::size_t gpu : order) {
    for (const Start& start : search.layout(gpu)) {
      by_kind[start.kind].push_back({.gpu = gpu, .start = start.start, .size = start.size});
    }
  }
  std::vector<std::size_t> next(kinds.size());
  std::vector<PlacedSlice> placed;
  for (const std::string& profile : profiles) {
    const std::size_t kind = kind_of(profile);
    placed.push_back(by_kind[kind][next[kind]++]);
  }
  return placed;
}

}  // namespace athanor::das
