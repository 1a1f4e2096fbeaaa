// SPDX-License-Identifier: Apache-2.0
// Every list at 80 columns: states, cron lines and times stay whole, the last column keeps 30
// places, names give way first.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/jobs/job_templates.hpp"
#include "cli/lab/lab_records.hpp"
#include "embedded/kueue/explain/queue_tree.hpp"
#include "systems/das/verb/slice_map.hpp"
#include "systems/numa/report.hpp"
#include "views/appwrapper_view.hpp"
#include "views/cluster_view.hpp"
#include "views/event_view.hpp"
#include "views/job_view.hpp"
#include "views/layout.hpp"
#include "views/queue_view.hpp"
#include "views/schedule_view.hpp"
#include "views/table.hpp"

namespace athanor::cli::narrow_lists_test {
namespace {

using Cells = std::vector<std::string>;

struct NarrowList {
  std::string name{};
  Cells titles{};
  Cells cells{};
  Cells whole{};  // cells that are not cut
};

Cells numa_titles() {
  Cells titles = numa::overview_header();
  titles.emplace_back("UPDATED");
  return titles;
}

Cells schedule_titles(bool with_namespace) {
  return views::schedule_listing({}, with_namespace, Instant(), {}).titles;
}

// Rows as a busy fleet has them.
std::vector<NarrowList> narrow_lists() {
  const std::string name = "benchmark-of-the-largest-model-a1b2c";
  const Cells schedule{name,
                       "Active",
                       "30 2 * * 1-5",
                       "Europe/Berlin",
                       "llm-serving",
                       "production-1",
                       "llm-team",
                       "23h",
                       "2026-03-28 02:30 (in 23h)"};
  const Cells job{name,
                  "llm-team",
                  "Succeeded",
                  "production-1",
                  "2026-01-31 08:00:05",
                  "5m3s",
                  "2d",
                  "step-measure exited with code 7"};
  const Cells app{name, "Terminating", "default-queue", "1/2", "16/16", "10 left", "23h"};
  const Cells event{
      "59m",         "Warning", "FailedScheduling",
      "Pod/" + name, "117",     "0/4 nodes are available: 4 Insufficient nvidia.com/gpu."};
  const auto placed = [](Cells cells) {
    cells.insert(cells.begin(), "fournos-local-dev");
    return cells;
  };
  return {
      {"jobs", views::job_header({}), job, {"Succeeded", "2d"}},
      {"jobs -A", views::job_header({.with_namespace = true}), placed(job), {"Succeeded", "2d"}},
      {"queue",
       views::queue_header(),
       {"fournos-queue", "running", name, "10000", "fournos/cluster-slot=1,fournos/gpu-a100=2",
        "waits for a100: cluster-1 lacks 2"},
       {"running", "10000"}},
      {"clusters",
       views::cluster_header(false),
       {"production-cluster-1", "llm-team", "16x H200, 8x A100", "Unreachable,Cordoned", "true",
        "fournos-queue", "100%", "23h"},
       {"Unreachable,Cordoned", "true", "100%", "23h"}},
      {"appwrappers", views::appwrapper_header(false), app, {"Terminating", "10 left", "16/16"}},
      {"appwrappers -A",
       views::appwrapper_header(true),
       placed(app),
       {"Terminating", "10 left", "16/16"}},
      {"templates",
       template_listing({}, false, Instant()).titles,
       {name, "llm-team", "llm-serving", "fournos-benchmark", "production-1", "8 h200", "2d",
        "each night, on all of the cluster"},
       {"8 h200"}},
      {"schedules",
       schedule_titles(false),
       schedule,
       {"Active", "30 2 * * 1-5", "2026-03-28 02:30 (in 23h)"}},
      {"schedules -A",
       schedule_titles(true),
       placed(schedule),
       {"Active", "30 2 * * 1-5", "2026-03-28 02:30 (in 23h)"}},
      {"events", views::event_header(false), event, {"59m", "Warning", "FailedScheduling"}},
      {"events -A", views::event_header(true), placed(event), {"59m", "FailedScheduling"}},
      {"slices",
       das::gpu_header(),
       {"gpu-node-of-the-second-rack-17", "3", "mig", "12", "16", "Unhealthy",
        "GPU-31cfe05c-ed13-cd17-d7aa-c63db5108c24", "default/" + name},
       {"mig", "12", "16", "Unhealthy"}},
      {"numa",
       numa_titles(),
       {"gpu-node-of-the-second-rack-17", "node-1", "hugepages-1Gi", "117964800Ki", "131072000Ki",
        "[####......]", "59m"},
       {"node-1", "hugepages-1Gi", "117964800Ki", "[####......]", "59m"}},
      {"queues",
       kueue::queue_tree_header(),
       {"ClusterQueue", "fournos-queue", "all-teams", "production-1", "fournos/gpu-a100", "16",
        "16", "100%", "0", "12", "4"},
       {"16", "100%", "12"}},
      {"labs",
       lab_header(),
       lab_row({.name = "athanor-of-the-second-rack",
                .data = "/home/ann/labs/athanor-of-the-second-rack",
                .address = "https://127.0.0.1:16443",
                .lab = "/home/ann/athanor/examples/tutorial/lab.yaml",
                .started = "2026-01-31T08:00:00Z",
                .pid = 117'117},
               parse_time("2026-01-31T10:00:00Z").value_or(Instant())),
       {"running", "https://127.0.0.1:16443"}}};
}

std::string row_at(const NarrowList& list, std::size_t columns) {
  views::Table table(list.titles);
  table.add(list.cells);
  return table.text({.columns = columns, .no_headers = true});
}

TEST(NarrowLists, KeepStatesTimesAndReasons) {
  for (const NarrowList& list : narrow_lists()) {
    SCOPED_TRACE(list.name);
    ASSERT_EQ(list.titles.size(), list.cells.size());
    const std::string row = row_at(list, 80);
    EXPECT_LE(views::display_width(row), 81U) << row;
    for (const std::string& cell : list.whole) {
      EXPECT_NE((" " + row).find(" " + cell), std::string::npos) << cell << "\n" << row;
    }
    // One place may be the sign that more follows.
    EXPECT_NE(row.find(list.cells.back().substr(0, 29)), std::string::npos) << row;
    EXPECT_NE(row.find(list.cells.front().substr(0, 7)), std::string::npos) << row;
  }
}

TEST(NarrowLists, ShowEverythingOnWideScreens) {
  for (const NarrowList& list : narrow_lists()) {
    SCOPED_TRACE(list.name);
    const std::string row = row_at(list, 200);
    for (const std::string& cell : list.cells) {
      EXPECT_NE(row.find(cell), std::string::npos) << cell << "\n" << row;
    }
  }
}

TEST(NarrowLists, LeaveOutColumnsOfSchedules) {
  const auto lists = narrow_lists();
  const auto schedules = std::ranges::find(lists, "schedules", &NarrowList::name);
  ASSERT_NE(schedules, lists.end());
  views::Table table(schedules->titles);
  table.add(schedules->cells);
  EXPECT_EQ(table.text(80),
            "NAME          STATE   SCHEDULE      ZONE           NEXT\n"
            "benchmark-o…  Active  30 2 * * 1-5  Europe/Berlin  2026-03-28 02:30 (in 23h)\n");
}

}  // namespace
}  // namespace athanor::cli::narrow_lists_test
