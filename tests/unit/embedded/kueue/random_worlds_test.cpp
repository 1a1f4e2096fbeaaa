// SPDX-License-Identifier: Apache-2.0
// The engine and the slow model of model.hpp on random trees with random policies: they decide the
// same, quota is never exceeded, preemption comes to rest, and what the engine sums up is what the
// model counts anew.
#include <algorithm>
#include <cstdlib>
#include <random>

#include "embedded/kueue/cycle/holding.hpp"
#include "embedded/kueue/cycle/snapshot.hpp"
#include "unit/embedded/kueue/model.hpp"
#include "unit/embedded/kueue/queue_world.hpp"

namespace athanor::kueue::test::random_worlds_test {
namespace {

using model::Decision;

constexpr unsigned kParts = 4;
constexpr unsigned kWorlds = 500;      // of each part
constexpr unsigned kFairWorlds = 300;  // where queues share by weight
constexpr unsigned kTwoResourceWorlds = 200;
// RANDOM_WORLDS=N plays N times as many (scripts/sim).
unsigned times_more() {
  const char* text = std::getenv("RANDOM_WORLDS");  // NOLINT(concurrency-mt-unsafe): never set
  return text == nullptr ? 1U : static_cast<unsigned>(std::max(1, std::atoi(text)));
}
constexpr int kSteps = 4;
// Runs of the engine between two changes from outside. Where queues share by weight, circles end
// after kMostFairPreemptions rounds of several runs each.
constexpr int kMostRuns = 60;
constexpr int kMostFairRuns = 150;
constexpr int kMostHeldRuns = 20;  // while no quota is released

std::string text_of(const Decision& decision) {
  std::string text;
  for (const auto& [job, flavor] : decision.admitted) {
    text += fmt::format(" {}->{}", job, flavor);
  }
  for (const auto& [job, reason] : decision.preempted) {
    text += fmt::format(" {} evicted {}", job, reason);
  }
  const auto list = [&](const char* what, const std::set<std::string>& jobs) {
    for (const std::string& job : jobs) {
      text += fmt::format(" {} {}", job, what);
    }
  };
  list("preempts", decision.preempting);
  list("overlaps", decision.overlapping);
  list("crowded out", decision.crowded_out);
  return text;
}

class Play {
 public:
  struct Options {
    bool fair = false;
    // What is evicted keeps its quota until the engine has nothing to write.
    bool slow_victims = false;
    bool slots = false;  // jobs take two resources
  };
  Play(unsigned seed, const Options& options)
      : random_(seed),
        fair_(options.fair),
        slow_victims_(options.slow_victims),
        slots_(options.slots) {
    model_.fair = fair_;
    if (fair_) {
      world_.configure("kueue", from_yaml("{fairSharing: true}"));
    }
    world_.put(bench_namespace());
    for (const char* name : {"f", "g"}) {
      world_.put(flavor(name));
    }
    make_tree();
  }

  void run() {
    if (slots_) {
      make_pair();
    }
    for (int step = 0; step < kSteps && !::testing::Test::HasFailure(); ++step) {
      for (int i = one_of(4); i > 0; --i) {
        submit();
      }
      finish_some();
      come_to_rest();
    }
  }

