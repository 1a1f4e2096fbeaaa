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

}  // namespace
}  // namespace athanor::cli::goals_test
