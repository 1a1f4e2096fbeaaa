// SPDX-License-Identifier: Apache-2.0
// The live screen as text: 80 and 200 columns, keys, filters, refusals.
#include "cli/top/top_view.hpp"

#include <gtest/gtest.h>

#include "base/files/text_file.hpp"
#include "cli/top/keyboard.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "support/source_dir/source_dir.hpp"
#include "views/cluster_view.hpp"
#include "views/job_view.hpp"
#include "views/layout.hpp"

namespace athanor::cli::top_view_test {
namespace {

Object object(const std::string& yaml) {
  return Object(*yaml::parse(yaml));
}

Object job(const std::string& name, const std::string& phase, const std::string& message) {
  return object("kind: FournosJob\nmetadata: {name: " + name +
                ", namespace: bench, labels: {team: llm}, creationTimestamp: "
                "\"2026-01-31T08:00:00Z\"}\nspec: {owner: ann}\nstatus: {phase: " +
                phase + ", cluster: cluster-1, message: \"" + message + "\"}");
}

TopData data() {
  TopData data{.now = parse_time("2026-01-31T09:00:00Z").value_or(Instant()), .ns = "bench"};
  data.jobs =
      views::job_listing({job("train", "Running", "Pipeline running"),
                          job("tune", "Failed", "Tasks Completed: 1 (Failed: 1, Cancelled 0)")},
                         {{{"bench", "tune"}, "step-measure exited with code 7"}}, {}, data.now);
  data.clusters = views::cluster_listing(
      {object("metadata: {name: edge, namespace: hearth}\nstatus: {kubeconfigStatus: Invalid}")},
      {}, {}, false, data.now);
  data.zones = zone_listing({object(
      "metadata: {name: n1}\nzones: [{name: node-0, type: Node, resources: [{name: cpu, available: "
      "\"3\", allocatable: \"8\"}]}]")});
  data.absent = {{TopView::Slices, "this cluster has no nodeaccelerators"}};
  return data;
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += line + "\n";
  }
  return text;
}

std::string screen(TopView view, std::size_t columns, std::size_t lines) {
  TopState state;
  state.view = view;
  return text_of(top_screen(data(), state, {.columns = columns, .lines = lines}));
}

TEST(TopScreen, ShowsTheOverviewInEightyColumns) {
  EXPECT_EQ(screen(TopView::Overview, 80, 10),
            "[1 overview] 2 jobs 3 queue 4 clusters 5 slices 6 zones 7 appwrappers\n"
            "WHAT             STATE\n"
            "jobs             1 Failed, 1 Running\n"
            "queue            0 hold quota, 0 wait\n"
            "clusters         1 Invalid\n"
            "NUMA zones       1 zones\n"
            "! cluster edge   is Invalid: athanor describe clusters/edge\n"
            "! job tune       step-measure exited with code 7: athanor logs tune --failed\n"
            "\n"
            "1-6 of 6  q ends  / filters  ? helps\n");
}

TEST(TopScreen, ShowsJobsInTwoHundredColumns) {
  const std::string shown = screen(TopView::Jobs, 200, 6);
  EXPECT_EQ(
      shown,
      "1 overview [2 jobs] 3 queue 4 clusters 5 slices 6 zones 7 appwrappers" +
          std::string(104, ' ') +
          "bench  2026-01-31T09:00:00Z\n"
          "NAME    OWNER   PHASE     CLUSTER     START   DURATION   AGE   MESSAGE\n"
          "train   ann     Running   cluster-1   -       -          60m   Pipeline running\n"
          "tune    ann     Failed    cluster-1   -       -          60m   step-measure exited "
          "with code 7\n"
          "\n"
          "1-2 of 2  q ends  / filters  ? helps\n");
}

TEST(TopScreen, FitsEverySize) {
  for (std::size_t view = 0; view < kTopViews; ++view) {
    for (const std::size_t columns : {20U, 40U, 80U, 200U}) {
      for (const std::size_t lines : {4U, 10U, 50U}) {
        TopState state;
        state.view = static_cast<TopView>(view);
        const auto shown = top_screen(data(), state, {.columns = columns, .lines = lines});
        EXPECT_EQ(shown.size(), lines);
        for (const std::string& line : shown) {
          EXPECT_LE(views::display_width(line), columns) << line;
          EXPECT_EQ(line.find('\x1b'), std::string::npos) << "colours that were not asked for";
        }
      }
    }
  }
}

TEST(TopScreen, NamesMissingKinds) {
  EXPECT_NE(screen(TopView::Slices, 80, 6).find("this cluster has no nodeaccelerators"),
            std::string::npos);
  EXPECT_NE(screen(TopView::AppWrappers, 80, 6).find("no appwrappers"), std::string::npos);
}

TEST(TopScreen, PaintsFailuresWhereColoursAreAllowed) {
  TopState state;
  state.view = TopView::Jobs;
  const std::string shown =
      text_of(top_screen(data(), state, {.columns = 80, .lines = 6, .colours = true}));
  EXPECT_NE(shown.find("\x1b[31mtune"), std::string::npos) << shown;
}

TEST(TopKeys, ChooseViewsAndScroll) {
  TopState state;
  EXPECT_TRUE(top_key(state, "j", 100, 13));
  EXPECT_EQ(state.view, TopView::Jobs);
  EXPECT_TRUE(top_key(state, "pagedown", 100, 13));
  EXPECT_EQ(state.first, 10U);
  EXPECT_TRUE(top_key(state, "up", 100, 13));
  EXPECT_EQ(state.first, 9U);
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(top_key(state, "pagedown", 100, 13));
  }
  EXPECT_EQ(state.first, 90U);
  EXPECT_TRUE(top_key(state, "4", 1, 13));
  EXPECT_EQ(state.view, TopView::Clusters);
  EXPECT_EQ(state.first, 0U);
  EXPECT_TRUE(top_key(state, "?", 1, 13));
  EXPECT_TRUE(state.help);
  EXPECT_FALSE(top_key(state, "q", 1, 13));
}

