// SPDX-License-Identifier: Apache-2.0
// Runs compared with undisturbed runs.
#include "sim/properties/properties.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kube/apply/patch.hpp"
#include "kube/text/json.hpp"

namespace athanor::sim {

namespace {

void count(Tally* tally, const char* property) {
  if (tally != nullptr) {
    ++tally->properties[property];
  }
}

void count(Tally* tally, const Outcome& outcome) {
  if (tally != nullptr) {
    tally->add(outcome);
  }
}

std::optional<std::string> difference(const Value& expected, const Value& actual) {
  if (expected == actual) {
    return std::nullopt;
  }
  return "ends otherwise than without faults; the difference as a merge patch: " +
         json::print(make_merge_patch(expected, actual), json::Style::Pretty);
}

Value end_of(const World& world, const Projection& projection) {
  return projection ? projection(world) : world.final_state();
}

struct Run {
  Outcome outcome{};
  Value end{};
  std::vector<std::string> trace{};
};

Run run_once(Scene scene, const Trial& trial, std::uint64_t seed) {
  scene.record = trial.record;
  World world(std::move(scene), seed);
  Run run{.outcome = world.run()};
  run.trace = world.trace();
  count(trial.tally, run.outcome);
  if (!run.outcome.failure) {
    run.end = end_of(world, trial.projection);
  }
  return run;
}

Scene faultless_scene(const Trial& trial, const Faults& faults) {
  Scene scene = trial.make();
  scene.faults = {.max_lag = faults.max_lag, .ordered = faults.ordered};
  scene.placed.reset();
  return scene;
}

}  // namespace

void Tally::add(const Outcome& outcome) {
  ++runs;
  steps += outcome.steps;
  reconciles += outcome.work.reconciles;
  writes += outcome.writes;
  for (const PlacedFault& fault : outcome.injected) {
    ++faults.at(static_cast<std::size_t>(fault.kind));
  }
  for (const auto& [name, checks] : outcome.invariants) {
    invariants[name] += checks;
  }
}

void Tally::merge(const Tally& other) {
  for (std::size_t i = 0; i < kFaultKinds; ++i) {
    faults.at(i) += other.faults.at(i);
  }
  for (const auto& [name, checks] : other.invariants) {
    invariants[name] += checks;
  }
  for (const auto& [name, checks] : other.properties) {
    properties[name] += checks;
  }
  runs += other.runs;
  steps += other.steps;
  reconciles += other.reconciles;
  writes += other.writes;
}

// ---- Comparison

UndisturbedPtr undisturbed(const Trial& trial, const Faults& faults) {
  Run run = run_once(faultless_scene(trial, faults), trial, trial.seed);
  return std::make_shared<const Undisturbed>(
      Undisturbed{.outcome = std::move(run.outcome), .end = std::move(run.end)});
}

Comparison::Comparison(Trial trial, Faults faults)
    : trial_(std::move(trial)), faults_(faults), calm_(undisturbed(trial_, faults_)) {}

Comparison::Comparison(Trial trial, Faults faults, UndisturbedPtr calm)
    : trial_(std::move(trial)), faults_(faults), calm_(std::move(calm)) {}

std::optional<Finding> Comparison::play(std::optional<FaultList> placed) {
  if (calm_->outcome.failure) {
    return Finding{.text = "without faults: " + *calm_->outcome.failure};
  }
  Scene scene = trial_.make();
  scene.faults = faults_;
  scene.placed = std::move(placed);
  Run run = run_once(std::move(scene), trial_, trial_.seed);
  trace_ = std::move(run.trace);
  auto wrong = run.outcome.failure;
  if (!wrong) {
    wrong = difference(calm_->end, run.end);
  }
  if (!wrong) {
    return std::nullopt;
  }
  return Finding{
      .text = *std::move(wrong), .faults = std::move(run.outcome.injected), .trace = trace_};
}

bool Comparison::allows(Fault kind) const {
  return FaultSource(faults_, std::nullopt, 0).rate(kind) > 0;
}

std::optional<Finding> Comparison::storm() {
  return play(trial_.placed);
}

std::optional<Finding> Comparison::with(const FaultList& placed) {
  return play(placed);
}

FaultList minimised(FaultList faults, const std::function<bool(const FaultList&)>& fails,
                    int runs) {
  std::size_t pieces = 2;
  while (faults.size() > 1 && runs > 0) {
    const std::size_t piece = (faults.size() + pieces - 1) / pieces;
    bool smaller = false;
    for (std::size_t from = 0; from < faults.size() && runs > 0 && !smaller; from += piece) {
      FaultList rest = faults;
      const auto begin = rest.begin() + static_cast<std::ptrdiff_t>(from);
      rest.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(piece, rest.size() - from)));
      --runs;
      if (fails(rest)) {
        faults = std::move(rest);
        pieces = std::max<std::size_t>(pieces - 1, 2);
        smaller = true;
      }
    }
    if (!smaller) {
      if (piece == 1) {
        break;
      }
      pieces = std::min(pieces * 2, faults.size());
    }
  }
  return faults;
}

// ---- properties

std::optional<std::string> check_determinism(const SceneMaker& make, std::uint64_t seed,
                                             Tally* tally) {
  Scene scene = make();
  scene.record = true;
  World first(std::move(scene), seed);
  count(tally, first.run());
  return check_repeats(make(), seed, first.trace(), tally);
}

