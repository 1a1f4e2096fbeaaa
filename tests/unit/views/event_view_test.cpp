// SPDX-License-Identifier: Apache-2.0
// Events as rows, and those of one object.
#include "views/event_view.hpp"

#include <gtest/gtest.h>

#include "kube/text/yaml.hpp"

namespace athanor::views::event_view_test {
namespace {

Object event(const std::string& kind, const std::string& name, const std::string& last) {
  return Object(*yaml::parse("metadata: {name: e-" + name + ", namespace: ns}\ntype: Warning\n" +
                             "reason: Failed\nmessage: \"one\\ntwo\"\ncount: 3\nlastTimestamp: \"" +
                             last + "\"\ninvolvedObject: {kind: " + kind + ", name: " + name +
                             "}"));
}

TEST(Events, AreListedByTheirLastTime) {
  const Instant now = parse_time("2026-01-31T09:00:00Z").value_or(Instant());
  const Listing listing = event_listing(
      {event("Pod", "b", "2026-01-31T08:59:00Z"), event("Pod", "a", "2026-01-31T08:50:00Z")}, true,
      now);
  ASSERT_EQ(listing.rows.size(), 2U);
  EXPECT_EQ(listing.rows[0].cells,
            (std::vector<std::string>{"ns", "10m", "Warning", "Failed", "Pod/a", "3", "one two"}));
}

TEST(Events, BelongToAnObjectAndItsMembers) {
  const EventSubject job{.name = "j", .members = {{"Pod", "other"}}};
  EXPECT_TRUE(is_about(event("FournosJob", "j", ""), job));
  EXPECT_TRUE(is_about(event("TaskRun", "j-run", ""), job));
  EXPECT_TRUE(is_about(event("Pod", "other", ""), job));
  EXPECT_FALSE(is_about(event("Pod", "jj", ""), job));
  EXPECT_FALSE(is_about(event("Job", "other", ""), job));
}

}  // namespace
}  // namespace athanor::views::event_view_test
