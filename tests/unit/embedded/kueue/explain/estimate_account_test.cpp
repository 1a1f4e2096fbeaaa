// SPDX-License-Identifier: Apache-2.0
// The figures of `queue --explain` against accounts of their own: places, quotas and holders by
// counting, the estimated start by a plain simulation of one queue (docs/spec/kueue.md 17).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "embedded/kueue/cycle/scheduler.hpp"
#include "embedded/kueue/explain/explain.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "unit/embedded/kueue/fixture.hpp"

namespace athanor::kueue::test::estimate_account_test {
namespace {

constexpr unsigned kWorlds = 50;
constexpr std::size_t kMostNamed = 5;  // holders, and workloads ahead

// One Workload, or the run of one that has ended. Times are seconds before now.
struct Made {
  std::string name{};
  std::string local{};
  int need = 0;
  int priority = 0;
  int created = 0;
  std::optional<int> admitted{};  // it runs since then
  std::optional<int> allowed{};   // maximumExecutionTimeSeconds
  bool of_job = false;            // of a FournosJob
  bool lock = false;              // which is a lock
  std::optional<int> until{};     // and ends in so many seconds
};

enum class Pace : std::uint8_t { Half, NineOfTen };

// The queue played forward by hand: the first in order that fits, until a run ends.
class PlainQueue {
 public:
  PlainQueue(int quota, bool strict, const std::map<std::string, std::vector<int>>& lengths)
      : quota_(quota), strict_(strict), lengths_(lengths) {}

  // Seconds from now; nullopt: not within what is known.
  [[nodiscard]] std::optional<int> start_of(const std::string& wanted, const std::vector<Made>& all,
                                            Pace pace) const {
    struct Running {
      int need = 0;
      std::optional<int> end{};
    };
    std::vector<Running> running;
    std::vector<const Made*> waiting;
    for (const Made& one : all) {
      if (one.admitted) {
        running.push_back({one.need, rest_of(one, *one.admitted, 0, pace)});
      } else {
        waiting.push_back(&one);
      }
    }
    std::ranges::sort(waiting, [](const Made* a, const Made* b) { return goes_before(*a, *b); });
    for (int now = 0;;) {
      int free = quota_;
      for (const Running& one : running) {
        free -= one.need;
      }
      for (auto at = waiting.begin(); at != waiting.end();) {
        if ((*at)->need <= free) {
          if ((*at)->name == wanted) {
            return now;
          }
          free -= (*at)->need;
          running.push_back({(*at)->need, end_of(**at, now, pace)});
          at = waiting.erase(at);
        } else if (strict_) {
          break;
        } else {
          ++at;
        }
      }
      std::optional<int> next;
      for (const Running& one : running) {
        next = one.end && (!next || *one.end < *next) ? one.end : next;
      }
      if (!next) {
        return std::nullopt;
      }
      now = std::max(now, *next);
      std::erase_if(running, [&](const Running& one) { return one.end == next; });
    }
  }

  static bool goes_before(const Made& a, const Made& b) {
    return a.priority != b.priority ? a.priority > b.priority
           : a.created != b.created ? a.created > b.created
                                    : a.name < b.name;
  }

 private:
  [[nodiscard]] std::optional<int> end_of(const Made& one, int now, Pace pace) const {
    const auto rest = rest_of(one, 0, now, pace);
    return rest ? std::optional(now + *rest) : std::nullopt;
  }
  // How much longer a run takes that has taken `elapsed`, by those before it that took longer.
  [[nodiscard]] std::optional<int> rest_of(const Made& one, int elapsed, int now, Pace pace) const {
    if (one.lock) {
      return one.until ? std::optional(std::max(0, *one.until - now)) : std::nullopt;
    }
    std::optional<int> allowed;
    if (one.allowed) {
      allowed = std::max(0, *one.allowed - elapsed);
      if (pace == Pace::NineOfTen) {
        return allowed;
      }
    }
    const auto known = lengths_.find(one.local);
    if (known == lengths_.end()) {
      return allowed;
    }
    std::multiset<int> longer;
    for (const int length : known->second) {
      if (length > elapsed) {
        longer.insert(length);
      }
    }
    if (longer.empty()) {
      return pace == Pace::Half ? std::optional(0) : std::nullopt;
    }
    const auto count = static_cast<int>(longer.size());
    const int shorter = pace == Pace::Half ? count / 2 : count * 9 / 10;
    const int expected = *std::next(longer.begin(), std::min(shorter, count - 1)) - elapsed;
    return allowed ? std::min(*allowed, expected) : expected;
  }

  int quota_;
  bool strict_;
  const std::map<std::string, std::vector<int>>& lengths_;
};

class EstimateAccount : public ::testing::Test {
 protected:
  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }
  bool one_in(int chances) { return below(chances) == 0; }
  [[nodiscard]] std::string ago(int seconds) const {
    return format_time(world_->now - std::chrono::seconds(seconds));
  }