TEST(TopKeys, TypeAFilter) {
  TopState state;
  state.view = TopView::Jobs;
  for (const char* key : {"/", "p", "h", "a", "s", "e", ":", "f", "a", "i", "l", "e", "x",
                          "backspace", "d", "enter"}) {
    EXPECT_TRUE(top_key(state, key, 2, 24));
  }
  EXPECT_FALSE(state.typing);
  EXPECT_EQ(rows_of(data(), state), 1U);
  EXPECT_TRUE(top_key(state, "escape", 1, 24));
  EXPECT_EQ(rows_of(data(), state), 2U);
}

TEST(TopKeys, AreReadFromATerminal) {
  EXPECT_EQ(keys_of("j\x1b[A\x1b[6~\r\x03"),
            (std::vector<std::string>{"j", "up", "pagedown", "enter", "interrupt"}));
  EXPECT_EQ(keys_of("\x1b"), std::vector<std::string>{"escape"});
  EXPECT_EQ(keys_of("\x1b[15~q"), std::vector<std::string>{"q"}) << "other keys are ignored";
}

std::size_t taken(std::string_view text) {
  TopState state;
  state.view = TopView::Jobs;
  const auto filter = ViewFilter::parse(text);
  EXPECT_TRUE(filter.ok()) << text;
  state.filter = filter.value_or(ViewFilter());
  return rows_of(data(), state);
}

TEST(ViewFilter, TakesRowsByKeyAndText) {
  EXPECT_EQ(taken("train"), 1U);
  EXPECT_EQ(taken("-train"), 1U);
  EXPECT_EQ(taken("owner:ann phase:failed"), 1U);
  EXPECT_EQ(taken("label:team=llm"), 2U);
  EXPECT_EQ(taken("label:team=other"), 0U);
  EXPECT_EQ(taken("age:<2h"), 2U);
  EXPECT_EQ(taken("age:>2h"), 0U);
  EXPECT_EQ(taken("nosuch:x"), 0U);
  EXPECT_EQ(taken("ns:bench cluster:cluster-1"), 2U);
  EXPECT_FALSE(ViewFilter::parse("phase:").ok());
  EXPECT_FALSE(ViewFilter::parse("age:soon").ok());
}

// The cases of the pages and the JSON API, for columns that the terminal has.
TEST(ViewFilter, TakesFiltersOfThePages) {
  const Value all = *json::parse(
      *read_text_file(std::string(test::source_dir()) + "/web/test/filter_cases.json"));
  views::Listing listing{.titles = {"NAME", "PHASE", "OWNER"}, .rows = {}};
  for (const Value& row : all["rows"].items()) {
    views::ListRow one;
    one.object = Object(
        Value::object({{"metadata", Value::object({{"name", row["name"]},
                                                   {"namespace", row["ns"]},
                                                   {"labels", row["labels"]},
                                                   {"creationTimestamp", row["created"]}})}}));
    one.cells = {row["name"].str(), row["phase"].str(), row["owner"].str()};
    one.traits.phase = row["phase"].str();
    listing.rows.push_back(std::move(one));
  }
  for (const Value& one : all["cases"].items()) {
    if (one.contains("top")) {
      continue;
    }
    const auto filter = ViewFilter::parse(one["filter"].as_string());
    EXPECT_EQ(filter.ok(), !one.contains("wrong")) << one["filter"].as_string();
    Value names = Value::list();
    for (const views::ListRow& row : listing.rows) {
      if (filter.ok() && filter->takes(listing, row, *parse_time(all["now"].as_string()))) {
        names.push_back(row.object.name());
      }
    }
    if (filter.ok()) {
      EXPECT_EQ(json::print(names), json::print(one["names"])) << one["filter"].as_string();
    }
  }
}

TEST(TopValue, HasTheRowsOfTheScreen) {
  const auto filter = ViewFilter::parse("phase:Failed");
  ASSERT_TRUE(filter.ok());
  const Value jobs = top_value(data(), TopView::Jobs, *filter);
  EXPECT_EQ(jobs["view"].as_string(), "jobs");
  ASSERT_EQ(jobs["rows"].size(), 1U);
  EXPECT_EQ(jobs["rows"][0]["cells"]["NAME"].as_string(), "tune");
  const Value overview = top_value(data(), TopView::Overview, ViewFilter());
  EXPECT_EQ(overview["cards"]["jobs"].as_string(), "1 Failed, 1 Running");
  EXPECT_EQ(overview["problems"].size(), 2U);
}

}  // namespace
}  // namespace athanor::cli::top_view_test
