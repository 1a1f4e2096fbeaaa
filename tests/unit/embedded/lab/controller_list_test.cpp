// SPDX-License-Identifier: Apache-2.0
// What --controllers lets run.
#include <gtest/gtest.h>

#include "embedded/lab/control_plane.hpp"
#include "embedded/lab/embedded_operators.hpp"
#include "product/list.hpp"

namespace athanor::lab::controller_list_test {
namespace {

std::vector<const Operator*> all_operators() {
  std::vector<const Operator*> operators = embedded_operators();
  for (const System* system : all_systems()) {
    if (system->stand_in) {
      operators.insert(operators.end(), system->operators.begin(), system->operators.end());
    }
  }
  return operators;
}

TEST(ControllerList, TheFirstWordThatNamesAControllerDecides) {
  struct Case {
    const char* list;
    const char* name;
    bool runs;
  };
  for (const Case& c :
       {Case{"*", "job-controller", true}, Case{"", "job-controller", false},
        Case{"job-controller", "job-controller", true},
        Case{"job-controller", "deployment-controller", false},
        Case{"*,-job-controller", "job-controller", false},
        Case{"-job-controller,*", "job-controller", false},
        Case{"*,-job-controller", "deployment-controller", true}, Case{"external", "kubelet", true},
        Case{"external", "emulated-node", true}, Case{"external", "tekton-taskrun", true},
        Case{"external", "default-scheduler", false},
        Case{"external", "namespace-controller", false},
        Case{"external,job-controller", "job-controller", true},
        Case{"external,-kubelet", "kubelet", false}}) {
    EXPECT_EQ(controller_enabled(c.list, c.name), c.runs) << c.list << " " << c.name;
  }
}

TEST(ControllerList, LeavesOutKubeControllerLoopsByExternal) {
  // The embedded ones that stand for theirs have their names, which end so; ours do not.
  for (const std::string& name : controller_names(all_operators())) {
    const bool theirs = name.ends_with("-controller") || name == "default-scheduler";
    EXPECT_EQ(controller_enabled("external", name), !theirs) << name;
  }
}

TEST(ControllerList, NamesPartsThatTheLabRuns) {
  using Parts = std::vector<std::string>;
  EXPECT_EQ(own_components("*"), (Parts{"controller-manager", "scheduler"}));
  EXPECT_EQ(own_components("*,-default-scheduler"), Parts{"controller-manager"});
  EXPECT_EQ(own_components("external"), Parts{});
}

TEST(ControllerList, AWrongNameListsTheRightOnes) {
  EXPECT_TRUE(check_controllers("*,-job-controller,external", all_operators()).ok());
  const auto wrong = check_controllers("*,-jobs", all_operators());
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("\"jobs\" is no controller"), std::string::npos);
  EXPECT_NE(wrong.error().message.find("job-controller"), std::string::npos);
  EXPECT_FALSE(check_controllers("-*", all_operators()).ok());
}

}  // namespace
}  // namespace athanor::lab::controller_list_test
