// SPDX-License-Identifier: Apache-2.0
#include "simulation/whatif/slice_play.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "simulation/whatif/trace_text.hpp"
#include "systems/das/model/settings.hpp"
#include "systems/das/slices/placement.hpp"

namespace athanor::whatif {
namespace {

using das::GpuSlots;
using das::PlacedSlice;

struct Policy {
  const char* placement;
  const char* gpu_order;
  const char* scoring;
};
constexpr Policy kPolicies[] = {
    {"firstfit", "listed", "spread"},  {"firstfit", "emptiest", "spread"},
    {"firstfit", "fullest", "spread"}, {"fragmin", "", "spread"},
    {"firstfit", "listed", "pack"},    {"firstfit", "emptiest", "pack"},
    {"firstfit", "fullest", "pack"},   {"fragmin", "", "pack"},
};

das::Settings settings_of(const Policy& policy) {
  das::Settings settings;
  settings.placement_policy = policy.placement;
  settings.gpu_order = policy.gpu_order;
  settings.node_scoring_policy = policy.scoring;
  return settings;
}

std::vector<std::string> wishes_of(const SliceSubmission& one) {
  return std::vector<std::string>(static_cast<std::size_t>(one.count), one.profile);
}

// The nodes, and the slices that run on them. Each node has its own score, which changes with it
// alone.
class SliceRun {
 public:
  SliceRun(const SliceFleet& fleet, const das::Settings& settings)
      : fleet_(fleet),
        options_(settings.placement()),
        scoring_(settings.node_scoring()),
        nodes_(fleet.nodes, std::vector<GpuSlots>(fleet.gpus, GpuSlots{.table = &table()})) {}

  // Ends what ends until then.
  void advance(double to) {
    while (!ends_.empty() && ends_.begin()->first <= to) {
      pass(ends_.begin()->first);
      const Live& live = ends_.begin()->second;
      for (const PlacedSlice& slice : live.slices) {
        GpuSlots& gpu = nodes_[live.node][slice.gpu];
        gpu.occupancy.release(live.profile, slice.start, table());
        in_use_ -= gpu.occupancy.taken == 0 ? 1 : 0;
        taken_ -= slice.size;
      }
      ends_.erase(ends_.begin());
    }
    pass(to);
  }

  // Places the pod where the scheduler would; false: it fits nowhere.
  bool start(const SliceSubmission& one) {
    const std::vector<std::string> wanted = wishes_of(one);
    const int profile = table().find(one.profile);
    std::size_t best = 0;
    std::optional<std::vector<PlacedSlice>> chosen;
    std::int64_t most = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      auto placed = das::place(nodes_[i], wanted, options_);
      if (!placed) {
        continue;
      }
      const std::int64_t score = das::node_score(nodes_[i], wanted, *placed, scoring_);
      if (!chosen || score > most) {
        most = score;
        best = i;
        chosen = std::move(placed);
      }
    }
    if (!chosen) {
      return false;
    }
    for (const PlacedSlice& slice : *chosen) {
      GpuSlots& gpu = nodes_[best][slice.gpu];
      in_use_ += gpu.occupancy.taken == 0 ? 1 : 0;
      gpu.occupancy.take(profile, slice.start, table());
      taken_ += slice.size;
    }
    most_in_use_ = std::max(most_in_use_, in_use_);
    ends_.emplace(one.submit + one.duration, Live{best, profile, *std::move(chosen)});
    return true;
  }

  [[nodiscard]] double utilisation(double from, double to) const {
    const double slots =
        static_cast<double>(table().slots) * static_cast<double>(fleet_.nodes * fleet_.gpus);
    return to > from ? area_ / (to - from) / slots : static_cast<double>(taken_) / slots;
  }
  [[nodiscard]] std::size_t most_in_use() const { return most_in_use_; }

 private:
  struct Live {
    std::size_t node = 0;
    int profile = 0;
    std::vector<PlacedSlice> slices{};
  };

