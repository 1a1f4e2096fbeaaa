// SPDX-License-Identifier: Apache-2.0
// Names of docs/spec/tekton.md 7.4 and 9, and the text forms of messages.
#include "embedded/tekton/model/names.hpp"

#include <gtest/gtest.h>

#include "base/digest.hpp"
#include "embedded/tekton/model/text.hpp"

namespace athanor::tekton::names_test {
namespace {

TEST(ChildName, IsParentAndSuffixWhileItFits) {
  EXPECT_EQ(child_name("run", "-task"), "run-task");
  const std::string parent(58, 'p');
  EXPECT_EQ(child_name(parent, "-task"), parent + "-task");
}

TEST(ChildName, HashesLongParentAndKeepsShortSuffix) {
  const std::string parent(62, 'p');
  const std::string name = child_name(parent, "-pod");
  EXPECT_EQ(name, std::string(27, 'p') + md5_hex(parent) + "-pod");
  EXPECT_EQ(name.size(), 63U);
}

TEST(ChildName, HashesBothWhenTheSuffixIsLong) {
  const std::string parent(40, 'p');
  const std::string suffix = "-" + std::string(40, 's');
  EXPECT_EQ(child_name(parent, suffix), std::string(31, 'p') + md5_hex(parent + suffix));
}

TEST(TaskRunName, NeverExceedsSixtyThreeAndIsStable) {
  for (std::size_t run = 1; run <= 63; ++run) {
    for (std::size_t task = 1; task <= 63; ++task) {
      const std::string name = task_run_name(std::string(run, 'r'), std::string(task, 't'));
      ASSERT_LE(name.size(), 63U);
      ASSERT_EQ(name, task_run_name(std::string(run, 'r'), std::string(task, 't')));
      ASSERT_TRUE(is_dns_label(name)) << name;
    }
  }
}

TEST(MatrixTaskRunName, KeepsTheOrdinal) {
  EXPECT_EQ(matrix_task_run_name("run", "task", "-3"), "run-task-3");
  const std::string name = matrix_task_run_name(std::string(40, 'r'), std::string(40, 't'), "-12");
  EXPECT_TRUE(name.ends_with("-12")) << name;
  EXPECT_LE(name.size(), 63U);
}

TEST(PodName, CountsRetries) {
  EXPECT_EQ(pod_name("run-a", 0), "run-a-pod");
  EXPECT_EQ(pod_name("run-a", 1), "run-a-pod-retry1");
  EXPECT_EQ(pod_name("run-a", 2), "run-a-pod-retry2");
}

TEST(ClaimName, ComesFromWorkspaceAndOwner) {
  EXPECT_EQ(claim_name("", "artifacts", "u1"), "pvc-" + sha256_hex("artifactsu1").substr(0, 10));
  EXPECT_EQ(claim_name("data", "artifacts", "u1"),
            "data-" + sha256_hex("artifactsu1").substr(0, 10));
}

TEST(InlinePipelineName, IsGenerateNameWithoutItsEnd) {
  EXPECT_EQ(inline_pipeline_name("nightly-", "nightly-x1"), "nightly");
  EXPECT_EQ(inline_pipeline_name("", "run"), "run");
}

TEST(Text, PrintsAsGoDoes) {
  EXPECT_EQ(quoted("a\"b\n"), "\"a\\\"b\\n\"");
  EXPECT_EQ(go_list(std::vector<std::string>{"a", "b"}), "[a b]");
  EXPECT_TRUE(is_dns_label("a-1"));
  EXPECT_FALSE(is_dns_label("-a"));
  EXPECT_FALSE(is_dns_label("A"));
  EXPECT_FALSE(is_dns_label(""));
  EXPECT_FALSE(is_dns_label(std::string(64, 'a')));
}

}  // namespace
}  // namespace athanor::tekton::names_test
