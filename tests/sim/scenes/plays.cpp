// SPDX-License-Identifier: Apache-2.0
// The catalogue, and what one seed checks.
#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/tekton.hpp"
#include "kube/text/json.hpp"
#include "sim/scenes/lab_scene.hpp"
#include "sim/scenes/scenes.hpp"
#include "sim/scenes/slice_agents.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"

namespace athanor::sim {

namespace {

Value merge(const char* text) {
  return json::parse(text).value();
}

Play small_play() {
  return {.name = "small",
          .make = [] { return small_scene(); },
          .projection = small_ending,
          .storm = stormy(),
          .roots = {&api::kReplicaSet},
          .edits = {{.kind = &api::kReplicaSet,
                     .key = {"default", "a"},
                     .there = merge(R"({"spec":{"replicas":5}})"),
                     .back = merge(R"({"spec":{"replicas":1}})")}},
          .crowded = small_scene,
          .takeover = std::chrono::seconds(60)};
}

Play fournos_play() {
  // One store and one engine: the queueing engine counts quota from its own caches, which nothing
  // but lag sets back.
  Faults storm = stormy();
  storm.old_replica = false;
  storm.handover = 0;
  return {.name = "fournos",
          .make = fournos_scene,
          .projection = fournos_endings,
          .storm = storm,
          .roots = {&api::kFournosJob},
          .stride = 2};
}

// Two replicas that hand over, caches that start from the past, and the same rules: the queueing
// engine sees all that a former leader promised before it promises anything (Operator::sees_all).
Play replicas_play() {
  return {.name = "fournos-replicas",
          .make = fournos_scene,
          .projection = fournos_endings,
          .storm = stormy(),
          .roots = {&api::kFournosJob},
          .stride = 2};
}

Play tekton_play() {
  return {.name = "tekton",
          .make = tekton_scene,
          .projection = tekton_ending,
          .storm = stormy(),
          .roots = {&api::kPipelineRun},
          .takeover = std::chrono::seconds(12),
          .stride = 1};
}

// As fournos_play(), and two replicas that hand over.
Play hearth_play() {
  Faults storm = stormy();
  storm.old_replica = false;
  return {.name = "hearth",
          .make = hearth_scene,
          .projection = hearth_ending,
          .storm = storm,
          .edits = {{.kind = &api::kFournosCluster,
                     .key = {"hearth", "c4"},
                     .there = merge(R"({"spec":{"cordoned":true}})"),
                     .back = merge(R"({"spec":{"cordoned":false}})")}},
          .stride = 8};
}

// And caches that start from the past.
Play hearth_replicas_play() {
  Play play = hearth_play();
  play.name = "hearth-replicas";
  play.storm = stormy();
  return play;
}

Play main_job_play() {
  return {.name = "main-job",
          .make = three_jobs,
          .projection = jobs_as_seen,
          .storm = laptop_storm(),
          .roots = {&api::kFournosJob},
          .stride = 13};
}

Play workloads_play() {
  return {.name = "workloads",
          .make = workloads_scene,
          .projection = workloads_as_seen,
          .storm = laptop_storm(),
          .edits = {{.kind = &api::kDeployment,
                     .key = {kLabNamespace, "dep"},
                     .there = merge(R"({"spec":{"replicas":2}})"),
                     .back = merge(R"({"spec":{"replicas":4}})")}},
          .stride = 13};
}

Play schedules_play() {
  return {.name = "schedules",
          .make = schedules_scene,
          .projection = schedules_as_seen,
          .storm = stormy()};
}

// Nothing dies but the engine: schedulers and agents that hand over, caches from the past.
Play slices_play() {
  return {.name = "slices",
          .make = slices_scene,
          .projection = slices_as_seen,
          .storm = stormy(),
          .stride = 13};
}

Play slices_deaths_play() {
  Play play = slices_play();
  play.name = "slices-deaths";
  play.storm = laptop_storm();
  play.storm.pod_death = 0.05;
  play.storm.node_death = 0.01;
  return play;
}

// Agents die at one of their steps in fifty, and all controllers with them.
Play slice_agents_play() {
  Play play = slices_play();
  play.name = "slices-agents";
  play.make = [] { return slice_agents_scene(Mistake::None); };
  play.storm.agent_crash = 0.02;
  // This fault delivers later events of other claims before the first event of a claim. No API
  // server does that, and the engine relies on it (docs/engine.md, rule 2): a write counts as seen
  // once any later version of its kind has come. In slices_play() the engine itself writes the last
  // version of a claim, and waits for that; here the agents write it.
  play.storm.coalesce = 0;
  play.stride = 397;  // four times the chances of slices_play(), in runs of five times its length
  return play;
}

// And nodes: their slices end with them.
Play slice_agents_deaths_play() {
  Play play = slice_agents_play();
  play.name = "slices-agents-deaths";
  play.storm.pod_death = 0.05;
  play.storm.node_death = 0.01;
  return play;
}

// Agents die, and nothing else happens: at each of their steps, one after the other.
Play slice_exchange_play() {
  return {.name = "slices-exchange",
          .make = slice_exchange_scene,
          .projection = slices_as_seen,
          .storm = {.agent_crash = 0.02},
          .stride = 1};
}

Play zones_play() {
  return {.name = "zones",
          .make = zones_scene,
          .projection = zones_as_seen,
          .storm = laptop_storm(),
          .stride = 13};
}

Play zones_late_play() {
  Play play = zones_play();
  play.name = "zones-late";
  play.make = zones_late_scene;
  play.projection = zones_late_as_seen;
  return play;
}

// Pods and nodes die, too: what has to be there is there in the end.
Play deaths_play() {
  Faults storm = laptop_storm();
  storm.pod_death = 0.05;
  storm.node_death = 0.01;
  return {.name = "deaths",
          .make = workloads_scene,
          .projection = workloads_as_seen,
          .storm = storm,
          .stride = 13};
}

// Two replicas that hand over, as replicas_play(), in another tree of cohorts for each seed.
Play queueing_play() {
  return {.name = "queueing",
          .make = [] { return queueing_scene(1); },
          .make_of = queueing_scene,
          .projection = queueing_ending,
          .storm = stormy(),
          .roots = {&api::kueue::kWorkload},
          .stride = 13};
}

// Two engines, and little but hand-overs: a leader that goes on until its Lease runs out, writes of
// its own that arrive late, and a successor whose caches lag or start from the past.
Play queueing_handover_play() {
  return {.name = "queueing-handover",
          .make = [] { return queueing_scene(1); },
          .make_of = queueing_scene,
          .projection = queueing_ending,
          .storm = queueing_handovers(),
          .stride = 13};
}

Play appwrapper_play() {
  return {.name = "appwrapper",
          .make = appwrapper_scene,
          .projection = appwrappers_as_seen,
          .storm = laptop_storm(),
          .stride = 13};
}

// A recorded life with a reset, with a fault at every chance in turn.
Play appwrapper_reset_play() {
  return {.name = "appwrapper-reset",
          .make = appwrapper_reset_scene,
          .projection = appwrappers_as_seen,
          .storm = laptop_storm(),
          .roots = {&appwrapper::kAppWrapper},
          .stride = 1};
}

std::optional<Finding> found(std::optional<std::string> text) {
  return text ? std::optional(Finding{.text = *std::move(text)}) : std::nullopt;
}

// The ends without faults that seeds are compared with. A scene ends alike for all seeds (P7 checks
// that), so kSeedsOfOne seeds in a row share the run of the first: which one depends on the seed
// alone. Thread-safe.
class CalmRuns {
 public:
  static constexpr std::uint64_t kSeedsOfOne = 1024;

