// SPDX-License-Identifier: Apache-2.0
// The tree of queues and the gauges against sums over the Workloads of random worlds.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "api/kueue.hpp"
#include "embedded/kueue/cycle/scheduler.hpp"
#include "embedded/kueue/explain/queue_tree.hpp"
#include "embedded/kueue/metrics/instruments.hpp"
#include "unit/embedded/kueue/fixture.hpp"

namespace athanor::kueue::test::sums_account_test {
namespace {

constexpr int kWorlds = 40;
constexpr int kWorkloads = 40;

// One Workload as the test made it.
struct Made {
  std::string local{};
  std::string queue{};
  bool reserved = false;
  bool admitted = false;
  bool active = true;
  bool finished = false;
  std::map<std::string, std::int64_t> usage{};  // of gpu, by flavor
  [[nodiscard]] bool holds() const { return reserved && active && !finished; }
  [[nodiscard]] bool waits() const { return !reserved && active && !finished; }
};

// Queues with their cohorts; "r" is the root, "c" below it, and q3 has no cohort.
const std::map<std::string, std::string> kCohorts{
    {"q0", "c"}, {"q1", "c"}, {"q2", "r"}, {"q3", ""}};

class SumsAccount : public ::testing::Test {
 protected:
  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }

  void make(unsigned seed) {
    random_.seed(seed);
    world_ = std::make_unique<FakeWorld>();
    made_.clear();
    quota_.clear();
    world_->put(bench_namespace());
    world_->put(flavor("f"));
    world_->put(flavor("g"));
    world_->put(
        from_yaml("{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: r}}"));
    world_->put(
        from_yaml("{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: c}, "
                  "spec: {parentName: r}}"));
    for (const auto& [name, cohort] : kCohorts) {
      put_queue(name, cohort);
    }
    for (int i = 0; i < kWorkloads; ++i) {
      put_workload("w" + std::to_string(i));
    }
    world_->configure("kueue", from_yaml("{clusterQueueResourceMetrics: true}"));
    world_->settle({&cluster_queue_operator(), &local_queue_operator(), &cohort_operator()});
  }

  void put_queue(const std::string& name, const std::string& cohort) {
    std::string flavors;
    for (const std::string one : {"f", "g"}) {
      quota_[{name, one}] = below(9);
      flavors += "{name: " + one +
                 ", resources: [{name: gpu, nominalQuota: " + std::to_string(quota_[{name, one}]) +
                 "}]}, ";
    }
    Value queue = from_yaml(
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: " + name +
        "}, spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [gpu], flavors: [" +
        flavors + "]}]}}");
    if (!cohort.empty()) {
      queue.set_path({"spec", "cohortName"}, cohort);
    }
    world_->put(queue);
    world_->put(local_queue(name + "-a", name));
    world_->put(local_queue(name + "-b", name));
  }

  void put_workload(const std::string& name) {
    Made made{.queue = "q" + std::to_string(below(4))};
    made.local = made.queue + (below(2) == 0 ? "-a" : "-b");
    const int state = below(6);
    made.reserved = state >= 2;
    made.admitted = state >= 3;
    made.active = below(7) != 0;
    made.finished = below(7) == 0;
    Value object = workload(name, made.local, "gpu: 1", made.active ? "" : ", active: false");
    std::string conditions;
    std::string sets;
    if (made.reserved) {
      conditions += "{type: QuotaReserved, status: \"True\"}, ";
      for (int i = 0; i <= below(2); ++i) {
        const std::string flavor = below(2) == 0 ? "f" : "g";
        const int gpus = below(4);
        made.usage[flavor] += gpus;
        sets += "{name: s" + std::to_string(i) + ", count: 1, flavors: {gpu: " + flavor +
                "}, resourceUsage: {gpu: " + std::to_string(gpus) + "}}, ";
      }
    }
    conditions += made.admitted ? "{type: Admitted, status: \"True\"}, " : "";
    conditions += made.finished ? "{type: Finished, status: \"True\"}, " : "";
    std::string status = "{conditions: [" + conditions + "]";
    if (made.reserved) {
      status +=
          ", admission: {clusterQueue: " + made.queue + ", podSetAssignments: [" + sets + "]}";
    }
    object.set("status", from_yaml(status + "}"));
    world_->put(object);
    made_.push_back(made);
  }

  template <typename Chosen>
  std::int64_t sum(const std::string& flavor, const Chosen& chosen) const {
    std::int64_t total = 0;
    for (const Made& one : made_) {
      if (one.holds() && chosen(one)) {
        const auto used = one.usage.find(flavor);
        total += used == one.usage.end() ? 0 : used->second;
      }
    }
    return total;
  }
  template <typename Chosen>
  std::int64_t count(const Chosen& chosen) const {
    return std::ranges::count_if(made_, chosen);
  }

  // Queues at or below a node of the tree.
  static std::vector<std::string> queues_of(const std::string& node) {
    std::vector<std::string> names;
    for (const auto& [queue, cohort] : kCohorts) {
      if (queue == node || cohort == node || (node == "r" && cohort == "c")) {
        names.push_back(queue);
      }
    }
    return names;
  }

