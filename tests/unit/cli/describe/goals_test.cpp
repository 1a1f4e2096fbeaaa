// SPDX-License-Identifier: Apache-2.0
// What `athanor wait` waits for.
#include "cli/describe/goals.hpp"

#include <gtest/gtest.h>

#include <string>

#include "kube/text/yaml.hpp"

namespace athanor::cli::goals_test {
namespace {

Object object(const std::string& text) {
  return Object(*yaml::parse(text));
}

std::string outcome(const std::string& goal, views::Subject kind, const Object& seen) {
  const auto parsed = parse_goal(goal);
  if (!parsed.ok()) {
    return parsed.error().message;
  }
  const auto found = outcome_of(*parsed, kind, seen);
  return found ? std::to_string(found->code) + " " + found->text : "not yet";
}

Object in_phase(const std::string& phase) {
  return object("{metadata: {name: j}, status: {phase: " + phase + ", message: m}}");
}

TEST(Goals, AreTheEndAPhaseOrACondition) {
  EXPECT_EQ(outcome("", views::Subject::Job, in_phase("Running")), "not yet");
  EXPECT_EQ(outcome("", views::Subject::Job, in_phase("Succeeded")), "0 is Succeeded: m");
  EXPECT_EQ(outcome("", views::Subject::Job, in_phase("Failed")), "1 is Failed: m");
  EXPECT_EQ(outcome("phase=running", views::Subject::Job, in_phase("Running")),
            "0 is in phase running");
  EXPECT_EQ(outcome("phase=Running", views::Subject::Job, in_phase("Pending")), "not yet");
  EXPECT_EQ(outcome("phase=Running", views::Subject::Job, in_phase("Succeeded")),
            "1 is Succeeded: m")
      << "it never runs again";
  EXPECT_EQ(outcome("phase=Failed", views::Subject::Job, in_phase("Failed")),
            "0 is in phase Failed");
  EXPECT_EQ(outcome("delete", views::Subject::Job, in_phase("Succeeded")), "not yet");
  const Object locked =
      object("{status: {kubeconfigStatus: Valid, conditions: [{type: Locked, status: \"True\"}]}}");
  EXPECT_EQ(outcome("condition=Locked", views::Subject::Cluster, locked), "0 is Locked=True");
  EXPECT_EQ(outcome("condition=Locked=False", views::Subject::Cluster, locked), "not yet");
  EXPECT_EQ(outcome("", views::Subject::Cluster, locked), "0 is Valid");
  EXPECT_EQ(outcome("", views::Subject::Queue, object("{status: {}}")), "not yet");
  EXPECT_EQ(outcome("soon", views::Subject::Job, in_phase("Running")),
            "--for soon: write phase=PHASE, condition=TYPE[=STATUS] or delete");
}

TEST(Goals, PhasesAreThoseOfTheKind) {
  const Goal running = *parse_goal("phase=running");
  EXPECT_TRUE(check_phase(running, views::Subject::Job).ok());
  EXPECT_TRUE(check_phase(*parse_goal(""), views::Subject::Queue).ok());
  const auto wrong = check_phase(running, views::Subject::Queue);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().message,
            "--for phase=running: no such phase; known are Active, Inactive");
}

TEST(Goals, RecurringJobsNeverEnd) {
  const Object recurring =
      object("{status: {phase: Recurring, message: \"Recurring schedule: 0 2 * * *\"}}");
  const auto never = [&](const char* goal) {
    return never_comes(*parse_goal(goal), views::Subject::Job, recurring);
  };
  EXPECT_TRUE(never(""));
  EXPECT_TRUE(never("phase=Running"));
  EXPECT_FALSE(never("phase=Stopped"));
  EXPECT_FALSE(never("delete"));
  EXPECT_FALSE(never_comes(*parse_goal(""), views::Subject::Job, in_phase("Running")));
}

}  // namespace
}  // namespace athanor::cli::goals_test