  UndisturbedPtr get(const Play& play, std::uint64_t seed, Tally* tally) {
    const std::uint64_t first = seed - seed % kSeedsOfOne;
    const std::shared_ptr<Run> run = slot(play.name, first);
    const std::lock_guard lock(run->mutex);
    if (run->calm == nullptr) {
      run->calm = undisturbed(
          {.make = play.make, .seed = first, .projection = play.projection, .tally = tally},
          play.storm);
    }
    return run->calm;
  }

 private:
  struct Run {
    std::mutex mutex{};
    UndisturbedPtr calm{};
  };

  std::shared_ptr<Run> slot(const std::string& name, std::uint64_t first) {
    constexpr std::size_t kMost = 4;  // of one play: seeds come in order, threads lag a little
    const std::lock_guard lock(mutex_);
    auto& runs = runs_[name];
    std::shared_ptr<Run>& run = runs[first];
    if (run == nullptr) {
      run = std::make_shared<Run>();
    }
    const std::shared_ptr<Run> found = run;
    while (runs.size() > kMost) {
      runs.erase(runs.begin()->first == first ? std::prev(runs.end()) : runs.begin());
    }
    return found;
  }

  std::mutex mutex_{};
  std::map<std::string, std::map<std::uint64_t, std::shared_ptr<Run>>> runs_{};
};

UndisturbedPtr calm_of(const Play& play, const Trial& trial) {
  static CalmRuns runs;
  return play.make_of ? undisturbed(trial, play.storm) : runs.get(play, trial.seed, trial.tally);
}

}  // namespace

const std::vector<Play>& plays() {
  static const std::vector<Play> kPlays = {small_play(),
                                           fournos_play(),
                                           replicas_play(),
                                           tekton_play(),
                                           main_job_play(),
                                           workloads_play(),
                                           schedules_play(),
                                           deaths_play(),
                                           hearth_play(),
                                           hearth_replicas_play(),
                                           slices_play(),
                                           slices_deaths_play(),
                                           slice_agents_play(),
                                           slice_agents_deaths_play(),
                                           slice_exchange_play(),
                                           zones_play(),
                                           zones_late_play(),
                                           queueing_play(),
                                           appwrapper_play(),
                                           appwrapper_reset_play(),
                                           queueing_handover_play()};
  return kPlays;
}

const Play* play_named(std::string_view name) {
  const auto at = std::find_if(plays().begin(), plays().end(),
                               [&](const Play& play) { return play.name == name; });
  return at == plays().end() ? nullptr : &*at;
}

std::optional<Finding> check_seed(const Play& play, std::uint64_t seed, Tally* tally,
                                  const std::optional<FaultList>& placed, bool record) {
  const SceneMaker make =
      play.make_of ? SceneMaker([&play, seed] { return play.make_of(seed); }) : play.make;
  Trial trial{.make = make,
              .seed = seed,
              .projection = play.projection,
              .tally = tally,
              .placed = placed,
              .record = record};
  const UndisturbedPtr calm = calm_of(play, trial);
  const std::uint64_t turn = seed / plays().size() % 8;
  if (tally != nullptr) {
    ++tally->properties["P4-P6 storms of faults"];
  }
  trial.record = record || turn == 0;
  Comparison comparison(trial, play.storm, calm);
  if (auto finding = comparison.storm()) {
    return finding;
  }
  if (tally != nullptr) {
    ++tally->properties["P2 quiescence"];
  }
  trial.record = record;
  const auto stormy_scene = [&] {
    Scene scene = make();
    scene.faults = play.storm;
    return scene;
  };
  switch (turn) {
    case 0:
      return found(placed ? check_determinism(stormy_scene, seed, tally)
                          : check_repeats(stormy_scene(), seed, comparison.trace(), tally));
    case 1:
      return found(check_order(trial));
    case 2:
      return play.edits.empty() ? std::nullopt : found(check_reversal(trial, play.edits));
    case 3:
      return check_foreign_fields(trial, play.storm, *calm);
    case 4:
      return play.crowded ? found(check_bounds(play.crowded, seed, {}, tally)) : std::nullopt;
    case 5:
      return play.roots.empty() ? std::nullopt : check_deletion(trial, play.roots, play.storm);
    case 6: {
      if (!play.takeover) {
        return std::nullopt;
      }
      const auto moment = play.takeover->count() / 100 * static_cast<std::int64_t>(seed % 100);
      return found(check_upgrade(trial, Duration(moment)));
    }
    default: {
      if (placed) {
        return std::nullopt;  // the pair was played as a storm of these two
      }
      // Of this seed: the pairs are placed at the chances of that run.
      Comparison pairs(trial, play.storm);
      return check_pairs(pairs, seed, 2, tally);
    }
  }
}

}  // namespace athanor::sim
