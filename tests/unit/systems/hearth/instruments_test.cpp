// SPDX-License-Identifier: Apache-2.0
// Hearth's metrics: what they say of clusters, probes and writes (docs/spec/hearth.md section 12).
#include "systems/hearth/instruments.hpp"

#include "lab.hpp"

namespace athanor::hearth::instruments_test {
namespace {

std::string text_of(const Samples& samples) {
  std::string text;
  for (const Sample& sample : samples) {
    text += std::string(sample.act == Sample::Act::Drop ? "-" : "") + std::string(sample.metric);
    for (const auto& [name, value] : sample.labels) {
      text.append(" ").append(name).append("=").append(value);
    }
    text += " " + std::to_string(static_cast<long long>(sample.value * 1000)) + "\n";
  }
  return text;
}

std::string tally(const Happening& happening) {
  Samples samples;
  hearth_instruments().tally(happening, samples);
  return text_of(samples);
}

class HearthInstruments : public Lab {
 protected:
  std::string state() {
    Reads reads;
    Samples samples;
    hearth_instruments().state(View(world, reads), samples);
    return text_of(samples);
  }
};

TEST_F(HearthInstruments, NoClusterIsNoCluster) {
  EXPECT_EQ(state(),
            "hearth_clusters kubeconfig_status=Invalid 0\n"
            "hearth_clusters kubeconfig_status=Missing 0\n"
            "hearth_clusters kubeconfig_status=Unreachable 0\n"
            "hearth_clusters kubeconfig_status=Valid 0\n");
}

TEST_F(HearthInstruments, ReportStatesOfClusters) {
  onboard("a");
  onboard("b");
  world.remove(api::kSecret, {kSecrets, "kubeconfig-b"});
  set_owner("a", "alice", "30m");
  EXPECT_EQ(state(),
            "hearth_gpus cluster=a vendor=nvidia short_name=a100 16000\n"
            "hearth_cluster_state cluster=a state=Valid 1000\n"
            "hearth_cluster_cordoned cluster=a 0\n"
            "hearth_probe_failures_in_a_row cluster=a 0\n"
            "hearth_lock_state cluster=a state=Acquiring 1000\n"
            "hearth_lock_expires_timestamp_seconds cluster=a 1767573000000\n"
            "hearth_gpus cluster=b vendor=nvidia short_name=a100 16000\n"
            "hearth_cluster_state cluster=b state=Missing 1000\n"
            "hearth_cluster_cordoned cluster=b 0\n"
            "hearth_probe_failures_in_a_row cluster=b 0\n"
            "hearth_lock_state cluster=b state=Unlocked 1000\n"
            "hearth_clusters kubeconfig_status=Invalid 0\n"
            "hearth_clusters kubeconfig_status=Missing 1000\n"
            "hearth_clusters kubeconfig_status=Unreachable 0\n"
            "hearth_clusters kubeconfig_status=Valid 1000\n");
}

TEST_F(HearthInstruments, ProbesCountByCluster) {
  onboard("a");
  const std::string& question = questions.front();
  EXPECT_EQ(tally(QuestionAnswered{
                .query = question, .good = true, .took = std::chrono::milliseconds(250)}),
            "hearth_probe_duration_seconds cluster=a 250\n"
            "hearth_probe_failures_total cluster=a 0\n");
  EXPECT_EQ(tally(QuestionAnswered{.query = question, .took = std::chrono::seconds(10)}),
            "hearth_probe_duration_seconds cluster=a 10000\n"
            "hearth_probe_failures_total cluster=a 1000\n");
  EXPECT_EQ(tally(QuestionAnswered{.query = "timezone:UTC", .good = true}), "");
}

TEST_F(HearthInstruments, RemoveSeriesOfGoneCluster) {
  onboard("a");
  const Object object = cluster("a");
  EXPECT_EQ(tally(ObjectChanged{.kind = api::kFournosCluster, .before = &object}),
            "-hearth_probe_duration_seconds cluster=a 1000\n"
            "-hearth_probe_failures_total cluster=a 1000\n");
  EXPECT_EQ(tally(ObjectChanged{.kind = api::kFournosCluster, .before = &object, .after = &object}),
            "");
}

TEST(HearthTally, WritesOfTheQueueByTheirAnswer) {
  const auto wrote = [](std::string_view op, const Kind& kind, int code) {
    return tally(WriteAnswered{.op = op, .step = "patch", .kind = kind, .code = code});
  };
  for (const auto& [code, result] :
       {std::pair{0, "success"}, {409, "conflict"}, {403, "refused"}, {503, "error"}}) {
    std::string all;
    for (const std::string known : {"success", "conflict", "refused", "error"}) {
      all += "hearth_clusterqueue_writes_total result=" + known +
             (known == result ? " 1000\n" : " 0\n");
    }
    EXPECT_EQ(wrote("hearth-queue", api::kueue::kClusterQueue, code), all);
  }
  EXPECT_EQ(wrote("hearth-queue", api::kFournosCluster, 0), "");
  EXPECT_EQ(wrote("kueue-clusterqueue", api::kueue::kClusterQueue, 0), "");
}

TEST(HearthTally, ReconcilesOfItsOwnControllers) {
  EXPECT_EQ(
      tally(Reconciled{.op = "fournoscluster", .took = std::chrono::milliseconds(5), .code = 409}),
      "hearth_reconcile_duration_seconds 5\nhearth_reconcile_errors_total 1000\n");
  EXPECT_EQ(tally(Reconciled{.op = "hearth-queue"}),
            "hearth_reconcile_duration_seconds 0\nhearth_reconcile_errors_total 0\n");
  EXPECT_EQ(tally(Reconciled{.op = "fournosjob"}), "");
}

}  // namespace
}  // namespace athanor::hearth::instruments_test