  void check_node(const Value& node) {
    const std::string name = node["name"].str();
    SCOPED_TRACE(name);
    const std::vector<std::string> queues = queues_of(name);
    const auto within = [&](const Made& one) {
      return std::ranges::find(queues, one.queue) != queues.end();
    };
    std::map<std::string, Value> shown;
    for (const Value& one : node["resources"].items()) {
      EXPECT_EQ(one["resource"].as_string(), "gpu");
      shown.emplace(one["flavor"].str(), one);
    }
    for (const std::string flavor : {"f", "g"}) {
      std::int64_t quota = 0;
      for (const std::string& queue : queues) {
        quota += quota_.at({queue, flavor});
      }
      const std::int64_t used = sum(flavor, within);
      ASSERT_EQ(shown.contains(flavor), quota > 0 || used > 0) << flavor;
      if (!shown.contains(flavor)) {
        continue;
      }
      const Value& one = shown.at(flavor);
      const bool has_parent = name != "r" && name != "q3";
      EXPECT_EQ(one["quota"].str(), std::to_string(quota));
      EXPECT_EQ(one["used"].str(), std::to_string(used));
      EXPECT_EQ(one["borrowed"].str(),
                std::to_string(has_parent ? std::max<std::int64_t>(0, used - quota) : 0));
      EXPECT_EQ(one["share"].as_int(), quota > 0 ? 100 * used / quota : 100);
    }
    if (node["kind"].as_string() == "ClusterQueue") {
      ++queues_seen_;
      EXPECT_EQ(node["admitted"].as_int(), count([&](const Made& one) {
                  return one.queue == name && one.holds() && one.admitted;
                }));
      EXPECT_EQ(node["waiting"].as_int(),
                count([&](const Made& one) { return one.queue == name && one.waits(); }));
    }
    for (const Value& child : node["children"].items()) {
      check_node(child);
    }
  }

  void check_gauges() {
    Reads reads;
    Samples samples;
    kueue_instruments().state(View(*world_, reads), samples);
    std::map<std::tuple<std::string, std::string, std::string>, double> seen;
    for (const Sample& sample : samples) {
      std::string owner;
      std::string flavor;
      for (const auto& [label, value] : sample.labels) {
        owner = label == "cluster_queue" || label == "name" ? value : owner;
        flavor = label == "flavor" ? value : flavor;
      }
      seen[{std::string(sample.metric), owner, flavor}] = sample.value;
    }
    const auto expect = [&](const std::string& metric, const std::string& owner,
                            const std::string& flavor, std::int64_t value) {
      const auto found = seen.find({metric, owner, flavor});
      EXPECT_EQ(found == seen.end() ? 0 : found->second, static_cast<double>(value))
          << metric << " " << owner << " " << flavor;
    };
    const auto check = [&](const std::string& prefix, const std::string& resources,
                           const std::string& owner, const auto& ours) {
      expect(prefix + "reserving_active_workloads", owner, "",
             count([&](const Made& one) { return ours(one) && one.holds(); }));
      expect(prefix + "admitted_active_workloads", owner, "",
             count([&](const Made& one) { return ours(one) && one.holds() && one.admitted; }));
      for (const std::string flavor : {"f", "g"}) {
        expect(resources + "resource_reservation", owner, flavor, sum(flavor, ours));
        expect(resources + "resource_usage", owner, flavor,
               sum(flavor, [&](const Made& one) { return ours(one) && one.admitted; }));
      }
    };
    for (const auto& [queue, cohort] : kCohorts) {
      check("kueue_", "kueue_cluster_queue_", queue,
            [&](const Made& one) { return one.queue == queue; });
      for (const std::string flavor : {"f", "g"}) {
        expect("kueue_cluster_queue_nominal_quota", queue, flavor, quota_.at({queue, flavor}));
      }
      for (const char* end : {"-a", "-b"}) {
        check("kueue_local_queue_", "kueue_local_queue_", queue + end,
              [&](const Made& one) { return one.local == queue + end; });
      }
    }
  }

  std::mt19937 random_{};
  std::unique_ptr<FakeWorld> world_{};
  std::vector<Made> made_{};
  std::map<std::pair<std::string, std::string>, std::int64_t> quota_{};  // by queue and flavor
  int queues_seen_ = 0;
};

TEST_F(SumsAccount, TreeAndGaugesEqualSumsOverWorkloads) {
  for (unsigned seed = 0; seed < kWorlds; ++seed) {
    SCOPED_TRACE(seed);
    make(seed);
    queues_seen_ = 0;
    Reads reads;
    const Value tree = queue_tree(View(*world_, reads));
    for (const Value& root : tree.items()) {
      check_node(root);
    }
    EXPECT_EQ(queues_seen_, 4);
    check_gauges();
  }
}

}  // namespace
}  // namespace athanor::kueue::test::sums_account_test