  void make(unsigned seed) {
    random_.seed(seed);
    world_ = std::make_unique<FakeWorld>();
    made_.clear();
    lengths_.clear();
    quota_ = 4 + below(6);
    strict_ = one_in(3);
    world_->configure("kueue", from_yaml("{waitForPodsReady: false}"));
    world_->put(bench_namespace());
    world_->put(flavor("f"));
    world_->put(
        small_queue("q", std::to_string(quota_), strict_ ? ", queueingStrategy: StrictFIFO" : ""));
    world_->put(local_queue("a", "q"));
    world_->put(local_queue("b", "q"));
    world_->settle({&scheduler_operator(), &workload_operator(), &cluster_queue_operator(),
                    &local_queue_operator(), &cohort_operator()});
    int free = quota_;
    for (int i = 3 + below(9); i > 0; --i) {
      add(i, free);
    }
    add_history();
  }

  void add(int number, int& free) {
    Made one{.name = "w" + std::to_string(number),
             .local = one_in(2) ? "a" : "b",
             .need = 1 + below(one_in(4) ? 9 : 3),
             .priority = below(3),
             .created = 1000 + below(20)};
    if (one_in(3)) {
      one.allowed = 1 + below(300);
    }
    if (one.need <= free && !one_in(4)) {
      free -= one.need;
      one.admitted = below(120);
    }
    one.of_job = one_in(3);
    one.lock = one.of_job && one_in(3);
    if (one.lock && !one_in(3)) {
      one.until = below(400);
    }
    put(one);
    made_.push_back(one);
  }

  void put(const Made& one) {
    Value object = workload(
        one.name, one.local, "gpu: " + std::to_string(one.need),
        ", priority: " + std::to_string(one.priority) +
            (one.allowed ? ", maximumExecutionTimeSeconds: " + std::to_string(*one.allowed) : ""));
    object.set_path({"metadata", "uid"}, one.name);
    object.set_path({"metadata", "creationTimestamp"}, ago(one.created));
    if (one.of_job) {
      object.set_path({"metadata", "ownerReferences"},
                      from_yaml("[{apiVersion: fournos.dev/v1, kind: FournosJob, name: " +
                                one.name + ", uid: job-" + one.name + ", controller: true}]"));
      Value spec = Value::object({{"lockOnly", one.lock}});
      if (one.until) {
        spec.set("lockUntil", ago(-*one.until));
      }
      put_job(one.name, std::move(spec), Value::object({{"phase", "Pending"}}));
    }
    if (one.admitted) {
      object.set("status", from_yaml("{conditions: [{type: QuotaReserved, status: \"True\", "
                                     "lastTransitionTime: \"" +
                                     ago(*one.admitted) +
                                     "\"}, {type: Admitted, status: \"True\", "
                                     "lastTransitionTime: \"" +
                                     ago(*one.admitted) +
                                     "\"}], admission: {clusterQueue: q, podSetAssignments: "
                                     "[{name: launcher, count: 1, flavors: {gpu: f}, "
                                     "resourceUsage: {gpu: " +
                                     std::to_string(one.need) + "}}]}}"));
    }
    world_->put(object);
  }

  void put_job(const std::string& name, Value spec, Value status) {
    world_->put(
        Value::object({{"apiVersion", "fournos.dev/v1"},
                       {"kind", "FournosJob"},
                       {"metadata", Value::object({{"name", name}, {"namespace", "bench"}})},
                       {"spec", std::move(spec)},
                       {"status", std::move(status)}}));
  }

  // Runs that have ended: of Workloads in their queue, of jobs in each queue that has some.
  void add_history() {
    for (int i = below(12); i > 0; --i) {
      const int length = below(200);
      const int ended = 2000 + below(50);
      const std::string name = "over" + std::to_string(i);
      if (one_in(3)) {
        put_job(name, Value::object(),
                from_yaml("{phase: " + std::string(one_in(2) ? "Succeeded" : "Failed") +
                          ", completionTime: \"" + ago(ended) +
                          "\", conditions: [{type: WorkloadAdmitted, status: \"True\", "
                          "lastTransitionTime: \"" +
                          ago(ended + length) + "\"}]}"));
        std::set<std::string> queues;
        for (const Made& one : made_) {
          if (one.of_job) {
            queues.insert(one.local);
          }
        }
        for (const std::string& queue : queues) {
          lengths_[queue].push_back(length);
        }
        continue;
      }
      const std::string queue = one_in(2) ? "a" : "b";
      Value object = workload(name, queue, "gpu: 1");
      object.set("status",
                 from_yaml("{conditions: [{type: Admitted, status: \"True\", lastTransitionTime: "
                           "\"" +
                           ago(ended + length) +
                           "\"}, {type: Finished, status: \"True\", lastTransitionTime: \"" +
                           ago(ended) + "\"}]}"));
      world_->put(object);
      lengths_[queue].push_back(length);
    }
  }

