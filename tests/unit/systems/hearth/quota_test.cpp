// SPDX-License-Identifier: Apache-2.0
// Editing resource groups: E1 to E10 and the limits (docs/spec/hearth.md 8.2, 8.3).
#include "systems/hearth/quota.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "kube/text/yaml.hpp"

namespace athanor::hearth::quota_test {
namespace {

using Presence = QuotaWish::Presence;

QuotaWish wish(const std::string& cluster, std::map<std::string, std::int64_t> gpus = {}) {
  const bool discovered = !gpus.empty();
  return {.cluster = cluster, .discovered = discovered, .gpus = std::move(gpus)};
}

QuotaEdit edit(const Value& groups, const std::vector<QuotaWish>& wishes) {
  return edit_quotas(groups, wishes, "fournos/gpu-");
}

// "covered, ...; flavor 1/2; ..." a group, joined by " | "; order is checked on the way.
std::string text(const Value& groups) {
  std::string all;
  for (const Value& group : groups.items()) {
    std::string covered;
    for (const Value& resource : group["coveredResources"].items()) {
      covered += (covered.empty() ? "" : ", ") + resource.str();
    }
    all += (all.empty() ? "" : " | ") + covered;
    for (const Value& flavor : group["flavors"].items()) {
      std::string amounts;
      std::size_t at = 0;
      for (const Value& resource : flavor["resources"].items()) {
        EXPECT_EQ(resource["name"], group["coveredResources"][at++]);
        const Value& quota = resource["nominalQuota"];
        amounts += (amounts.empty() ? "" : "/") +
                   (quota.is_string() ? quota.str() : std::to_string(quota.as_int()));
      }
      all += "; " + flavor["name"].str() + " " + amounts;
    }
  }
  return all;
}

Value before() {
  return *yaml::parse(R"(
- coveredResources: [fournos/gpu-a100, fournos/gpu-h200, fournos/cluster-slot]
  flavors:
  - name: cluster-1
    resources:
    - {name: fournos/gpu-a100, nominalQuota: 8}
    - {name: fournos/gpu-h200, nominalQuota: 0}
    - {name: fournos/cluster-slot, nominalQuota: 100}
)");
}

TEST(Quota, WorkedExample) {
  const QuotaEdit done = edit(before(), {wish("edge", {{"fournos/gpu-l40s", 2}})});
  EXPECT_TRUE(done.changed);
  EXPECT_EQ(text(done.groups),
            "fournos/cluster-slot, fournos/gpu-a100, fournos/gpu-h200, fournos/gpu-l40s; cluster-1 "
            "100/8/0/0; edge 100/0/0/2");
  EXPECT_FALSE(edit(done.groups, {wish("edge", {{"fournos/gpu-l40s", 2}})}).changed);
}

TEST(Quota, NothingOfOursNothingChanged) {
  EXPECT_FALSE(edit(before(), {}).changed);
  EXPECT_FALSE(edit(before(), {{.cluster = "x", .presence = Presence::Leave}}).changed);
  EXPECT_FALSE(edit(before(), {{.cluster = "x", .presence = Presence::Stay}}).changed);
}

TEST(Quota, AnEmptyQueueGetsAGroup) {
  EXPECT_EQ(text(edit(Value(), {wish("a")}).groups), "fournos/cluster-slot; a 100");
  EXPECT_EQ(text(edit(Value::list(), {wish("a", {{"fournos/gpu-a100", 8}}), wish("b")}).groups),
            "fournos/cluster-slot, fournos/gpu-a100; a 100/8; b 100/0");
}

TEST(Quota, AnAdministratorsValuesStay) {
  const Value groups = *yaml::parse(R"(
- coveredResources: [cpu, fournos/cluster-slot, fournos/gpu-a100]
  flavors:
  - name: b
    resources:
    - {name: cpu, nominalQuota: "64", lendingLimit: "8"}
    - {name: fournos/cluster-slot, nominalQuota: "40"}
    - {name: fournos/gpu-a100, nominalQuota: "8", borrowingLimit: "4"}
  - name: a
    resources:
    - {name: cpu, nominalQuota: "1"}
    - {name: fournos/cluster-slot, nominalQuota: "7"}
    - {name: fournos/gpu-a100, nominalQuota: "3"}
)");
  const QuotaEdit done = edit(groups, {wish("b", {{"fournos/gpu-h200", 4}}), wish("c")});
  EXPECT_EQ(text(done.groups),
            "cpu, fournos/cluster-slot, fournos/gpu-a100, fournos/gpu-h200; b 64/40/0/4; a "
            "1/7/3/0; c 0/100/0/0");
  EXPECT_EQ(done.groups[0]["flavors"][0]["resources"][0]["lendingLimit"], Value("8"));
  EXPECT_EQ(done.groups[0]["flavors"][0]["resources"][2]["borrowingLimit"], Value("4"));
  EXPECT_EQ(done.outcomes.at("b").former_slots, 40);
}

TEST(Quota, UndiscoveredGpusStayAsTheyAre) {
  EXPECT_EQ(text(edit(before(), {wish("cluster-1")}).groups),
            "fournos/cluster-slot, fournos/gpu-a100, fournos/gpu-h200; cluster-1 100/8/0");
}

TEST(Quota, NoGpusMeansZero) {
  QuotaWish none = wish("cluster-1");
  none.discovered = true;
  EXPECT_EQ(text(edit(before(), {none}).groups),
            "fournos/cluster-slot, fournos/gpu-a100, fournos/gpu-h200; cluster-1 100/0/0");
}

TEST(Quota, TheSlotGroupIsOurs) {
  const Value groups = *yaml::parse(R"(
- coveredResources: [memory]
  flavors: [{name: m, resources: [{name: memory, nominalQuota: 1Gi}]}]
- coveredResources: [fournos/cluster-slot]
  flavors: [{name: a, resources: [{name: fournos/cluster-slot, nominalQuota: "100"}]}]
)");
  const QuotaEdit done = edit(groups, {wish("b"), wish("m")});
  EXPECT_EQ(text(done.groups), "memory; m 1Gi | fournos/cluster-slot; a 100; b 100");
  EXPECT_EQ(done.outcomes.at("m").kind, QuotaOutcome::Kind::Rejected);
  EXPECT_EQ(done.outcomes.at("m").message,
            "flavor m is in another resource group of the ClusterQueue");
}

TEST(Quota, AResourceOfAnotherGroupIsLeftOut) {
  const Value groups = *yaml::parse(R"(
- coveredResources: [fournos/cluster-slot]
  flavors: [{name: a, resources: [{name: fournos/cluster-slot, nominalQuota: "100"}]}]
- coveredResources: [fournos/gpu-a100]
  flavors: [{name: g, resources: [{name: fournos/gpu-a100, nominalQuota: "1"}]}]
)");
  const QuotaEdit done =
      edit(groups, {wish("b", {{"fournos/gpu-a100", 8}, {"fournos/gpu-l4", 1}})});
  EXPECT_EQ(text(done.groups),
            "fournos/cluster-slot, fournos/gpu-l4; a 100/0; b 100/1 | fournos/gpu-a100; g 1");
  EXPECT_EQ(done.outcomes.at("b").kind, QuotaOutcome::Kind::Rejected);
}

TEST(Quota, ClosingAndLeaving) {
  QuotaWish closed = wish("cluster-1");
  closed.slots = 0;
  EXPECT_EQ(text(edit(before(), {closed}).groups),
            "fournos/cluster-slot, fournos/gpu-a100, fournos/gpu-h200; cluster-1 0/8/0");
  const QuotaWish leaving{.cluster = "cluster-1", .presence = Presence::Leave};
  const QuotaEdit two = edit(before(), {wish("edge")});
  EXPECT_EQ(text(edit(two.groups, {leaving}).groups),
            "fournos/cluster-slot, fournos/gpu-a100, fournos/gpu-h200; edge 100/0/0");
  EXPECT_EQ(text(edit(before(), {leaving}).groups), "");
}

std::vector<QuotaWish> many(int count, int gpu_types) {
  std::vector<QuotaWish> wishes;
  for (int i = 0; i < count; ++i) {
    std::map<std::string, std::int64_t> gpus;
    for (int type = 0; type < gpu_types; ++type) {
      gpus["fournos/gpu-t" + std::to_string(type)] = 1;
    }
    wishes.push_back(wish("c" + std::to_string(1000 + i), gpus));
  }
  return wishes;
}

TEST(QuotaLimits, TheSixtyFifthFlavorIsRefused) {
  const QuotaEdit done = edit(Value(), many(70, 0));
  EXPECT_EQ(done.groups[0]["flavors"].size(), 64U);
  EXPECT_EQ(done.outcomes.at("c1063").kind, QuotaOutcome::Kind::Synced);
  EXPECT_EQ(done.outcomes.at("c1064").kind, QuotaOutcome::Kind::QuotaLimit);
  EXPECT_TRUE(done.outcomes.at("c1064").message.starts_with(
      "the ClusterQueue may hold at most 64 flavors: remove a cluster, or "));
  // Who is there stays, whatever the order of the wishes is now.
  std::vector<QuotaWish> turned = many(70, 0);
  std::reverse(turned.begin(), turned.end());
  EXPECT_FALSE(edit(done.groups, turned).changed);
}

TEST(QuotaLimits, PairsAreBounded) {
  const QuotaEdit done = edit(Value(), many(64, 8));  // 9 resources with the slot
  EXPECT_EQ(done.groups[0]["flavors"].size(), 56U);   // 504 pairs
  EXPECT_EQ(done.outcomes.at("c1056").kind, QuotaOutcome::Kind::QuotaLimit);
  // A new type of GPU on a cluster that is there finds no room; all else goes on.
  std::vector<QuotaWish> more = many(56, 8);
  more.front().gpus["fournos/gpu-new"] = 1;
  more.back().gpus["fournos/gpu-t0"] = 5;
  const QuotaEdit next = edit(done.groups, more);
  EXPECT_EQ(next.outcomes.at("c1000").kind, QuotaOutcome::Kind::QuotaLimit);
  EXPECT_EQ(next.outcomes.at("c1055").kind, QuotaOutcome::Kind::Synced);
  EXPECT_TRUE(next.changed);
}

TEST(QuotaLimits, SpecifiedScaleFits) {
  EXPECT_EQ(edit(Value(), many(64, 7)).groups[0]["flavors"].size(), 64U);
}

}  // namespace
}  // namespace athanor::hearth::quota_test