 private:
  int one_of(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  bool maybe(int one_in) { return one_of(one_in) == 0; }

  model::Quota some_quota(bool in_cohort) {
    model::Quota quota{.nominal = one_of(9)};
    if (in_cohort && maybe(4)) {
      quota.borrowing = one_of(6);
    }
    if (in_cohort && maybe(4)) {
      quota.lending = one_of(static_cast<int>(quota.nominal) + 1);
    }
    return quota;
  }
  void add_quotas(model::Node& node, const std::string& flavor) {
    node.quotas[flavor] = some_quota(!node.parent.empty());
    if (slots_) {
      node.quotas[model::slots_of(flavor)] = some_quota(!node.parent.empty());
    }
  }
  static std::string quota_text(const char* resource, const model::Quota& quota) {
    return fmt::format("{{name: {}, nominalQuota: {}{}{}}}", resource, quota.nominal,
                       quota.borrowing ? fmt::format(", borrowingLimit: {}", *quota.borrowing) : "",
                       quota.lending ? fmt::format(", lendingLimit: {}", *quota.lending) : "");
  }
  std::string groups_text(const model::Node& node, const std::vector<std::string>& flavors) {
    std::string text;
    for (const std::string& name : flavors) {
      text += fmt::format(
          "{}{{name: {}, resources: [{}{}]}}", text.empty() ? "" : ", ", name,
          quota_text("gpu", node.quotas.at(name)),
          slots_ ? ", " + quota_text("slot", node.quotas.at(model::slots_of(name))) : "");
    }
    return text.empty() ? "[]"
                        : fmt::format("[{{coveredResources: [gpu{}], flavors: [{}]}}]",
                                      slots_ ? ", slot" : "", text);
  }

  void make_tree() {
    const int cohorts = one_of(4);
    for (int i = 0; i < cohorts; ++i) {
      const std::string name = fmt::format("cohort-{}", i);
      model::Node node;
      if (i > 0 && !maybe(4)) {
        node.parent = fmt::format("cohort-{}", one_of(i));
      }
      std::vector<std::string> flavors;
      if (maybe(3)) {
        flavors = {"f"};
        add_quotas(node, "f");
      }
      world_.put(from_yaml(fmt::format(
          "{{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {{name: {}}}, spec: "
          "{{parentName: \"{}\", resourceGroups: {}}}}}",
          name, node.parent, groups_text(node, flavors))));
      model_.nodes.emplace(name, std::move(node));
    }
    for (int i = 1 + one_of(5); i > 0; --i) {
      make_queue(fmt::format("queue-{}", i), cohorts);
    }
  }
  void make_queue(const std::string& name, int cohorts) {
    model::Node node{.queue = true};
    if (cohorts > 0 && !maybe(6)) {
      node.parent = fmt::format("cohort-{}", one_of(cohorts));
    }
    node.flavors =
        !slots_ && maybe(2) ? std::vector<std::string>{"f"} : std::vector<std::string>{"f", "g"};
    for (const std::string& flavor : node.flavors) {
      add_quotas(node, flavor);
    }
    node.strict = maybe(3);
    static constexpr std::array kWithin{"Never", "LowerPriority", "LowerOrNewerEqualPriority"};
    static constexpr std::array kReclaim{"Never", "LowerPriority", "Any"};
    node.within = kWithin.at(static_cast<std::size_t>(one_of(3)));
    node.reclaim = kReclaim.at(static_cast<std::size_t>(one_of(3)));
    if (slots_ && !maybe(4)) {
      node.within = "LowerPriority";
      node.reclaim = "Any";
    }
    node.borrow_within_cohort = node.reclaim != "Never" && maybe(slots_ ? 6 : 2);
    if (node.borrow_within_cohort && maybe(2)) {
      node.threshold = one_of(3);
    }
    node.next_when_borrowing = maybe(2);
    node.next_when_preempting = maybe(slots_ ? 6 : 2);
    node.prefers_preemption = node.next_when_borrowing && node.next_when_preempting && maybe(2);
    node.weight = fair_ ? one_of(4) : 1;
    put_queue(name, std::move(node));
  }
  void put_queue(const std::string& name, model::Node node) {
    const std::string borrow =
        node.borrow_within_cohort
            ? fmt::format(
                  ", borrowWithinCohort: {{policy: LowerPriority{}}}",
                  node.threshold ? fmt::format(", maxPriorityThreshold: {}", *node.threshold) : "")
            : "";
    world_.put(from_yaml(fmt::format(
        "{{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {{name: {}}}, spec: "
        "{{namespaceSelector: {{}}, cohortName: \"{}\", queueingStrategy: {}, resourceGroups: {}, "
        "flavorFungibility: {{whenCanBorrow: {}, whenCanPreempt: {}{}}}, preemption: "
        "{{withinClusterQueue: {}, reclaimWithinCohort: {}{}}}, fairSharing: {{weight: {}}}}}}}",
        name, node.parent, node.strict ? "StrictFIFO" : "BestEffortFIFO",
        groups_text(node, node.flavors),
        node.next_when_borrowing ? "TryNextFlavor" : "MayStopSearch",
        node.next_when_preempting ? "TryNextFlavor" : "MayStopSearch",
        node.prefers_preemption ? ", preference: PreemptionOverBorrowing" : "", node.within,
        node.reclaim, borrow, node.weight)));
    world_.put(local_queue(name, name));
    queues_.push_back(name);
    model_.nodes.emplace(name, std::move(node));
  }

  // A queue that has lost its slots of f to another one and holds all its gpus of f itself: jobs
  // that want both find victims for each, and none for both.
  void make_pair() {
    model_.nodes["pair"] = {};
    world_.put(
        from_yaml("{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: pair}}"));
    model::Node own{.parent = "pair",
                    .queue = true,
                    .flavors = {"f", "g"},
                    .within = "LowerPriority",
                    .reclaim = "Any",
                    .next_when_preempting = false};
    model::Node other{.parent = "pair", .queue = true, .flavors = {"f"}};
    for (const char* flavor : {"f", "g"}) {
      own.quotas[flavor] = {.nominal = 3};
      own.quotas[model::slots_of(flavor)] = {.nominal = 3};
      other.quotas[flavor] = {};
      other.quotas[model::slots_of(flavor)] = {};
    }
    put_queue("pair-own", std::move(own));
    put_queue("pair-other", std::move(other));
    submit({.queue = "pair-other", .need = 0, .slots = 3});
    submit({.queue = "pair-own", .need = 3});
    come_to_rest();
    submit({.queue = "pair-own", .need = 1 + one_of(3), .priority = 2, .slots = 1 + one_of(3)});
  }

  void submit() {
    model::Job job{
        .queue = queues_.at(static_cast<std::size_t>(one_of(static_cast<int>(queues_.size())))),
        .need = 1 + one_of(maybe(3) ? 9 : 3),
        .priority = one_of(4)};
    if (slots_ && !maybe(4)) {
      job.slots = 1 + one_of(4);
      job.need = maybe(3) ? 0 : job.need;
    }
    submit(std::move(job));
  }
  void submit(model::Job job) {
    world_.advance(std::chrono::seconds(1));
    job.created = ++time_;
    const std::string name = fmt::format("job-{:03}", ++jobs_);
    std::string requests = job.need > 0 ? fmt::format("gpu: {}", job.need) : "";
    if (job.slots > 0) {
      requests += fmt::format("{}slot: {}", requests.empty() ? "" : ", ", job.slots);
    }
    Value object = workload(name, job.queue, requests, fmt::format(", priority: {}", job.priority));
    object.set_path({"metadata", "uid"}, name);
    world_.put(object);
    model_.jobs.emplace(name, job);
  }

  void finish_some() {
    std::vector<std::string> over;
    for (const auto& [name, job] : model_.jobs) {
      if (maybe(job.flavor.empty() ? 12 : 4)) {
        over.push_back(name);
      }
    }
    for (const std::string& name : over) {
      world_.remove(api::kueue::kWorkload, {"bench", name});
      model_.jobs.erase(name);
    }
  }

  // The engine runs, owners release what was evicted, until nothing happens any more.
  void come_to_rest() {
    int held = 0;  // runs since something was released
    for (int run = 0; run < (fair_ || slow_victims_ ? kMostFairRuns : kMostRuns); ++run) {
      world_.advance(std::chrono::seconds(1));
      ++time_;
      const Plan plan = world_.reconcile(scheduler_operator(), {"", "singleton"});
      ASSERT_TRUE(world_.apply(plan).ok());
      const Decision expected = model::decide(model_);
      ASSERT_EQ(text_of(outcome(expected)), text_of(expected));
      follow();
      check_quota();
      if (slow_victims_ && !plan.steps().empty()) {
        ASSERT_LE(++held, kMostHeldRuns) << "preemptors take turns while their victims go";
        continue;
      }
      held = 0;
      const bool released = release_some();
      if (plan.steps().empty() && !released && !anybody_leaves()) {
        return;
      }
    }
    FAIL() << "preemption goes in circles";
  }

  // One for all resources.
  static std::string flavor_of(const Value& status) {
    const Value& flavors = status["admission"]["podSetAssignments"][0]["flavors"];
    return flavors[flavors["gpu"].is_null() ? "slot" : "gpu"].str();
  }
  // What the engine's statuses say beyond what the model knew.
  Decision outcome(const Decision& expected) {
    Decision decision;
    for (const auto& [name, job] : model_.jobs) {
      const Value status = world_.must(api::kueue::kWorkload, {"bench", name}).status();
      const Value& conditions = status["conditions"];
      const Value& reserved = find_condition(conditions, "QuotaReserved");
      const std::string text = reserved["message"].str();
      const bool holds = reserved["status"].as_string() == "True";
      if (holds && job.flavor.empty()) {
        decision.admitted.emplace(name, flavor_of(status));
      } else if (holds && !job.evicted && condition_is(conditions, "Evicted", "True")) {
        decision.preempted.emplace(name, find_condition(conditions, "Preempted")["reason"].str());
      } else if (!holds && text.find(". Pending the preemption of ") != std::string::npos) {
        pending_.insert(name);
      }
      if (holds || text.find(". Pending the preemption of ") == std::string::npos) {
        pending_.erase(name);
      }
      if (text.starts_with("Workload has overlapping")) {
        overlapping_.insert(name);
      } else {
        overlapping_.erase(name);
      }
      if (text.starts_with("Workload no longer fits")) {
        crowded_.insert(name);
      } else {
        crowded_.erase(name);
      }
    }
    // Words stay where nobody was looked at: the model tells only who was.
    const auto seen = [](const std::set<std::string>& said, const std::set<std::string>& wanted) {
      std::set<std::string> both;
      std::ranges::set_intersection(said, wanted, std::inserter(both, both.end()));
      return both;
    };
    decision.preempting = seen(pending_, expected.preempting);
    decision.overlapping = seen(overlapping_, expected.overlapping);
    decision.crowded_out = seen(crowded_, expected.crowded_out);
    return decision;
  }

  void follow() {
    for (auto& [name, job] : model_.jobs) {
      const Value status = world_.must(api::kueue::kWorkload, {"bench", name}).status();
      const Value& conditions = status["conditions"];
      if (condition_is(conditions, "QuotaReserved", "True")) {
        if (job.flavor.empty()) {
          job.flavor = flavor_of(status);
          job.reserved = time_;
        }
        const bool evicted = condition_is(conditions, "Evicted", "True");
        job.times_preempted += evicted && !job.evicted ? 1 : 0;
        job.evicted = evicted;
        job.sticky = false;
      } else {
        job.sticky = pending_.contains(name);
      }
    }
  }

  void check_quota() {
    Reads reads;
    const View view(world_, reads);
    const auto snapshot = read_queues(view);
    QuotaTree tree = snapshot->quota;
    count_usage(*snapshot, tree, view);
    for (const auto& [name, node] : model_.nodes) {
      const QuotaTree::NodeId id =
          node.queue ? snapshot->cluster_queues.at(name).node : snapshot->cohorts.at(name);
      for (const char* flavor : {"f", "g"}) {
        for (const char* resource : {"gpu", "slot"}) {
          const std::string cell =
              resource == std::string_view("gpu") ? flavor : model::slots_of(flavor);
          ASSERT_FALSE(model::is_overdrawn(model_, name, cell)) << name << " " << cell;
          ASSERT_EQ(tree.usage(id, FlavorResource{flavor, resource}),
                    model::use_of(model_, name, cell));
        }
      }
    }
  }

  bool anybody_leaves() const {
    return std::ranges::any_of(model_.jobs, [](const auto& job) { return job.second.evicted; });
  }

  bool release_some() {
    bool released = false;
    for (auto& [name, job] : model_.jobs) {
      if (!job.evicted || maybe(3)) {
        continue;
      }
      released = true;
      world_.update(api::kueue::kWorkload, {"bench", name}, [&](Value& object) {
        Value& status = object.member("status");
        Value conditions = status["conditions"];
        set_condition(conditions, {"QuotaReserved", "False", "Pending", "released", {}},
                      world_.now);
        set_condition(conditions, {"Admitted", "False", "NoReservation", "released", {}},
                      world_.now);
        set_condition(conditions, {"Requeued", "True", "Preempted", "released", {}}, world_.now);
        status.set("conditions", conditions);
        status.erase("admission");
      });
      job.flavor.clear();
      job.evicted = false;
      job.came_back = true;
    }
    return released;
  }

  std::mt19937 random_;
  bool fair_ = false;
  bool slow_victims_ = false;
  bool slots_ = false;
  FakeWorld world_{};
  model::World model_{};
  std::vector<std::string> queues_{};
  std::set<std::string> pending_{};
  std::set<std::string> overlapping_{};
  std::set<std::string> crowded_{};
  int jobs_ = 0;
  std::int64_t time_ = 0;
};

class RandomWorlds : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomWorlds, AreDecidedAsTheModelDecides) {
  const unsigned worlds = kWorlds * times_more();
  const unsigned first = GetParam() * worlds;
  for (unsigned seed = first; seed < first + worlds && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Play(seed, {}).run();
  }
}
INSTANTIATE_TEST_SUITE_P(Parts, RandomWorlds, ::testing::Range(0U, kParts));

TEST(RandomWorldsOfTwoResources, AreDecidedAsTheModelDecides) {
  const unsigned worlds = kTwoResourceWorlds * times_more();
  for (unsigned seed = 0; seed < worlds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Play(seed, {.slots = true}).run();
  }
}

TEST(RandomFairWorlds, AreDecidedAsTheModelDecides) {
  const unsigned worlds = kFairWorlds * times_more();
  for (unsigned seed = 0; seed < worlds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Play(seed, {.fair = true}).run();
  }
}

TEST(RandomWorldsOfSlowVictims, ComeToRestBeforeTheirVictimsAreGone) {
  const unsigned worlds = kFairWorlds * times_more();
  for (unsigned seed = 0; seed < worlds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Play(seed, {.fair = seed % 2 == 0, .slow_victims = true}).run();
  }
}

// Preemption went in circles in these: the victim was back before its preemptor (5530; 860),
// borrowers without weight took from each other (18999), what a queue took from another one by its
// share its next workload took by its priority (the others).
TEST(RandomWorldsWithCircles, ComeToRest) {
  SCOPED_TRACE("seed 5530");
  Play(5530, {}).run();
}
TEST(RandomFairWorldsWithCircles, ComeToRest) {
  for (const unsigned seed : {860U, 1070U, 10572U, 14213U, 14375U, 18999U, 35348U}) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Play(seed, {.fair = true}).run();
  }
}

}  // namespace
}  // namespace athanor::kueue::test::random_worlds_test
