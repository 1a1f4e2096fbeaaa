// SPDX-License-Identifier: Apache-2.0
// What a start finds and does: restarts of agent and node (docs/spec/das.md 3.4, 8.4, N-B9).
#include "systems/das/agent/start_up.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "kube/text/yaml.hpp"
#include "kube/value/condition.hpp"
#include "systems/das/agent/allocate.hpp"
#include "systems/das/model/names.hpp"

namespace athanor::das::start_up_test {
namespace {

class StartUpTest : public testing::Test {
 protected:
  StartUpTest() {
    findings.sight.pods["p"] = Object(
        yaml::parse("{metadata: {name: p, uid: p}, spec: {containers: [{name: c}, {name: d}]}}")
            .value());
  }
  // A claim in use with its file and its slice, as an agent leaves it.
  void add(const std::string& name, int start, const std::string& container = "c") {
    const Object object(
        yaml::parse(fmt::format("{{metadata: {{name: {0}, uid: {0}}}, spec: {{profile: 1g.5gb, "
                                "container: {2}, gpuUUID: GPU-0, nodename: n, podRef: {{name: p, "
                                "uid: p}}, migPlacement: {{start: {1}, size: 1}}}}, status: "
                                "{{state: inUse}}}}",
                                name, start, container))
            .value());
    findings.sight.claims.push_back(*read_claim(object));
    findings.files.push_back({.profile = "1g.5gb",
                              .id = cdi_id_of("p", container, "1g.5gb"),
                              .claims = {object.body()}});
    findings.records.push_back(record_of(findings.sight.claims.back(), "MIG-" + name));
    findings.slices.push_back({"GPU-0", "MIG-" + name, start, 1});
    findings.gpus.insert("GPU-0");
  }

  // As add(), of two claims in one file.
  void add_both(const std::string& first, const std::string& second) {
    add(first, 0);
    add(second, 1);
    findings.files[0].claims.push_back(findings.files[1].claims[0]);
    findings.files.pop_back();
  }
  // An exchange made the claim another pod's.
  void give(std::size_t claim, const std::string& pod) {
    Value body = findings.sight.claims[claim].object.body();
    body.set_path({"spec", "podRef", "uid"}, pod);
    findings.sight.claims[claim] = *read_claim(Object(body));
  }

