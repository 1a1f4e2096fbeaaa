// SPDX-License-Identifier: Apache-2.0
// Controllers on the page about the system (docs/spec/dashboard.md B4.12).
#include "console/data/controllers.hpp"

#include <gtest/gtest.h>

#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::console::controllers_test {
namespace {

constexpr const char* kMetrics =
    "# HELP workqueue_depth Keys ready to run.\n"
    "workqueue_depth{name=\"jobs\"} 3\n"
    "workqueue_depth{name=\"locks\"} 0\n"
    "controller_runtime_active_workers{controller=\"jobs\"} 1\n"
    "controller_runtime_reconcile_errors_total{controller=\"jobs\"} 7\n"
    "athanor_overdue_keys{controller=\"locks\",for=\"sight\"} 2\n"
    "other{name=\"a\\\"b\",controller=\"x\"} NaN\n"
    "leader_election_master_status{name=\"athanor\"} 1\n";

TEST(Controllers, JoinMetricsAndTheQueue) {
  const Value queue = *yaml::parse(R"(
keys:
- {controller: jobs, key: n/a, state: backoff, error: no answer, failures: 2}
- {controller: jobs, key: n/b, state: backoff, error: late, failures: 1}
- {controller: jobs, key: n/c, state: ready}
controllers: {jobs: {waitsForLists: []}, locks: {}, kinds: {waitsForLists: [pods]}})");
  const Value rows = controller_rows(kMetrics, queue);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(json::print(rows[0]),
            R"({"name":"jobs","state":"failing","queue":3,"active":1,"errors":7,"failing":2,)"
            R"("why":"2 keys are tried again after an error","lastError":"n/a: no answer"})");
  EXPECT_EQ(rows[1]["state"].as_string(), "waiting");
  EXPECT_EQ(rows[1]["why"].as_string(), "not listed yet: pods");
  EXPECT_EQ(rows[2]["state"].as_string(), "stuck");
  EXPECT_TRUE(leading_of(kMetrics).as_bool());
  EXPECT_TRUE(leading_of("a 1\n").is_null());
}

TEST(Controllers, SurviveOddMetrics) {
  for (const char* text :
       {"", "x", "workqueue_depth{name=\"", "workqueue_depth{name=\"a", "workqueue_depth{name=\"\\",
        "workqueue_depth{} 1", "{} 1", "} 1", "workqueue_depth 1e999\n\n"}) {
    EXPECT_EQ(controller_rows(text, Value()).size(), 0U) << text;
  }
}

TEST(Controllers, NameFailedChecks) {
  const Value checks = ready_checks("[+]caches ok\n[-]apiserver failed\nreadyz check failed\n");
  ASSERT_EQ(checks.size(), 2U);
  EXPECT_TRUE(checks[0]["ok"].as_bool());
  EXPECT_EQ(checks[1]["check"].as_string(), "apiserver failed");
}

TEST(Controllers, HaveWatchesWithTheirLag) {
  const Value rows = controller_watches(*yaml::parse(R"(
- {resource: pods, group: "", listed: true, watching: false, lists: 2, events: 7, lagSeconds: 3.5, quietSeconds: 4, error: gone}
- {resource: fournosjobs, group: fournos.dev, namespace: team, listed: false, watching: false, lists: 0, events: 0})"));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["kind"].as_string(), "pods");
  EXPECT_EQ(rows[0]["lagSeconds"].as_double(), 3.5);
  EXPECT_EQ(rows[0]["error"].as_string(), "gone");
  EXPECT_EQ(rows[1]["ns"].as_string(), "team");
  EXPECT_FALSE(rows[1].contains("lagSeconds")) << "never listed";
  EXPECT_EQ(controller_watches(Value()).size(), 0U);
}

TEST(Controllers, LeadWhileTheLeaseIsRenewed) {
  const Object lease(
      *yaml::parse("{metadata: {name: athanor, namespace: s}, spec: {holderIdentity: pod-1, "
                   "leaseDurationSeconds: 15, renewTime: \"2026-01-01T00:00:00.000000Z\"}}"));
  const Instant renewed = *parse_time("2026-01-01T00:00:00Z");
  EXPECT_TRUE(leader_of(lease, renewed + std::chrono::seconds(15))["held"].as_bool());
  EXPECT_FALSE(leader_of(lease, renewed + std::chrono::seconds(16))["held"].as_bool());
  EXPECT_EQ(leader_of(lease, renewed)["holder"].as_string(), "pod-1");
}

}  // namespace
}  // namespace athanor::console::controllers_test
