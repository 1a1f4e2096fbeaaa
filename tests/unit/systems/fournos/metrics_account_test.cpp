// SPDX-License-Identifier: Apache-2.0
// Fournos' metrics against an account of random lives of jobs: time in phases, ends, evictions,
// waits and failures in a row are counted anew from what happened (docs/spec/fournos.md section
// 16).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lab.hpp"
#include "systems/fournos/instruments.hpp"

namespace athanor::fournos::metrics_account_test {
namespace {

constexpr unsigned kWorlds = 60;
constexpr int kJobs = 20;

const std::vector<std::string> kPath{"Scheduled", "Pending", "Admitted", "Running"};
const std::vector<std::string> kEnds{"Succeeded", "Failed", "Stopped"};

// What happened to a job, and when, in seconds of the world; the phase "gone" is its deletion.
struct Life {
  std::string name{};
  std::string asked{};    // spec.cluster
  std::string cluster{};  // status.cluster, once it runs
  bool lock = false;
  std::size_t seen_from = 0;  // the controllers start there
  std::vector<std::pair<int, std::string>> phases{};
  [[nodiscard]] bool ended() const {
    return std::ranges::find(kEnds, phases.back().second) != kEnds.end();
  }
};

using Series = std::map<std::tuple<std::string, std::string, std::string>, double>;

class MetricsAccount : public ::testing::Test {
 protected:
  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }
  bool one_in(int chances) { return below(chances) == 0; }
  [[nodiscard]] Instant at(int second) const { return start_ + std::chrono::seconds(second); }

  Life some_life(int number) {
    Life life{.name = "j" + std::to_string(number),
              .asked = one_in(3) ? "" : "c" + std::to_string(below(3)),
              .cluster = "c" + std::to_string(below(3)),
              .lock = one_in(6)};
    int now = below(1000);
    for (const std::string& phase : kPath) {
      if (phase == "Scheduled" && !one_in(3)) {
        continue;
      }
      life.phases.emplace_back(now, phase);
      now += below(500);
      if (one_in(8)) {
        break;  // it stays, or ends from here
      }
    }
    if (!one_in(3)) {
      life.phases.emplace_back(now, kEnds.at(static_cast<std::size_t>(below(3))));
      now += 1 + below(500);
    }
    if (one_in(5)) {
      life.phases.emplace_back(now, "gone");
    }
    if (one_in(5)) {
      life.seen_from = static_cast<std::size_t>(below(static_cast<int>(life.phases.size())));
      life.seen_from -= life.phases[life.seen_from].second == "gone" ? 1 : 0;
    }
    return life;
  }

  // The job as it is after the first `count` of its phases.
  [[nodiscard]] Object job_of(const Life& life, std::size_t count) const {
    const auto& [second, phase] = life.phases[count - 1];
    Value status = Value::object({{"phase", phase}});
    if (phase != "Scheduled" && phase != "Pending") {
      status.set("cluster", life.cluster);
    }
    if (std::ranges::find(kEnds, phase) != kEnds.end()) {
      status.set("completionTime", format_time(at(second)));
    }
    Value spec = Value::object({{"lockOnly", life.lock}});
    if (!life.asked.empty()) {
      spec.set("cluster", life.asked);
    }
    return Object(Value::object(
        {{"apiVersion", "fournos.dev/v1"},
         {"kind", "FournosJob"},
         {"metadata",
          Value::object({{"name", life.name},
                         {"namespace", kNs},
                         {"uid", "u-" + life.name},
                         {"creationTimestamp", format_time(at(life.phases[0].first))}})},
         {"spec", std::move(spec)},
         {"status", std::move(status)}}));
  }

  void make(unsigned seed) {
    random_.seed(seed);
    lives_.clear();
    for (int i = 0; i < kJobs; ++i) {
      lives_.push_back(some_life(i));
    }
  }