  Findings findings;
};

TEST_F(StartUpTest, ARestartOfTheAgentTouchesNothing) {
  add("a", 0);
  add("b", 1, "d");
  const Measures measures = measures_of(findings);
  EXPECT_TRUE(measures.stale_claims.empty());
  EXPECT_TRUE(measures.remove_files.empty());
  EXPECT_TRUE(measures.destroy.empty());
  const Ledger ledger = ledger_of(findings.files, findings.sight);
  ASSERT_EQ(ledger.grants().size(), 2U);
  EXPECT_EQ(ledger.grants()[0].container, "c");
  EXPECT_EQ(ledger.grants()[1].container, "d");
}

// Caches that do not answer show no claims: that is no reason to destroy slices.
TEST_F(StartUpTest, DoesNothingWhileCachesDoNotAnswer) {
  add("a", 0);
  findings.sight = {.seen = false};
  findings.rebooted = true;
  const Measures measures = measures_of(findings);
  EXPECT_TRUE(measures.stale_claims.empty());
  EXPECT_TRUE(measures.remove_files.empty());
  EXPECT_TRUE(measures.destroy.empty());
  EXPECT_TRUE(measures.forget.empty());
}

TEST_F(StartUpTest, TwoClaimsOfOneFileAreNoReboot) {
  add_both("a", "b");
  EXPECT_TRUE(measures_of(findings).stale_claims.empty());
}

// The first claim alone is the other pod's: the exchange goes on after the start.
TEST_F(StartUpTest, GivesFileToNewPodAfterLastClaim) {
  add_both("a", "b");
  give(0, "q");
  EXPECT_EQ(ledger_of(findings.files, findings.sight).grants().at(0).pod_uid, "p");
  give(1, "q");
  EXPECT_EQ(ledger_of(findings.files, findings.sight).grants().at(0).pod_uid, "q");
}

TEST_F(StartUpTest, AssignsFileWithoutFirstClaimToNextClaim) {
  add_both("a", "b");
  give(1, "q");
  findings.sight.claims.erase(findings.sight.claims.begin());
  EXPECT_EQ(ledger_of(findings.files, findings.sight).grants().at(0).pod_uid, "q");
}

TEST_F(StartUpTest, AMissingFileAloneIsNoReboot) {
  add("a", 0);
  findings.files.clear();
  findings.slices.clear();
  EXPECT_TRUE(measures_of(findings).stale_claims.empty());
}

TEST_F(StartUpTest, MarksClaimsOfPodsToEndAfterReboot) {
  add("a", 0);
  add("b", 1);
  findings.rebooted = true;
  findings.slices.clear();
  const Measures measures = measures_of(findings);
  EXPECT_EQ(measures.stale_claims.size(), 2U);
  EXPECT_EQ(measures.remove_files.size(), 2U);
  EXPECT_EQ(measures.forget.size(), 2U);
  const Value status = restarted_status(measures.stale_claims[0], Instant());
  EXPECT_EQ(status["state"].str(), kOrphaned);
  EXPECT_EQ(find_condition(status["conditions"], kNodeRestarted)["status"].str(), "True");
}

// docs/spec/das.md 3.1: the slices of a GPU that vanished return with it.
TEST_F(StartUpTest, KeepsRecordsOfUnreportedGpuUntilReboot) {
  add("a", 0);
  add("b", 1);
  findings.sight.claims.pop_back();
  findings.slices.clear();
  findings.gpus.clear();
  EXPECT_TRUE(measures_of(findings).forget.empty());
  EXPECT_TRUE(measures_of(findings).destroy.empty());
  findings.rebooted = true;
  EXPECT_EQ(measures_of(findings).forget.size(), 2U);
}

TEST_F(StartUpTest, ASliceThatOutlivedTheRebootIsKept) {
  add("a", 0);
  findings.rebooted = true;
  EXPECT_TRUE(measures_of(findings).stale_claims.empty());
  findings.emulated = true;
  EXPECT_EQ(measures_of(findings).stale_claims.size(), 1U);
}

TEST_F(StartUpTest, DestroysSlicesWithoutClaim) {
  add("a", 0);
  findings.sight.claims.clear();
  const Measures measures = measures_of(findings);
  ASSERT_EQ(measures.destroy.size(), 1U);
  EXPECT_EQ(measures.destroy[0].device, "MIG-a");
  EXPECT_EQ(measures.remove_files.size(), 1U);
}

TEST_F(StartUpTest, LooksForUnfinishedSliceWithoutClaim) {
  add("a", 0);
  findings.records[0].device.clear();
  EXPECT_TRUE(measures_of(findings).destroy.empty());
  findings.sight.claims.clear();
  EXPECT_EQ(measures_of(findings).destroy.size(), 1U);
  findings.slices.clear();
  EXPECT_EQ(measures_of(findings).forget.size(), 1U);
}

// Killed between destroying the compute instance and the GPU instance.
TEST_F(StartUpTest, AnInstanceWithoutItsComputeInstanceIsDestroyed) {
  add("a", 0);
  findings.slices[0].device.clear();
  ASSERT_EQ(measures_of(findings).destroy.size(), 1U) << "its claim is there";
  EXPECT_TRUE(measures_of(findings).forget.empty());
  findings.sight.claims.clear();
  EXPECT_EQ(measures_of(findings).destroy.size(), 1U);
  EXPECT_TRUE(measures_of(findings).forget.empty());
}

TEST_F(StartUpTest, ATeardownThatBeganIsFinished) {
  add("a", 0);
  findings.records[0].leaving = true;
  EXPECT_EQ(measures_of(findings).destroy.size(), 1U);
}

// Another program made one where ours was.
TEST_F(StartUpTest, ARecordWhosePlaceIsAnothersIsForgotten) {
  add("a", 0);
  findings.slices[0].device = "MIG-foreign";
  EXPECT_EQ(measures_of(findings).forget.size(), 1U);
  EXPECT_TRUE(measures_of(findings).destroy.empty());
}

TEST_F(StartUpTest, ForeignSlicesAreNeverTouched) {
  findings.slices.push_back({"GPU-0", "MIG-foreign", 3, 1});
  const Measures measures = measures_of(findings);
  EXPECT_TRUE(measures.destroy.empty());
}

TEST(SliceRecords, SurviveWritingAndRefuseNonsense) {
  const std::vector<SliceRecord> records{{.claim_uid = "u",
                                          .claim = "a",
                                          .profile = "1g.5gb",
                                          .gpu = "GPU-0",
                                          .start = 3,
                                          .size = 1,
                                          .device = "MIG-1",
                                          .leaving = true}};
  EXPECT_EQ(parse_records(print_records(records)), records);
  EXPECT_TRUE(parse_records("").empty());
  EXPECT_TRUE(parse_records(R"({"slices": [{"claimUid": "u", "gpu": "g", "start": 7, "size": 4}]})")
                  .empty());
}

}  // namespace
}  // namespace athanor::das::start_up_test
