// SPDX-License-Identifier: Apache-2.0
// --controllers of the production world, and its configuration file.
#include "cli/controllers/operator_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "cli/controllers/controllers_flags.hpp"

namespace athanor::cli {
namespace {

std::vector<std::string> names(const std::string& list) {
  std::vector<std::string> result;
  const auto operators = select_operators(list);
  EXPECT_TRUE(operators.ok()) << operators.error().message;
  for (const Operator* op : operators.ok() ? *operators : std::vector<const Operator*>()) {
    result.emplace_back(op->name);
  }
  return result;
}

TEST(OperatorList, AllSystemsAreNotTheStandIns) {
  const auto all = names("*");
  EXPECT_NE(std::ranges::find(all, "fournosjob"), all.end());
  EXPECT_EQ(std::ranges::find(all, "kueue-admission"), all.end());
}

TEST(OperatorList, SystemsAndControllersComeAndGo) {
  EXPECT_EQ(names("tekton"), (std::vector<std::string>{"tekton-pipelinerun", "tekton-taskrun"}));
  EXPECT_EQ(names("tekton,-tekton-taskrun"), (std::vector<std::string>{"tekton-pipelinerun"}));
  EXPECT_EQ(names("kubelet,kubelet"), (std::vector<std::string>{"kubelet"}));
}

TEST(OperatorList, RefusesWhatIsUnknownAndNothing) {
  EXPECT_EQ(select_operators("*,nonsense").error().message.find("--controllers: \"nonsense\" is "),
            0U);
  EXPECT_FALSE(select_operators("").ok());
  EXPECT_FALSE(select_operators("tekton,-tekton").ok());
}

TEST(ControllersConfig, KeysAreFlags) {
  const auto arguments = config_arguments(
      "log-level: debug\nnamespace: [a, b]\nkube-api-qps: 20\nleader-elect: false\n", "c.yaml");
  ASSERT_TRUE(arguments.ok());
  EXPECT_EQ(*arguments,
            (std::vector<std::string>{"--log-level=debug", "--namespace=a", "--namespace=b",
                                      "--kube-api-qps=20", "--leader-elect=false"}));
}

TEST(ControllersConfig, NamesWhatIsWrong) {
  EXPECT_EQ(config_arguments("- a\n", "c.yaml").error().message, "c.yaml: not a map of flags");
  EXPECT_EQ(config_arguments("log-level:\n", "c.yaml").error().message,
            "c.yaml: log-level has no value");
  EXPECT_FALSE(config_arguments("a: [", "c.yaml").ok());
}

}  // namespace
}  // namespace athanor::cli