  // Shows the instruments each change in its order; `counted_` keeps what they say.
  void play() {
    counted_.clear();
    stays_.clear();
    std::vector<std::tuple<int, std::size_t, std::size_t>> changes;  // when, whose, which
    for (std::size_t i = 0; i < lives_.size(); ++i) {
      for (std::size_t step = lives_[i].seen_from; step < lives_[i].phases.size(); ++step) {
        changes.emplace_back(lives_[i].phases[step].first, i, step);
      }
    }
    std::ranges::sort(changes);
    for (const auto& [second, who, step] : changes) {
      const Life& life = lives_[who];
      std::optional<Object> before;
      std::optional<Object> after;
      if (step > life.seen_from) {
        before = job_of(life, step);
      }
      if (life.phases[step].second != "gone") {
        after = job_of(life, step + 1);
      }
      if (!before && step == 0) {  // as it is created, without a phase
        Value fresh = after->body();
        fresh.erase("status");
        const Object born(std::move(fresh));
        show({.kind = api::kFournosJob, .after = &born}, second);
        show({.kind = api::kFournosJob, .before = &born, .after = &*after}, second);
        continue;
      }
      show({.kind = api::kFournosJob,
            .before = before ? &*before : nullptr,
            .after = after ? &*after : nullptr},
           second);
    }
  }

  void show(const ObjectChanged& change, int second) {
    Samples samples;
    fournos_instruments().tally(change, samples);
    for (const Sample& sample : samples) {
      take(sample, second);
    }
  }
  static std::string label(const Sample& sample, std::string_view name) {
    for (const auto& [key, value] : sample.labels) {
      if (key == name) {
        return value;
      }
    }
    return {};
  }
  // The rules of runtime/view/instruments.hpp.
  void take(const Sample& sample, int second) {
    const std::string metric(sample.metric);
    if (sample.act == Sample::Act::Put) {
      counted_[{metric, label(sample, "result") + label(sample, "reason"),
                label(sample, "cluster")}] += sample.value;
      return;
    }
    const auto stay = stays_.find(sample.key);
    if (stay != stays_.end() && sample.act != Sample::Act::Begin) {
      const auto& [phase, since] = stay->second;
      if (since) {
        counted_[{metric + "_sum", phase, ""}] += second - *since;
        counted_[{metric + "_count", phase, ""}] += 1;
      }
      stays_.erase(stay);
    }
    if (sample.act == Sample::Act::Enter) {
      stays_[sample.key] = {label(sample, "phase"), second};
    } else if (sample.act == Sample::Act::Begin) {
      stays_[sample.key] = {label(sample, "phase"), std::nullopt};
    }
  }

  // What the lives say.
  [[nodiscard]] Series expected() const {
    Series all;
    for (const Life& life : lives_) {
      for (std::size_t i = life.seen_from; i < life.phases.size(); ++i) {
        const auto& [second, phase] = life.phases[i];
        const bool first_seen = i == life.seen_from && i > 0;
        if (std::ranges::find(kEnds, phase) != kEnds.end()) {
          if (!first_seen) {
            all[{"fournos_jobs_finished_total", phase,
                 job_of(life, i + 1).status()["cluster"].str()}] += 1;
          }
        } else if (phase != "gone" && !first_seen && i + 1 < life.phases.size()) {
          all[{"fournos_job_phase_seconds_sum", phase, ""}] += life.phases[i + 1].first - second;
          all[{"fournos_job_phase_seconds_count", phase, ""}] += 1;
        }
      }
    }
    return all;
  }

  // The gauges, of a world with these jobs as they are at last.
  Series gauges() {
    test::FakeWorld world;
    world.configure("fournos", api::encode(*parse_settings({{"FOURNOS_NAMESPACE", kNs}})));
    for (const Life& life : lives_) {
      if (life.phases.back().second != "gone") {
        world.put(job_of(life, life.phases.size()).body());
      }
    }
    Reads reads;
    Samples samples;
    fournos_instruments().state(View(world, reads), samples);
    Series all;
    for (const Sample& sample : samples) {
      all[{std::string(sample.metric), label(sample, "phase"), label(sample, "cluster")}] =
          sample.value;
    }
    return all;
  }