  Explanation why(const Made& one) {
    Reads reads;
    return explain(View(*world_, reads), world_->must(api::kueue::kWorkload, {"bench", one.name}),
                   world_->now);
  }

  [[nodiscard]] std::optional<int> seconds(const std::optional<Instant>& when) const {
    return when
               ? std::optional(static_cast<int>(
                     std::chrono::duration_cast<std::chrono::seconds>(*when - world_->now).count()))
               : std::nullopt;
  }

  void check_start(const Made& one, const Explanation& said) {
    const PlainQueue plain(quota_, strict_, lengths_);
    auto first = plain.start_of(one.name, made_, Pace::Half);
    auto last = plain.start_of(one.name, made_, Pace::NineOfTen);
    if (first && last && *last < *first) {
      std::swap(first, last);  // another order of ends
    }
    ASSERT_TRUE(said.estimate.has_value());
    EXPECT_EQ(seconds(said.estimate->earliest), first);
    EXPECT_EQ(seconds(said.estimate->latest), last);
    std::size_t runs = 0;
    for (const auto& [queue, lengths] : lengths_) {
      runs += lengths.size();
    }
    EXPECT_EQ(said.estimate->runs, runs);
    known_ += first && *first > 0 ? 1 : 0;
  }

  void check_place(const Made& one, const Explanation& said) {
    std::vector<const Made*> before;
    for (const Made& other : made_) {
      if (!other.admitted && PlainQueue::goes_before(other, one)) {
        before.push_back(&other);
      }
    }
    std::ranges::sort(before,
                      [](const Made* a, const Made* b) { return PlainQueue::goes_before(*a, *b); });
    ASSERT_TRUE(said.position.has_value());
    EXPECT_EQ(*said.position, static_cast<std::int64_t>(before.size()));
    const std::size_t named = std::min(before.size(), kMostNamed);
    ASSERT_EQ(said.ahead.size(), named);
    for (std::size_t i = 0; i < named; ++i) {
      const std::size_t place = before.size() - named + i;
      EXPECT_EQ(said.ahead[i].workload.name, before[place]->name);
      EXPECT_EQ(said.ahead[i].position, static_cast<std::int64_t>(place));
      EXPECT_EQ(said.ahead[i].priority, before[place]->priority);
    }
  }

  void check_quota(const Made& one, const Explanation& said) {
    std::vector<const Made*> holders;
    int used = 0;
    for (const Made& other : made_) {
      if (other.admitted) {
        used += other.need;
        holders.push_back(&other);
      }
    }
    ASSERT_EQ(said.quotas.size(), one.need > quota_ - used ? 1U : 0U);
    if (said.quotas.empty()) {
      return;
    }
    const QuotaReport& report = said.quotas[0];
    EXPECT_EQ(report.wanted, std::to_string(one.need));
    EXPECT_EQ(report.used, std::to_string(used));
    EXPECT_EQ(report.nominal, std::to_string(quota_));
    EXPECT_EQ(report.available, std::to_string(quota_ - used));
    EXPECT_EQ(report.capacity, std::to_string(quota_));
    EXPECT_EQ(report.borrowable, "0");
    std::ranges::sort(holders, [](const Made* a, const Made* b) {
      return a->need != b->need ? a->need > b->need : a->name < b->name;
    });
    ASSERT_EQ(report.holders.size(), std::min(holders.size(), kMostNamed));
    for (std::size_t i = 0; i < report.holders.size(); ++i) {
      const QuotaReport::Holder& holder = report.holders[i];
      EXPECT_EQ(holder.workload.name, holders[i]->name);
      EXPECT_EQ(holder.holds, std::to_string(holders[i]->need));
      EXPECT_EQ(holder.priority, holders[i]->priority);
      ASSERT_TRUE(holder.since.has_value());
      EXPECT_EQ(*seconds(holder.since), -*holders[i]->admitted);
    }
  }

  std::mt19937 random_{};
  std::unique_ptr<FakeWorld> world_{};
  std::vector<Made> made_{};
  std::map<std::string, std::vector<int>> lengths_{};  // by LocalQueue
  int quota_ = 0;
  bool strict_ = false;
  int known_ = 0;
};

TEST_F(EstimateAccount, EqualsPlainPlayAndCounts) {
  for (unsigned seed = 0; seed < kWorlds && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    make(seed);
    for (const Made& one : made_) {
      if (one.admitted) {
        continue;
      }
      SCOPED_TRACE(one.name);
      const Explanation said = why(one);
      EXPECT_EQ(said.state, "waits");
      check_start(one, said);
      check_place(one, said);
      check_quota(one, said);
    }
  }
  EXPECT_GT(known_, 40) << "estimates of workloads that do not start at once";
}

}  // namespace
}  // namespace athanor::kueue::test::estimate_account_test
