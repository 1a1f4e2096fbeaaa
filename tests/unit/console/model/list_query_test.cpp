// SPDX-License-Identifier: Apache-2.0
// Filters, orders, columns and pages of lists (docs/spec/dashboard.md B5, G3).
#include "console/model/list_query.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "console/data/job_rows.hpp"
#include "kube/text/json.hpp"

namespace athanor::console::list_query_test {
namespace {

const Instant kNow = *parse_time("2026-01-01T12:00:00Z");

std::vector<Value> rows() {
  std::vector<Value> all;
  for (
      const char* text :
      {R"({"ns":"a","name":"one","phase":"Failed","owner":"ann","created":"2026-01-01T11:00:00Z","labels":{"team":"x"},"hardware":{"gpuType":"a100","gpuCount":4},"exclusive":true,"archived":false,"message":"no Quota"})",
       R"({"ns":"a","name":"two","phase":"Running","owner":"bob","created":"2026-01-01T09:00:00Z","exclusive":false,"archived":false})",
       R"({"ns":"b","name":"three","phase":"Failed","owner":"bob","created":"2025-12-01T00:00:00Z","archived":true})"}) {
    all.push_back(*json::parse(text));
  }
  return all;
}

using Parameters = std::vector<std::pair<std::string, std::string>>;

std::string names(const Parameters& parameters) {
  const auto query = parse_query(job_shape(), parameters, kNow);
  if (!query.ok()) {
    return query.error().field + ": " + query.error().token;
  }
  const Value answer = list_answer(job_shape(), *query, rows());
  std::string text;
  for (const Value& row : answer["items"].items()) {
    text += row["name"].str() + " ";
  }
  return text;
}

TEST(ListQuery, FiltersByWordsOfEachKind) {
  EXPECT_EQ(names({{"filter", "phase:failed"}}), "one three ");
  EXPECT_EQ(names({{"filter", "phase:Failed phase:Running -owner:ann"}}), "two three ");
  EXPECT_EQ(names({{"filter", "age:<2h"}}), "one ");
  EXPECT_EQ(names({{"filter", "age:>1d"}}), "three ");
  EXPECT_EQ(names({{"filter", "label:team=x"}}), "one ");
  EXPECT_EQ(names({{"filter", "gpu:a100 gpus:>3"}}), "one ");
  EXPECT_EQ(names({{"filter", "archived:true"}}), "three ");
  EXPECT_EQ(names({{"filter", "exclusive:true"}}), "one ");
  EXPECT_EQ(names({{"filter", "\"no quota\""}}), "one ");
  EXPECT_EQ(names({{"filter", "-quota"}}), "two three ");
}

TEST(ListQuery, NamesTheWrongWord) {
  EXPECT_EQ(names({{"filter", "phase:Failed colour:red"}}), "filter: colour:red");
  EXPECT_EQ(names({{"filter", "exclusive:perhaps"}}), "filter: exclusive:perhaps");
  EXPECT_EQ(names({{"filter", "gpus:many"}}), "filter: gpus:many");
  EXPECT_EQ(names({{"filter", "age:2h"}}), "filter: age:2h");
  EXPECT_EQ(names({{"filter", "phase:"}}), "filter: phase:");
  EXPECT_EQ(names({{"sort", "colour"}}), "sort: ");
  EXPECT_EQ(names({{"fields", "colour"}}), "fields: ");
  EXPECT_EQ(names({{"limit", "0"}}), "limit: ");
  EXPECT_EQ(names({{"limit", "1001"}}), "limit: ");
  EXPECT_EQ(names({{"continue", "x"}}), "continue: ");
}

TEST(ListQuery, SortsWithTiesByName) {
  EXPECT_EQ(names({{"sort", "-created"}}), "one two three ");
  EXPECT_EQ(names({{"sort", "age"}}), "one two three ");
  EXPECT_EQ(names({{"sort", "owner,-created"}}), "one two three ");
  EXPECT_EQ(names({{"sort", "-phase"}}), "two one three ");
  EXPECT_EQ(names({{"sort", "-hardware.gpuCount"}}), "one two three ") << "absent ones come last";
  EXPECT_EQ(names({{"sort", "hardware.gpuCount"}}), "one two three ");
}

TEST(ListQuery, CutsPagesAndColumns) {
  const Parameters parameters{
      {"limit", "1"}, {"sort", "name"}, {"fields", "phase,hardware.gpuType"}};
  const auto query = parse_query(job_shape(), parameters, kNow);
  ASSERT_TRUE(query.ok());
  const Value answer = list_answer(job_shape(), *query, rows());
  EXPECT_EQ(json::print(answer["items"]),
            R"([{"phase":"Failed","hardware":{"gpuType":"a100"},"ns":"a","name":"one"}])");
  EXPECT_EQ(answer["total"].as_int(), 3);
  EXPECT_EQ(answer["continue"].as_string(), "1");
  EXPECT_EQ(names({{"limit", "1"}, {"continue", "2"}}), "three ");
}

TEST(ListQuery, CountsStatesWithoutTheirOwnFilter) {
  const Parameters parameters{{"filter", "phase:Running owner:bob"}};
  const auto query = parse_query(job_shape(), parameters, kNow);
  ASSERT_TRUE(query.ok());
  const Value answer = list_answer(job_shape(), *query, rows());
  EXPECT_EQ(json::print(answer["facets"]), R"({"phase":{"Failed":1,"Running":1}})");
  EXPECT_EQ(answer["total"].as_int(), 1);
}

}  // namespace
}  // namespace athanor::console::list_query_test