std::optional<std::string> check_repeats(Scene scene, std::uint64_t seed,
                                         const std::vector<std::string>& journal, Tally* tally) {
  count(tally, "P1 determinism");
  scene.record = true;
  World again(std::move(scene), seed);
  count(tally, again.run());
  const auto& a = journal;
  const auto& b = again.trace();
  const auto [at, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (at == a.end() && other == b.end()) {
    return std::nullopt;
  }
  return fmt::format("the same seed gave other requests: \"{}\" and \"{}\"",
                     at == a.end() ? "(end)" : *at, other == b.end() ? "(end)" : *other);
}

std::optional<std::string> check_crashes(const SceneMaker& make, std::uint64_t seed,
                                         std::uint64_t stride, const Projection& projection,
                                         Tally* tally) {
  Faults faults = make().faults;
  Comparison comparison({.make = make, .seed = seed, .projection = projection, .tally = tally},
                        {.max_lag = faults.max_lag, .ordered = faults.ordered});
  const auto found = check_singles(
      comparison, {.first = 1, .stride = stride, .kinds = {Fault::EngineCrash}}, tally);
  if (!found) {
    return std::nullopt;
  }
  return to_text(found->faults) + ": " + found->text;
}

std::optional<std::string> check_faults(const SceneMaker& make, std::uint64_t seed,
                                        const Faults& faults, const Projection& projection,
                                        Tally* tally) {
  count(tally, "P4-P6 stale views, missed events, faulty writes");
  Comparison comparison({.make = make, .seed = seed, .projection = projection, .tally = tally},
                        faults);
  const auto found = comparison.storm();
  if (!found) {
    return std::nullopt;
  }
  const auto fails = [&](const FaultList& placed) { return comparison.with(placed).has_value(); };
  return found->text + "\nfewest faults: " + to_text(minimised(found->faults, fails, 60));
}

std::optional<Finding> check_singles(Comparison& comparison, const Placement& placement,
                                     Tally* tally, bool old_caches) {
  if (comparison.calm().failure) {
    return Finding{.text = "without faults: " + *comparison.calm().failure};
  }
  for (const Fault kind : all_faults()) {
    const auto& kinds = placement.kinds;
    if (!kinds.empty() && std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
      continue;
    }
    const std::uint64_t chances = comparison.calm().occasions.at(static_cast<std::size_t>(kind));
    for (std::uint64_t at = placement.first; at <= chances; at += placement.stride) {
      // A fixed scatter of details over the places: how long, what still arrives.
      const std::uint64_t amount = (at * 0x9e3779b97f4a7c15ULL) >> 40;
      count(tally, kind == Fault::EngineCrash ? "P3 crash at any point"
                                              : "P4-P6 every fault at every chance");
      FaultList placed = {{.kind = kind, .occasion = at, .amount = amount}};
      if (auto found = comparison.with(placed)) {
        found->faults = placed;
        return found;
      }
      if (old_caches && (kind == Fault::EngineCrash || kind == Fault::Handover)) {
        placed.push_back({.kind = Fault::OldCache, .occasion = 1, .amount = amount});
        if (auto found = comparison.with(placed)) {
          found->faults = placed;
          return found;
        }
      }
    }
  }
  return std::nullopt;
}

std::optional<Finding> check_pairs(Comparison& comparison, std::uint64_t seed, int pairs,
                                   Tally* tally) {
  if (comparison.calm().failure) {
    return Finding{.text = "without faults: " + *comparison.calm().failure};
  }
  const auto entropy = seeded_entropy(seed ^ 0x9a125ULL);
  std::vector<Fault> kinds;
  for (const Fault kind : all_faults()) {
    if (comparison.allows(kind) &&
        comparison.calm().occasions.at(static_cast<std::size_t>(kind)) > 0) {
      kinds.push_back(kind);
    }
  }
  for (int pair = 0; pair < pairs && !kinds.empty(); ++pair) {
    FaultList placed;
    for (int i = 0; i < 2; ++i) {
      const Fault kind = kinds[entropy->next() % kinds.size()];
      const std::uint64_t chances = comparison.calm().occasions.at(static_cast<std::size_t>(kind));
      placed.push_back({.kind = kind,
                        .occasion = 1 + entropy->next() % chances,
                        .amount = entropy->next() >> 40});
    }
    count(tally, "P4-P6 pairs of faults");
    if (auto found = comparison.with(placed)) {
      found->faults = placed;
      return found;
    }
  }
  return std::nullopt;
}

std::optional<std::string> check_order(const Trial& trial) {
  count(trial.tally, "P7 order");
  const Faults faults = trial.make().faults;
  const Run one = run_once(faultless_scene(trial, faults), trial, trial.seed);
  const Run other = run_once(faultless_scene(trial, faults), trial, trial.seed + 1'000'003);
  for (const Run* run : {&one, &other}) {
    if (run->outcome.failure) {
      return run->outcome.failure;
    }
  }
  const auto wrong = difference(one.end, other.end);
  return wrong ? std::optional<std::string>("another order " + *wrong) : std::nullopt;
}

std::optional<Finding> check_foreign_fields(const Trial& trial, const Faults& faults,
                                            const Undisturbed& calm) {
  count(trial.tally, "P9 foreign fields");
  if (calm.outcome.failure) {
    return Finding{.text = "without faults: " + *calm.outcome.failure};
  }
  Scene marked = trial.make();
  marked.faults = faults;
  marked.placed = trial.placed;
  marked.foreign_fields = true;
  const Run run = run_once(std::move(marked), trial, trial.seed);
  auto wrong = run.outcome.failure;
  if (!wrong) {
    wrong = difference(calm.end, run.end);
  }
  if (!wrong) {
    return std::nullopt;
  }
  return Finding{.text = "with foreign labels and annotations: " + *wrong,
                 .faults = run.outcome.injected,
                 .trace = run.trace};
}

}  // namespace athanor::sim
