// SPDX-License-Identifier: Apache-2.0
// Reported fair shares, and their gauges, against an account of random trees: borrowed and lendable
// quota are counted anew from who holds what (docs/spec/kueue.md 7.9).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "api/kueue.hpp"
#include "embedded/kueue/cycle/scheduler.hpp"
#include "embedded/kueue/metrics/instruments.hpp"
#include "unit/embedded/kueue/fixture.hpp"
#include "unit/embedded/kueue/model_tree.hpp"

namespace athanor::kueue::test::fair_shares_account_test {
namespace {

constexpr unsigned kWorlds = 25;
constexpr int kWorkloads = 14;
constexpr auto kInfinite = std::numeric_limits<std::int64_t>::max();

const std::vector<std::string> kFlavors{"f", "g"};
// Cohorts from the root down, with their parents; queues with their cohorts.
const std::vector<std::pair<std::string, std::string>> kCohorts{{"r", ""}, {"c", "r"}, {"d", "c"}};
const std::vector<std::pair<std::string, std::string>> kQueues{
    {"q0", "r"}, {"q1", "c"}, {"q2", "c"}, {"q3", "d"}, {"q4", ""}};

class FairSharesAccount : public ::testing::Test {
 protected:
  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }

  void make(unsigned seed) {
    random_.seed(seed);
    world_ = std::make_unique<FakeWorld>();
    model_ = {.fair = true};
    world_->configure("kueue", from_yaml("{fairSharing: true, clusterQueueResourceMetrics: true}"));
    world_->put(bench_namespace());
    for (const std::string& name : kFlavors) {
      world_->put(flavor(name));
    }
    for (const auto& [name, parent] : kCohorts) {
      put_node(name, parent, false);
    }
    for (const auto& [name, parent] : kQueues) {
      put_node(name, parent, true);
      world_->put(local_queue(name, name));
    }
    for (int i = 0; i < kWorkloads; ++i) {
      put_workload("w" + std::to_string(i));
    }
    world_->settle({&cluster_queue_operator(), &local_queue_operator(), &cohort_operator()});
  }

  std::string quota_text(model::Node& node, const std::string& cell, const std::string& resource) {
    model::Quota quota{.nominal = below(7)};
    if (!node.parent.empty() && below(4) == 0) {
      quota.borrowing = below(5);
    }
    if (!node.parent.empty() && below(4) == 0) {
      quota.lending = below(static_cast<int>(quota.nominal) + 1);
    }
    node.quotas[cell] = quota;
    return "{name: " + resource + ", nominalQuota: " + std::to_string(quota.nominal) +
           (quota.borrowing ? ", borrowingLimit: " + std::to_string(*quota.borrowing) : "") +
           (quota.lending ? ", lendingLimit: " + std::to_string(*quota.lending) : "") + "}";
  }

  void put_node(const std::string& name, const std::string& parent, bool queue) {
    static const std::vector<std::pair<std::string, double>> kWeights{
        {"0", 0}, {"1", 1}, {"2", 2}, {"500m", 0.5}};
    const auto& [weight, value] = kWeights.at(static_cast<std::size_t>(below(4)));
    model::Node node{.parent = parent, .queue = queue, .flavors = kFlavors, .weight = value};
    std::string flavors;
    for (const std::string& one : kFlavors) {
      flavors += "{name: " + one + ", resources: [" + quota_text(node, one, "gpu") + ", " +
                 quota_text(node, model::slots_of(one), "slot") + "]}, ";
    }
    const std::string above = queue ? "cohortName" : "parentName";
    Value object = from_yaml(
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: " +
        std::string(queue ? "ClusterQueue" : "Cohort") + ", metadata: {name: " + name +
        "}, spec: {fairSharing: {weight: " + weight +
        "}, resourceGroups: [{coveredResources: [gpu, slot], flavors: [" + flavors + "]}]}}");
    if (queue) {
      object.set_path({"spec", "namespaceSelector"}, Value::object());
    }
    if (!parent.empty()) {
      object.set_path({"spec", above}, parent);
    }
    world_->put(object);
    model_.nodes.emplace(name, std::move(node));
  }

