// SPDX-License-Identifier: Apache-2.0
// "What if" questions: what the simulator is asked about the live fleet.
#include "console/data/what_if.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>

#include "api/kueue.hpp"
#include "kube/text/yaml.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"

namespace athanor::console::what_if_test {
namespace {

const Instant kNow = *parse_time("2026-01-31T10:00:00Z");

Object from(const std::string& text) {
  return Object(yaml::parse(text).value());
}

std::shared_ptr<const KindObjects> all_of(std::vector<Object> objects) {
  return std::make_shared<const KindObjects>(
      KindObjects{.objects = std::move(objects), .synced = true});
}

Object ended(const std::string& name, const std::string& created, const std::string& end) {
  return from("metadata: {name: " + name + ", namespace: jobs, uid: " + name +
              ", creationTimestamp: \"" + created +
              "\"}\nspec: {owner: ann, pipeline: p, forge: {project: llmd}, hardware: {gpuType: "
              "a100, gpuCount: 4}}\nstatus: {phase: Succeeded, completionTime: \"" +
              end +
              "\", conditions: [{type: WorkloadAdmitted, status: \"True\", lastTransitionTime: \"" +
              created + "\"}]}");
}

Object live(const std::string& name, const std::string& spec, const std::string& status) {
  return from("metadata: {name: " + name + ", namespace: jobs, uid: " + name +
              ", creationTimestamp: \"2026-01-31T09:50:00Z\"}\nspec: " + spec +
              "\nstatus: " + status);
}

// A queue of two clusters; c1 has two nodes of four GPUs.
Facts::Kinds fleet() {
  return {
      {&api::kueue::kClusterQueue,
       all_of({from("metadata: {name: cq}\nspec: {resourceGroups: [{flavors: [{name: c1, "
                    "resources: [{name: fournos/gpu-a100, nominalQuota: 8}, {name: "
                    "fournos/cluster-slot, nominalQuota: 100}]}, {name: c2, resources: [{name: "
                    "fournos/gpu-h200, nominalQuota: 8}]}]}]}")})},
      {&api::kueue::kLocalQueue,
       all_of(
           {from("metadata: {name: fournos-queue, namespace: jobs}\nspec: {clusterQueue: cq}")})},
      {&api::kFournosCluster,
       all_of({from("metadata: {name: c1, namespace: hearth}\nspec: {hardware: {gpus: [{shortName: "
                    "a100, count: 8, nodeCount: 2}]}}\nstatus: {lockExpiresAt: "
                    "\"2026-01-31T12:00:00Z\"}"),
               from("metadata: {name: c2, namespace: hearth}\nspec: {}")})}};
}

struct Asked {
  explicit Asked(std::vector<Object> jobs, std::vector<Object> history = {}) {
    Facts::Kinds kinds = fleet();
    kinds.emplace(&api::kFournosJob, all_of(std::move(jobs)));
    facts = Facts(std::move(kinds), 1);
    state = std::make_unique<WhatIfState>(
        WhatIfState{.facts = facts, .ns = "jobs", .ended = std::move(history), .now = kNow});
  }
  [[nodiscard]] Result<WhatIfCall> call(const WhatIfQuestion& question) const {
    return make_call(question, *state);
  }
  Facts facts{};
  std::unique_ptr<WhatIfState> state{};
};

std::string quota(const SimulatedSide& side, std::string_view cluster, std::string_view resource) {
  for (const Value& one : side.fleet["clusters"].items()) {
    if (one["name"].as_string() == cluster) {
      return one["quota"][resource].str();
    }
  }
  return "no cluster";
}

TEST(WhatIf, PlaysHistoryAgainFromNow) {
  const Asked asked({ended("a", "2026-01-30T10:00:00Z", "2026-01-30T10:30:00Z")},
                    {ended("a", "2026-01-30T10:00:00Z", "2026-01-30T10:30:00Z"),
                     ended("b", "2026-01-21T10:00:00Z", "2026-01-21T11:00:00Z"),
                     ended("old", "2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z")});
  const auto call = asked.call(
      {.change = FleetChange::Gpus, .cluster = "c1", .gpu_type = "a100", .gpus = 4, .days = 14});
  ASSERT_TRUE(call.ok()) << call.error().message;
  ASSERT_EQ(call->call.jobs.size(), 2U) << "each job once, none from before the days";
  EXPECT_EQ(call->call.jobs[0].submit, *parse_time("2026-02-04T10:00:00Z"));
  EXPECT_EQ(call->call.jobs[1].submit, *parse_time("2026-02-13T10:00:00Z"));
  EXPECT_EQ(call->call.jobs[1].duration, std::chrono::minutes(30));
  EXPECT_EQ(quota(call->call.sides[0], "c1", "fournos/gpu-a100"), "8");
  EXPECT_EQ(quota(call->call.sides[1], "c1", "fournos/gpu-a100"), "12");
  EXPECT_EQ(call->ended, 2U);
}

TEST(WhatIf, StartsWithLiveJobs) {
  std::vector<Object> history;
  for (int i = 0; i < 6; ++i) {
    history.push_back(ended("h" + std::to_string(i), "2026-01-30T10:00:00Z",
                            "2026-01-30T10:" + std::to_string(20 + i) + ":00Z"));
  }
  const Asked asked(
      {live("runs",
            "{owner: bob, pipeline: p, forge: {project: llmd}, hardware: {gpuType: a100, gpuCount: "
            "4}}",
            "{phase: Running, cluster: c1, conditions: [{type: WorkloadAdmitted, status: \"True\", "
            "lastTransitionTime: \"2026-01-31T09:50:00Z\"}]}"),
       live("waits",
            "{owner: eve, pipeline: p, forge: {project: llmd}, hardware: {gpuType: a100, gpuCount: "
            "8}}",
            "{phase: Pending}")},
      history);
  const auto call = asked.call({.change = FleetChange::Node, .cluster = "c1", .days = 14});
  ASSERT_TRUE(call.ok()) << call.error().message;
  EXPECT_EQ(call->running, 1U);
  ASSERT_EQ(call->live.size(), 1U);
  const views::TraceRow& runs = call->call.jobs[0];
  EXPECT_EQ(runs.submit, kNow);
  EXPECT_EQ(runs.cluster, "c1");
  EXPECT_EQ(runs.duration, std::chrono::minutes(22 - 10)) << "the rest of the median";
  const views::TraceRow& waits = call->call.jobs[call->live[0].row];
  EXPECT_EQ(waits.owner, "eve");
  EXPECT_GT(waits.submit, kNow);
  EXPECT_EQ(quota(call->call.sides[1], "c1", "fournos/gpu-a100"), "12") << "four of a node";
}

TEST(WhatIf, LeavesTheLockOnOneSideAlone) {
  const Asked asked({live("cluster-lock-c1", "{owner: alice, cluster: c1, lockOnly: true}",
                          "{phase: Admitted, cluster: c1}")});
  const auto call = asked.call({.change = FleetChange::Unlock, .cluster = "c1", .days = 14});
  ASSERT_TRUE(call.ok()) << call.error().message;
  EXPECT_TRUE(call->call.jobs.empty());
  EXPECT_TRUE(call->call.sides[1].jobs.empty());
  ASSERT_EQ(call->call.sides[0].jobs.size(), 1U);
  EXPECT_TRUE(call->call.sides[0].jobs[0].exclusive);
  EXPECT_EQ(call->call.sides[0].jobs[0].duration, std::chrono::hours(2));
  EXPECT_FALSE(asked.call({.change = FleetChange::Unlock, .cluster = "c2"}).ok());
}

TEST(WhatIf, AddsClustersAndJobs) {
  const Asked asked({ended("a", "2026-01-30T10:00:00Z", "2026-01-30T10:30:00Z")});
  const auto cluster = asked.call({.change = FleetChange::Cluster, .cluster = "c2"});
  ASSERT_TRUE(cluster.ok());
  EXPECT_EQ(cluster->call.sides[1].fleet["clusters"].size(), 3U);
  EXPECT_EQ(quota(cluster->call.sides[1], "c2-new", "fournos/gpu-h200"), "8");
  const auto job = asked.call({.change = FleetChange::Job,
                               .gpu_type = "a100",
                               .gpus = 8,
                               .duration = std::chrono::hours(2)});
  ASSERT_TRUE(job.ok());
  EXPECT_TRUE(job->call.sides[0].jobs.empty());
  ASSERT_EQ(job->call.sides[1].jobs.size(), 1U);
  const Simulated played{.sides = {{.report = Value::object(), .waits = {5.0}},
                                   {.report = Value::object(), .waits = {6.0, 7.5}}}};
  const Value answer = answer_of(*job, played, *asked.state);
  EXPECT_EQ(answer["job"]["waitSeconds"], Value(7.5));
  EXPECT_EQ(answer["jobs"]["ended"].as_int(), 1);
}

TEST(WhatIf, RefusesUnknownClusters) {
  const Asked asked({ended("a", "2026-01-30T10:00:00Z", "2026-01-30T10:30:00Z")});
  const auto unknown = asked.call({.change = FleetChange::Node, .cluster = "c9"});
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("c1, c2"), std::string::npos);
  EXPECT_FALSE(asked.call({.change = FleetChange::Node, .cluster = "c2"}).ok())
      << "its nodes are not known";
  const Asked idle(std::vector<Object>{});
  EXPECT_FALSE(idle.call({.change = FleetChange::Node, .cluster = "c1"}).ok()) << "no job";
}

struct Query {
  std::string name{};
  std::map<std::string, std::string, std::less<>> values{};
  std::string wrong{};
};
class WhatIfQuery : public testing::TestWithParam<Query> {};

TEST_P(WhatIfQuery, NamesTheWrongParameter) {
  WhatIfQuestion question;
  const auto wrong = read_question(
      [](std::string_view name) {
        const auto found = GetParam().values.find(name);
        return found == GetParam().values.end() ? std::string() : found->second;
      },
      question);
  EXPECT_EQ(wrong.name, GetParam().wrong) << wrong.message;
}

INSTANTIATE_TEST_SUITE_P(
    All, WhatIfQuery,
    testing::Values(
        Query{"None", {}, "change"}, Query{"Unknown", {{"change", "more"}}, "change"},
        Query{"Node", {{"change", "node"}, {"cluster", "c1"}}, ""},
        Query{"Nowhere", {{"change", "node"}}, "cluster"},
        Query{"Days", {{"change", "node"}, {"cluster", "c1"}, {"days", "91"}}, "days"},
        Query{"Text", {{"change", "node"}, {"cluster", "c1"}, {"days", "x"}}, "days"},
        Query{"NoGpus", {{"change", "gpus"}, {"cluster", "c1"}, {"gpuType", "a100"}}, "gpus"},
        Query{"Many",
              {{"change", "gpus"}, {"cluster", "c1"}, {"gpuType", "a100"}, {"gpus", "10001"}},
              "gpus"},
        Query{"NoType", {{"change", "gpus"}, {"cluster", "c1"}, {"gpus", "1"}}, "gpuType"},
        Query{"Elsewhere", {{"change", "node"}, {"cluster", "c1"}, {"gpus", "1"}}, "gpus"},
        Query{"Length", {{"change", "unlock"}, {"cluster", "c1"}, {"duration", "1h"}}, "duration"},
        Query{"Job", {{"change", "job"}, {"gpuType", "a100"}, {"gpus", "1"}}, ""},
        Query{"Anything", {{"change", "job"}}, "cluster"},
        Query{"Alone",
              {{"change", "job"}, {"gpuType", "a100"}, {"gpus", "1"}, {"exclusive", "true"}},
              "cluster"},
        Query{"Maybe", {{"change", "job"}, {"cluster", "c1"}, {"exclusive", "yes"}}, "exclusive"},
        Query{"Long", {{"change", "job"}, {"cluster", "c1"}, {"duration", "9999h"}}, "duration"}),
    [](const auto& query) { return query.param.name; });

}  // namespace
}  // namespace athanor::console::what_if_test
