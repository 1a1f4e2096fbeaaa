// SPDX-License-Identifier: Apache-2.0
// Repairs of the quota of clusters (docs/spec/dashboard.md B4.11).
#include "console/history/repair_log.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "console/history/history.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::console::repair_log_test {
namespace {

Object cluster(const std::string& repairs) {
  return Object(
      *yaml::parse("{metadata: {name: c1, namespace: h, annotations: "
                   "{fournos.dev/quota-repairs: \"" +
                   repairs + "\"}}}"));
}

TEST(RepairLog, RecordsEachRepairOnce) {
  RepairLog log;
  EXPECT_TRUE(log.see(Object(*yaml::parse("{metadata: {name: c1}}"))).empty());
  EXPECT_EQ(log.see(cluster("2026-01-01T00:00:00Z")).size(), 1U);
  EXPECT_EQ(log.see(cluster("2026-01-01T00:00:00Z x 2026-01-01T00:00:10Z")).size(), 1U);
  // The oldest left the annotation.
  EXPECT_TRUE(log.see(cluster("2026-01-01T00:00:10Z")).empty());
  const auto found = log.since("2026-01-01T00:00:05Z");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0]["at"].str(), "2026-01-01T00:00:10Z");
  EXPECT_FALSE(found[0]["fight"].as_bool());
}

TEST(RepairLog, MarksTheSixthRepairAsFight) {
  std::string times;
  for (int i = 0; i < 6; ++i) {
    times += "2026-01-01T00:00:0" + std::to_string(i) + "Z ";
  }
  RepairLog log;
  const auto repairs = log.see(cluster(times));
  ASSERT_EQ(repairs.size(), 6U);
  EXPECT_FALSE(repairs[4]["fight"].as_bool());
  EXPECT_TRUE(repairs[5]["fight"].as_bool());
}

TEST(RepairLog, SurvivesARestart) {
  const std::string path = testing::TempDir() + "console-repairs.db";
  const auto remove = [&] {
    for (const char* end : {"", "-wal", "-shm"}) {
      std::remove((path + end).c_str());
    }
  };
  remove();
  const auto clock = wall_clock();
  for (int start = 0; start < 2; ++start) {
    auto store = open_sqlite_history(path, "ns");
    ASSERT_TRUE(store.ok());
    History history(*std::move(store), *clock, 0, nullptr);
    history.see_cluster(cluster("2026-01-01T00:00:00Z 2026-01-01T00:00:10Z"));
    EXPECT_EQ(history.repairs(Instant()).size(), 2U);
  }
  const auto store = open_sqlite_history(path, "ns");
  ASSERT_TRUE(store.ok());
  EXPECT_EQ((*store)->repairs(10)->size(), 2U);
  remove();
}

}  // namespace
}  // namespace athanor::console::repair_log_test
