// SPDX-License-Identifier: Apache-2.0
#include "cluster/narrow_watch.hpp"

#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "kube/text/json.hpp"

namespace athanor::cluster::narrow_watch_test {
namespace {

Object pod(std::string_view text) {
  return Object(*json::parse(text));
}

TEST(NarrowWatch, ShowsObjectsThatItsSelectorsMatch) {
  const Object here =
      pod(R"({"metadata": {"name": "p", "labels": {"app": "x"}}, "spec": {"nodeName": "n1"}})");
  const Object there = pod(R"({"metadata": {"name": "q"}, "spec": {"nodeName": "n2"}})");
  struct Row {
    std::string labels{};
    std::string fields{};
    bool hides_some = true;
    bool here = true;
    bool there = false;
  };
  const Row rows[] = {
      {"", "", false, true, true},
      {"app=x", ""},
      {"!app", "", true, false, true},
      {"", "spec.nodeName=n1"},
      {"", "spec.nodeName!=n1", true, false, true},
      {"", "metadata.name=p,spec.nodeName=n2", true, false, false},
      {"", "status.phase=Failed", true, false, false},
      {"a=(", "", false, true, true},
  };
  for (const Row& row : rows) {
    const NarrowWatch watch(
        {.kind = &api::kPod, .label_selector = row.labels, .field_selector = row.fields});
    EXPECT_EQ(watch.hides_some(), row.hides_some) << row.labels << row.fields;
    EXPECT_EQ(watch.shows(here), row.here) << row.labels << row.fields;
    EXPECT_EQ(watch.shows(there), row.there) << row.labels << row.fields;
  }
}

}  // namespace
}  // namespace athanor::cluster::narrow_watch_test