  [[nodiscard]] Series expected_gauges() const {
    Series all;
    std::map<std::string, std::vector<std::pair<int, bool>>> ends;  // by cluster: when, failed
    for (const Life& life : lives_) {
      const auto& [second, phase] = life.phases.back();
      if (phase == "gone") {
        continue;
      }
      all[{"fournos_jobs", phase, ""}] += 1;
      if (phase == "Pending" && !life.lock) {
        const auto since = static_cast<double>(std::chrono::duration_cast<std::chrono::seconds>(
                                                   at(life.phases[0].first).time_since_epoch())
                                                   .count());
        double& first =
            all.try_emplace({"fournos_jobs_waiting_since_timestamp_seconds", "", life.asked}, since)
                .first->second;
        first = std::min(first, since);
      }
      if ((phase == "Failed" || phase == "Succeeded") && !life.lock) {
        ends[life.cluster].emplace_back(second, phase == "Failed");
      }
    }
    for (const auto& [cluster, list] : ends) {
      int last_success = -1;
      for (const auto& [second, failed] : list) {
        last_success = failed ? last_success : std::max(last_success, second);
      }
      all[{"fournos_failures_in_a_row", "", cluster}] = static_cast<double>(std::ranges::count_if(
          list, [&](const auto& end) { return end.second && end.first >= last_success; }));
    }
    return all;
  }

  std::mt19937 random_{};
  Instant start_ = *parse_time("2026-01-05T00:00:00Z");
  std::vector<Life> lives_{};
  Series counted_{};
  std::map<std::string, std::pair<std::string, std::optional<int>>> stays_{};
};

TEST_F(MetricsAccount, EqualsCountsOverLivesOfJobs) {
  for (unsigned seed = 0; seed < kWorlds; ++seed) {
    SCOPED_TRACE(seed);
    make(seed);
    play();
    EXPECT_EQ(counted_, expected());
    EXPECT_EQ(gauges(), expected_gauges());
  }
}

// Each eviction of a job's Workload counts once, whatever else its status says.
TEST_F(MetricsAccount, CountsEachEvictionOnce) {
  std::map<std::string, double> wanted;
  const auto workload = [](const std::string& owner, const std::string& reason, int minute) {
    Value conditions = Value::list();
    if (!reason.empty()) {
      conditions.push_back(Value::object(
          {{"type", "Evicted"},
           {"status", "True"},
           {"reason", reason},
           {"lastTransitionTime", "2026-01-05T00:" + std::to_string(10 + minute) + ":00Z"}}));
    }
    return Object(Value::object(
        {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
         {"kind", "Workload"},
         {"metadata", Value::object({{"name", "w"},
                                     {"namespace", kNs},
                                     {"uid", "u"},
                                     {"ownerReferences",
                                      Value::list({Value::object({{"apiVersion", "fournos.dev/v1"},
                                                                  {"kind", owner},
                                                                  {"name", "j"},
                                                                  {"uid", "u-j"},
                                                                  {"controller", true}})})}})},
         {"status", Value::object({{"conditions", std::move(conditions)}})}}));
  };
  for (unsigned seed = 0; seed < kWorlds; ++seed) {
    random_.seed(seed);
    const std::string owner = one_in(4) ? "Job" : "FournosJob";
    Object before = workload(owner, "", 0);
    std::string last;
    int last_minute = -1;
    for (int step = 1; step < 12; ++step) {
      const std::vector<std::string> reasons{"", "", "Preempted", "PodsReadyTimeout"};
      const std::string reason = reasons.at(static_cast<std::size_t>(below(4)));
      const int minute = one_in(2) ? std::max(last_minute, 0) : step;
      const Object after = workload(owner, reason, minute);
      if (owner == "FournosJob" && !reason.empty() && (last.empty() || minute != last_minute)) {
        wanted[reason] += 1;
      }
      last = reason;
      last_minute = reason.empty() ? last_minute : minute;
      show({.kind = api::kueue::kWorkload, .before = &before, .after = &after}, step);
      before = after;
    }
  }
  std::map<std::string, double> counted;
  for (const auto& [key, value] : counted_) {
    counted[std::get<1>(key)] = value;
  }
  EXPECT_EQ(counted, wanted);
  EXPECT_EQ(counted.size(), 2U);
}

}  // namespace
}  // namespace athanor::fournos::metrics_account_test
