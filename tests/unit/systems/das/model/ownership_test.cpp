// SPDX-License-Identifier: Apache-2.0
// Which API hands out which GPU (docs/spec/das.md 15.1).
#include "systems/das/model/ownership.hpp"

#include <gtest/gtest.h>

#include <string>

namespace athanor::das::ownership_test {
namespace {

// "pd": device plugins, then DRA; or the error.
std::string wanted(const char* setting, const char* annotation, std::size_t gpus) {
  const auto apis = wanted_apis(setting, annotation, gpus);
  if (!apis.ok()) {
    return apis.error().message;
  }
  std::string text;
  for (const AllocationApi api : *apis) {
    text += api == AllocationApi::Dra ? 'd' : 'p';
  }
  return text;
}

TEST(Ownership, FollowsTheSettingAndTheAnnotation) {
  struct Case {
    const char* setting;
    const char* annotation;
    std::size_t gpus;
    const char* expected;
  };
  for (const Case& one : {Case{"deviceplugin", "", 3, "ppp"},
                          {"dra", "", 2, "dd"},
                          {"both", "", 1, "p"},
                          {"both", "", 2, "pd"},
                          {"both", "", 5, "pppdd"},
                          {"both", "dra", 2, "dd"},
                          {"both", "deviceplugin", 2, "pp"},
                          {"both", "0=dra", 3, "dpd"},
                          {"both", "0=dra,2=deviceplugin", 3, "dpp"},
                          {"dra", "dra", 1, "d"}}) {
    EXPECT_EQ(wanted(one.setting, one.annotation, one.gpus), one.expected)
        << one.setting << " " << one.annotation;
  }
}

TEST(Ownership, NamesFaultsOfAnnotation) {
  const std::string head = "invalid das.inference.redhat.com/allocation-api \"";
  const std::string form = "must be deviceplugin, dra or a list of INDEX=API";
  EXPECT_EQ(wanted("both", "mps", 2), head + "mps\": " + form);
  EXPECT_EQ(wanted("both", "0=x", 2), head + "0=x\": " + form);
  EXPECT_EQ(wanted("both", "a=dra", 2), head + "a=dra\": " + form);
  EXPECT_EQ(wanted("both", "=dra", 2), head + "=dra\": " + form);
  EXPECT_EQ(wanted("both", "0=dra,,1=dra", 2), head + "0=dra,,1=dra\": " + form);
  EXPECT_EQ(wanted("both", "2=dra", 2), head + "2=dra\": there is no GPU 2");
  EXPECT_EQ(wanted("deviceplugin", "dra", 2), head + "dra\": the allocation API is deviceplugin");
}

TEST(Ownership, IsKeptInTheNodeAccelerator) {
  Value resources = Value::object(
      {{"nodeGpus", Value::list({Value::object({{"gpuUuid", "a"}}), Value::object()})}});
  EXPECT_EQ(apis_of(resources),
            (std::vector{AllocationApi::DevicePlugin, AllocationApi::DevicePlugin}));
  set_apis(resources, {AllocationApi::Dra, AllocationApi::DevicePlugin});
  EXPECT_EQ(resources["nodeGpus"][0]["allocationApi"].str(), "dra");
  EXPECT_EQ(apis_of(resources), (std::vector{AllocationApi::Dra, AllocationApi::DevicePlugin}));
}

TEST(Ownership, AGpuWithClaimsStaysWhereItIs) {
  const auto gpus = [](const char* first, const char* second) {
    Value resources = Value::object(
        {{"nodeGpus",
          Value::list({Value::object({{"gpuUuid", "a"}}), Value::object({{"gpuUuid", "b"}})})}});
    for (const auto& [index, api] : {std::pair{0, first}, {1, second}}) {
      if (api != nullptr) {
        resources.member("nodeGpus")
            .item(static_cast<std::size_t>(index))
            .set("allocationApi", api);
      }
    }
    return resources;
  };
  Value now = gpus(nullptr, nullptr);
  EXPECT_TRUE(assign_apis(now, Value(), "both", "", {}).ok());
  EXPECT_EQ(now, gpus("deviceplugin", "dra"));
  EXPECT_TRUE(
      assign_apis(now, gpus("deviceplugin", "dra"), "both", "0=dra,1=deviceplugin", {"a"}).ok());
  EXPECT_EQ(now, gpus("deviceplugin", "deviceplugin"));
  EXPECT_TRUE(assign_apis(now, now, "both", "dra", {}).ok());
  EXPECT_EQ(now, gpus("dra", "dra"));
  // What is wrong changes nothing, and is said.
  EXPECT_FALSE(assign_apis(now, gpus("dra", "dra"), "both", "9=dra", {}).ok());
  EXPECT_EQ(now, gpus("dra", "dra"));
}

}  // namespace
}  // namespace athanor::das::ownership_test
