// SPDX-License-Identifier: Apache-2.0
// One grammar of filters: the cases are those of the pages (web/test/filter.test.ts), and of
// `athanor top`.
#include "console/model/list_filter.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/files/text_file.hpp"
#include "console/data/accelerator_rows.hpp"
#include "console/data/appwrapper_rows.hpp"
#include "console/data/cluster_rows.hpp"
#include "console/data/job_rows.hpp"
#include "console/data/queue_rows.hpp"
#include "console/data/schedule_rows.hpp"
#include "console/model/list_query.hpp"
#include "kube/text/json.hpp"
#include "support/source_dir/source_dir.hpp"

namespace athanor::console::list_filter_test {
namespace {

Value fixture() {
  const std::string path = std::string(test::source_dir()) + "/web/test/filter_cases.json";
  return *json::parse(*read_text_file(path));
}

TEST(ListFilter, TakesFiltersOfThePages) {
  const Value all = fixture();
  const Instant now = *parse_time(all["now"].as_string());
  for (const Value& one : all["cases"].items()) {
    const auto filter = parse_filter(job_shape(), one["filter"].as_string(), now);
    if (!filter.ok()) {
      EXPECT_EQ(filter.error().token, one["wrong"].str()) << one["filter"].as_string();
      continue;
    }
    EXPECT_FALSE(one.contains("wrong")) << one["filter"].as_string();
    Value names = Value::list();
    for (const Value& row : all["rows"].items()) {
      if (passes_filter(*filter, row, "")) {
        names.push_back(row["name"]);
      }
    }
    EXPECT_EQ(json::print(names), json::print(one["names"])) << one["filter"].as_string();
  }
}

TEST(ListFilter, KnowsTheKeysOfPages) {
  const Value all = fixture();
  const Instant now = *parse_time(all["now"].as_string());
  for (const ListShape* shape : {&job_shape(), &cluster_shape(), &node_shape(), &schedule_shape(),
                                 &workload_shape(), &appwrapper_shape()}) {
    ASSERT_TRUE(all["keys"][shape->name].is_list()) << shape->name;
    for (const Value& key : all["keys"][shape->name].items()) {
      bool known = false;
      for (const char* value : {"x", "1", "true", "<2h"}) {  // of some type of column
        known = known || parse_filter(*shape, key.str() + ":" + value, now).ok();
      }
      EXPECT_TRUE(known) << shape->name << " " << key.as_string();
    }
  }
}

TEST(ListFilter, LooksIntoListsOfObjects) {
  const auto filter = parse_filter(cluster_shape(), "gpu:h200 lock:held", {});
  ASSERT_TRUE(filter.ok());
  const auto row = [](const std::string& type) {
    return *json::parse(R"({"gpus":[{"type":"a100"},{"type":")" + type +
                        R"("}],"lock":{"state":"Held"}})");
  };
  EXPECT_TRUE(passes_filter(*filter, row("h200"), ""));
  EXPECT_FALSE(passes_filter(*filter, row("a30"), ""));
}

}  // namespace
}  // namespace athanor::console::list_filter_test
