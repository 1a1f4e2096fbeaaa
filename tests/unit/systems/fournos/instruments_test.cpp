// SPDX-License-Identifier: Apache-2.0
// Fournos' metrics: phases, waits and failures of jobs (docs/spec/fournos.md section 16).
#include "systems/fournos/instruments.hpp"

#include <string>

#include "lab.hpp"

namespace athanor::fournos::instruments_test {
namespace {

class FournosInstruments : public Lab {
 protected:
  // The gauges of one metric, a line each.
  std::string state(std::string_view metric) {
    Reads reads;
    Samples samples;
    fournos_instruments().state(View(world, reads), samples);
    std::string text;
    for (const Sample& sample : samples) {
      if (sample.metric == metric) {
        for (const auto& [name, value] : sample.labels) {
          text.append(name).append("=").append(value).append(" ");
        }
        text += std::to_string(static_cast<long long>(sample.value)) + "\n";
      }
    }
    return text;
  }
  std::string waits() { return state("fournos_jobs_waiting_since_timestamp_seconds"); }
  std::string failures() { return state("fournos_failures_in_a_row"); }

  // A job with this status; the specification is a JSON object.
  void job(const std::string& name, const std::string& spec, const std::string& status) {
    put("{apiVersion: fournos.dev/v1, kind: FournosJob, metadata: {name: " + name +
        ", namespace: " + kNs + ", uid: u-" + name +
        ", creationTimestamp: \"2026-01-05T00:00:00Z\"}, spec: " + spec + ", status: " + status +
        "}");
  }
  void ended(const std::string& name, const std::string& phase, const std::string& minute) {
    job(name, "{}",
        "{phase: " + phase + ", cluster: cluster-1, completionTime: \"2026-01-05T01:" + minute +
            ":00Z\"}");
  }
};

constexpr const char* kMidnight = "1767571200";

TEST_F(FournosInstruments, ReportTheLongestWaitByCluster) {
  EXPECT_EQ(waits(), "");
  job("a", "{cluster: cluster-1}", "{phase: Pending}");
  job("b", "{cluster: cluster-1}",
      "{phase: Pending, conditions: [{type: WorkloadAdmitted, status: \"False\", "
      "lastTransitionTime: \"2026-01-05T00:01:00Z\"}]}");
  job("c", "{}",
      "{phase: Pending, conditions: [{type: WorkloadAdmitted, status: \"False\", "
      "lastTransitionTime: \"2026-01-05T00:01:00Z\"}]}");
  EXPECT_EQ(waits(), std::string("cluster= 1767571260\ncluster=cluster-1 ") + kMidnight + "\n");
}

TEST_F(FournosInstruments, LeaveLocksAndScheduledJobsOut) {
  job("lock", "{cluster: cluster-1, lockOnly: true}", "{phase: Pending}");
  job("until", "{cluster: cluster-1, lockUntil: \"2027-01-01T00:00:00Z\"}", "{phase: Pending}");
  job("later", "{cluster: cluster-1}", "{phase: Scheduled}");
  job("runs", "{cluster: cluster-1}", "{phase: Running}");
  EXPECT_EQ(waits(), "");
}

TEST_F(FournosInstruments, CountFailuresSinceTheLastSuccess) {
  ended("a", "Failed", "01");
  ended("b", "Succeeded", "02");
  EXPECT_EQ(failures(), "cluster=cluster-1 0\n");
  ended("c", "Failed", "03");
  ended("d", "Stopped", "04");
  ended("e", "Failed", "05");
  EXPECT_EQ(failures(), "cluster=cluster-1 2\n");
  ended("f", "Succeeded", "06");
  EXPECT_EQ(failures(), "cluster=cluster-1 0\n");
}

TEST_F(FournosInstruments, BlameNoClusterForInvalidJobs) {
  job("a", "{}", "{phase: Failed, completionTime: \"2026-01-05T01:00:00Z\"}");
  EXPECT_EQ(failures(), "");
}

TEST_F(FournosInstruments, OrderEndsWithoutCompletionTimeByConditions) {
  const auto end = [](const std::string& phase, const std::string& minute) {
    return "{phase: " + phase +
           ", cluster: cluster-1, conditions: [{type: PipelineRunReady, status: \"True\", "
           "lastTransitionTime: \"2026-01-05T01:" +
           minute + ":00Z\"}]}";
  };
  job("a", "{}", end("Succeeded", "01"));
  job("b", "{}", end("Failed", "02"));
  EXPECT_EQ(failures(), "cluster=cluster-1 1\n");
}

}  // namespace
}  // namespace athanor::fournos::instruments_test
