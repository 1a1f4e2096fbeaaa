// SPDX-License-Identifier: Apache-2.0
// The text form of metrics.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/metrics/metrics.hpp"

namespace athanor::runtime::metrics_test {
namespace {

TEST(Metrics, PrintsCounters) {
  Metrics metrics;
  metrics.counter("jobs_total", "Jobs.", {{"phase", "Done"}}).add(2);
  metrics.gauge("depth", "Depth.").set(3);
  metrics.histogram("seconds", "Seconds.", {1, 2}).observe(1.5);
  const std::string text = metrics.text();
  EXPECT_THAT(text, ::testing::HasSubstr("# HELP jobs_total Jobs.\n# TYPE jobs_total counter\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("jobs_total{phase=\"Done\"} 2\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("depth 3\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("seconds_bucket{le=\"2\"} 1\n"));
  EXPECT_EQ(metrics.counter("jobs_total", "", {{"phase", "Done"}}).value(), 2);
}

TEST(Metrics, RemovesAllSeriesOfALabel) {
  Metrics metrics;
  for (const char* result : {"good", "bad"}) {
    for (const char* queue : {"a", "b"}) {
      metrics.counter("runs_total", "Runs.", {{"queue", queue}, {"result", result}}).add();
      metrics.histogram("seconds", "Seconds.", {1}, {{"queue", queue}, {"result", result}})
          .observe(0.5);
    }
  }
  for (const char* name : {"runs_total", "seconds", "unknown"}) {
    metrics.remove_all(name, {{"queue", "a"}});
  }
  const std::string text = metrics.text();
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("queue=\"a\"")));
  EXPECT_THAT(text, ::testing::HasSubstr("runs_total{queue=\"b\",result=\"good\"} 1\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("seconds_count{queue=\"b\",result=\"bad\"} 1\n"));
  metrics.counter("runs_total", "Runs.", {{"queue", "a"}, {"result", "bad"}}).add();
  EXPECT_THAT(metrics.text(), ::testing::HasSubstr("{queue=\"a\",result=\"bad\"} 1\n"))
      << "it begins anew";
}

}  // namespace
}  // namespace athanor::runtime::metrics_test