  // One that holds quota, whether its queue may have so much or not.
  void put_workload(const std::string& name) {
    model::Job job{.queue = kQueues.at(static_cast<std::size_t>(below(5))).first,
                   .need = below(6),
                   .flavor = kFlavors.at(static_cast<std::size_t>(below(2))),
                   .slots = below(6)};
    Value object = workload(name, job.queue, "gpu: 1");
    object.set("status",
               from_yaml("{conditions: [{type: QuotaReserved, status: \"True\"}, {type: Admitted, "
                         "status: \"True\"}], admission: {clusterQueue: " +
                         job.queue + ", podSetAssignments: [{name: launcher, count: 1, flavors: " +
                         "{gpu: " + job.flavor + ", slot: " + job.flavor +
                         "}, resourceUsage: {gpu: " + std::to_string(job.need) +
                         ", slot: " + std::to_string(job.slots) + "}}]}}"));
    world_->put(object);
    model_.jobs.emplace(name, job);
  }

  // The largest part of a resource that can be lent and is borrowed, for its weight.
  [[nodiscard]] std::int64_t expected(const std::string& name) const {
    const model::Tree tree(model_);
    const std::string parent = tree.parent(name);
    if (parent.empty()) {
      return 0;
    }
    double most = 0;
    bool borrows = false;
    for (const bool slots : {false, true}) {
      model::Amount borrowed = 0;
      model::Amount lendable = 0;
      for (const std::string& one : kFlavors) {
        const std::string cell = slots ? model::slots_of(one) : one;
        borrowed += std::max<model::Amount>(0, tree.use(name, cell) - tree.subtree(name, cell));
        lendable += tree.capacity(parent, cell);
      }
      borrows = borrows || borrowed > 0;
      if (borrowed > 0 && lendable > 0) {
        most = std::max(most, static_cast<double>(borrowed) * 1000 / static_cast<double>(lendable));
      }
    }
    const double weight = model_.nodes.at(name).weight;
    return !borrows      ? 0
           : weight == 0 ? kInfinite
                         : static_cast<std::int64_t>(std::ceil(most / weight));
  }

  void check_gauge(const Samples& samples, const std::string& label, const std::string& name) {
    const std::string metric =
        label == "cohort" ? "kueue_cohort_weighted_share" : "kueue_" + label + "_weighted_share";
    const auto found = std::ranges::find_if(samples, [&](const Sample& one) {
      return one.metric == metric &&
             std::ranges::find(one.labels, std::pair(label, name)) != one.labels.end();
    });
    ASSERT_NE(found, samples.end()) << metric << " " << name;
    if (expected(name) == kInfinite) {
      EXPECT_TRUE(std::isnan(found->value)) << name;
    } else {
      EXPECT_EQ(found->value, static_cast<double>(expected(name))) << name;
    }
  }

  void check(const Samples& samples, const Kind& kind, const std::string& label,
             const std::string& name) {
    SCOPED_TRACE(name);
    EXPECT_EQ(world_->must(kind, {"", name}).status()["fairSharing"]["weightedShare"].as_int(),
              expected(name));
    check_gauge(samples, label, name);
    infinite_ += expected(name) == kInfinite ? 1 : 0;
    borrowing_ += expected(name) > 0 ? 1 : 0;
  }

  std::mt19937 random_{};
  std::unique_ptr<FakeWorld> world_{};
  model::World model_{};
  int infinite_ = 0;
  int borrowing_ = 0;
};

TEST_F(FairSharesAccount, ReportsBorrowedPartOfLentQuota) {
  for (unsigned seed = 0; seed < kWorlds && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    make(seed);
    Reads reads;
    Samples samples;
    kueue_instruments().state(View(*world_, reads), samples);
    for (const auto& [name, parent] : kCohorts) {
      check(samples, api::kueue::kCohort, "cohort", name);
    }
    for (const auto& [name, parent] : kQueues) {
      check(samples, api::kueue::kClusterQueue, "cluster_queue", name);
    }
  }
  EXPECT_GT(infinite_, 5) << "worlds with borrowers without weight";
  EXPECT_GT(borrowing_, 40) << "worlds with borrowers";
}

}  // namespace
}  // namespace athanor::kueue::test::fair_shares_account_test