  [[nodiscard]] const das::MigTable& table() const { return fleet_.model->table; }
  void pass(double to) {
    area_ += static_cast<double>(taken_) * (to - now_);
    now_ = to;
  }

  const SliceFleet& fleet_;
  das::PlacementOptions options_;
  das::NodeScoring scoring_;
  std::vector<std::vector<GpuSlots>> nodes_;
  std::multimap<double, Live> ends_{};
  std::size_t in_use_ = 0;  // GPUs
  std::size_t most_in_use_ = 0;
  std::int64_t taken_ = 0;  // slots
  double now_ = 0;
  double area_ = 0;
};

}  // namespace

double SliceOutcome::acceptance() const {
  return requests == 0 ? 0 : static_cast<double>(accepted) / static_cast<double>(requests);
}

Result<void> check_slices(const SliceTrace& trace, const SliceFleet& fleet, std::string_view name) {
  const std::vector<GpuSlots> empty(fleet.gpus, GpuSlots{.table = &fleet.model->table});
  std::string known;
  for (const das::MigProfile& profile : fleet.model->table.profiles) {
    known += (known.empty() ? "" : ", ") + profile.name;
  }
  std::map<std::pair<std::string, int>, std::string> known_problems;  // empty: it fits
  Problems problems(name);
  for (const SliceSubmission& one : trace) {
    const auto [entry, fresh] = known_problems.try_emplace({one.profile, one.count});
    if (fresh && fleet.model->table.find(one.profile) < 0) {
      entry->second =
          fmt::format("{} has no profile {}; it has {}", fleet.model->key, one.profile, known);
    } else if (fresh && !das::place(empty, wishes_of(one))) {
      entry->second = fmt::format(
          "{} slices of {} fit on no node of {} GPUs; lower count, or raise "
          "--gpus",
          one.count, one.profile, fleet.gpus);
    }
    if (!entry->second.empty()) {
      problems.add(one.line, entry->second);
    }
  }
  return problems.check();
}

std::vector<SliceOutcome> play_slices(const SliceTrace& trace, const SliceFleet& fleet,
                                      const std::function<void(const SliceProgress&)>& progress) {
  constexpr std::size_t kBetweenReports = 1000;
  std::vector<SliceOutcome> outcomes;
  for (const Policy& policy : kPolicies) {
    SliceProgress reached{.policy = outcomes.size() + 1, .policies = std::size(kPolicies)};
    SliceOutcome outcome{.placement = policy.placement,
                         .gpu_order = policy.gpu_order,
                         .scoring = policy.scoring,
                         .requests = trace.size()};
    SliceRun run(fleet, settings_of(policy));
    const double from = trace.empty() ? 0 : trace.front().submit;
    for (const SliceSubmission& one : trace) {
      run.advance(one.submit);
      if (run.start(one)) {
        ++outcome.accepted;
      } else {
        ++outcome.rejected[one.profile];
      }
      ++reached.played;
      if (progress && (reached.played % kBetweenReports == 0 || reached.played == trace.size())) {
        progress(reached);
      }
    }
    outcome.utilisation = run.utilisation(from, trace.empty() ? 0 : trace.back().submit);
    outcome.gpus_in_use = run.most_in_use();
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

Value to_value(const SliceOutcome& outcome) {
  const auto whole = [](std::size_t number) { return static_cast<std::int64_t>(number); };
  Value rejected = Value::object();
  for (const auto& [profile, count] : outcome.rejected) {
    rejected.set(profile, whole(count));
  }
  Value value = Value::object({{"placementPolicy", outcome.placement}});
  if (!outcome.gpu_order.empty()) {
    value.set("gpuOrder", outcome.gpu_order);
  }
  value.set("nodeScoringPolicy", outcome.scoring);
  value.set("requests", whole(outcome.requests));
  value.set("accepted", whole(outcome.accepted));
  value.set("acceptance", outcome.acceptance());
  value.set("utilisation", outcome.utilisation);
  value.set("gpusInUse", whole(outcome.gpus_in_use));
  value.set("rejected", std::move(rejected));
  return value;
}

}  // namespace athanor::whatif
