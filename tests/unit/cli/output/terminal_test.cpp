// SPDX-License-Identifier: Apache-2.0
// Tables on a screen that is not wide enough, and colours that nobody sees.
#include "cli/output/terminal.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "views/layout.hpp"
#include "views/table.hpp"

namespace athanor::cli::terminal_test {
namespace {

TEST(Tables, LinesAreCutToTheScreen) {
  views::Table table({"NAME", "MESSAGE"});
  table.add({"a", "grüße an alle"});
  EXPECT_EQ(table.text(), "NAME   MESSAGE\na      grüße an alle\n");
  EXPECT_EQ(table.text(14), "NAME  MESSAGE\na     grüße a…\n");
  EXPECT_EQ(table.text(1), "…\na\n");
}

// Names and requests give way before the reason does.
TEST(Tables, KeepThirtyPlacesForTheReason) {
  const std::string why = "waits for a100: cluster-1 lacks 2, cluster-4 lacks 1";
  views::Table table({"QUEUE", "PLACE", "WORKLOAD", "PRIORITY", "REQUESTS", "WHY"});
  table.add({"fournos-queue", "3", "benchmark-of-the-largest-model-a1b2c", "100",
             "fournos/cluster-slot=1,fournos/gpu-a100=2", why});
  EXPECT_EQ(table.text(200),
            "QUEUE           PLACE   WORKLOAD                               PRIORITY   REQUESTS"
            "                                    WHY\n"
            "fournos-queue   3       benchmark-of-the-largest-model-a1b2c   100        "
            "fournos/cluster-slot=1,fournos/gpu-a100=2   " +
                why + "\n");
  EXPECT_EQ(table.text(100),
            "QUEUE          PLACE  WORKLOAD           PRIORITY  REQUESTS           WHY\n"
            "fournos-queue  3      benchmark-of-the…  100       fournos/cluster-…  waits for a100: "
            "cluster-1 lac…\n");
  EXPECT_EQ(table.text(80),
            "QUEUE      PLACE  WORKLOAD   PRIORITY  REQUESTS   WHY\n"
            "fournos-…  3      benchmar…  100       fournos/…  waits for a100: cluster-1 lac…\n");
}

TEST(Tables, CutNamesBeforeStates) {
  views::Table queue({"QUEUE", "PLACE", "WORKLOAD", "PRIORITY", "REQUESTS", "WHY"});
  queue.add({"fournos-queue", "running", "bench/benchmark-a1b2c", "0", "fournos/cluster-slot=1",
             "on cluster-2, since the morning of yesterday"});
  EXPECT_NE(queue.text(80).find(" running "), std::string::npos) << queue.text(80);
  EXPECT_NE(queue.text(80).find("on cluster-2, since the morni…"), std::string::npos)
      << queue.text(80);
  views::Table jobs(
      {"NAMESPACE", "NAME", "OWNER", "PHASE", "CLUSTER", "START", "DURATION", "AGE", "MESSAGE"});
  jobs.add({"fournos-local-dev", "benchmark-a1b2c", "ann", "Running", "cluster-2",
            "2026-01-31 08:00:05", "5m3s", "2d", "Pipeline running: Tasks Completed: 1"});
  EXPECT_NE(jobs.text(80).find(" Running "), std::string::npos) << jobs.text(80);
}

TEST(Tables, LeaveOutStartAndDurationOnNarrowScreens) {
  views::Table table({"NAME", "OWNER", "PHASE", "CLUSTER", "START", "DURATION", "AGE", "MESSAGE"});
  table.add({"benchmark-of-the-largest-model", "llm-team", "Failed", "cluster-2",
             "2026-01-31 08:00:05", "5m3s", "2d", "step-measure exited with code 7"});
  EXPECT_EQ(
      table.text(200),
      "NAME                             OWNER      PHASE    CLUSTER     START                 "
      "DURATION   AGE   MESSAGE\n"
      "benchmark-of-the-largest-model   llm-team   Failed   cluster-2   2026-01-31 08:00:05   "
      "5m3s       2d    step-measure exited with code 7\n");
  const std::string narrow = table.text(80);
  EXPECT_EQ(narrow.find("START"), std::string::npos) << narrow;
  EXPECT_NE(narrow.find("step-measure exited with code"), std::string::npos) << narrow;
}

TEST(Tables, LiveRowsKeepTheReason) {
  const LiveTable table({"QUEUE", "WORKLOAD", "WHY"}, {16, 30, 0});
  const std::string row = table.row(
      {"q", "a-very-long-name-of-a-workload-that-waits", "waits for a100: c1 lacks 2"}, 60);
  EXPECT_NE(row.find("waits for a100: c1 lacks 2"), std::string::npos) << row;
  EXPECT_EQ(table.header(60).find("WHY"), views::display_width(row.substr(0, row.find("waits"))));
  EXPECT_EQ(table.row({"q", "w", "y"}, 0),
            "q                  w                                y\n");
}

TEST(Tables, ReportTextThatTheDiskDidNotTake) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  const int kept = ::dup(STDOUT_FILENO);
  ASSERT_TRUE(full >= 0 && kept >= 0);
  ::dup2(full, STDOUT_FILENO);
  EXPECT_EQ(lost_output(), "");
  Terminal(STDOUT_FILENO).print("text");
  ::dup2(kept, STDOUT_FILENO);
  ::close(kept);
  ::close(full);
  EXPECT_NE(lost_output().find("No space left"), std::string::npos) << lost_output();
}

TEST(Tables, APipeIsNoScreen) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const Terminal terminal(ends[1]);
  EXPECT_EQ(terminal.columns(), 0U);
  EXPECT_EQ(terminal.paint("text", Colour::Red), "text");
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace athanor::cli::terminal_test
