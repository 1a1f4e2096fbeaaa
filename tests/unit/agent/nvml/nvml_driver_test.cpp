// SPDX-License-Identifier: Apache-2.0
// The sequences of docs/spec/das.md 8.6 against the fake library, loaded as the real one is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "agent/nvml/gpu_driver.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/slices/tables.hpp"

namespace athanor::agent::nvml_driver_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class NvmlDriverTest : public testing::Test {
 protected:
  NvmlDriverTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("fake-nvml-" + std::to_string(::getpid()) + "-" +
                 std::to_string(testing::UnitTest::GetInstance()->random_seed()) + "-" +
                 std::to_string(++made_))) {
    std::filesystem::create_directories(folder_);
    ::setenv("FAKE_NVML_STATE", (folder_ / "state").c_str(), 1);
    ::setenv("FAKE_NVML_CONTROL", (folder_ / "control").c_str(), 1);
    ::setenv("FAKE_NVML_GPUS", "A100-PCIE-40GB:2", 1);
  }
  ~NvmlDriverTest() override {
    driver_.reset();
    std::filesystem::remove_all(folder_);
  }
  void control(const std::string& json) const {
    std::ofstream(folder_ / "control.new") << json;
    std::filesystem::rename(folder_ / "control.new", folder_ / "control");
  }
  GpuDriver& driver() {
    if (!driver_) {
      auto opened = open_nvml(FAKE_NVML);
      EXPECT_TRUE(opened.ok()) << opened.error().message;
      driver_ = *std::move(opened);
    }
    return *driver_;
  }
  std::string gpu(int index = 0) {
    return driver().discover().value().gpus[static_cast<std::size_t>(index)].uuid;
  }
  static SliceOrder order(const std::string& gpu, int gi, int ci, int start, int size) {
    return {.gpu = gpu,
            .profile = "p",
            .gi_profile = gi,
            .ci_profile = ci,
            .start = start,
            .size = size};
  }

  static inline int made_ = 0;
  std::filesystem::path folder_;
  std::unique_ptr<GpuDriver> driver_{};
};

TEST_F(NvmlDriverTest, FindsGpusWithTheProfilesOfTheirModel) {
  const das::Discovery found = driver().discover().value();
  ASSERT_EQ(found.gpus.size(), 2U);
  EXPECT_EQ(found.gpus[0].name, "NVIDIA A100-PCIE-40GB");
  EXPECT_EQ(found.gpus[0].memory_bytes, std::int64_t{40} << 30);
  EXPECT_EQ(found.gpus[1].index, 1);
  EXPECT_EQ(found.gpus[0].pci_bus_id, "00000000:01:00.0");
  EXPECT_EQ(found.gpus[0].numa_node, -1);
  const das::MigTable& expected = das::find_model("A100-PCIE-40GB")->table;
  ASSERT_EQ(found.gpus[0].table.profiles.size(), expected.profiles.size());
  for (std::size_t i = 0; i < expected.profiles.size(); ++i) {
    const das::MigProfile& profile = found.gpus[0].table.profiles[i];
    EXPECT_EQ(profile.name, expected.profiles[i].name);
    EXPECT_EQ(profile.starts, expected.profiles[i].starts);
    EXPECT_EQ(profile.most, expected.profiles[i].most);
    EXPECT_EQ(profile.smi_id, expected.profiles[i].smi_id);
    EXPECT_EQ(profile.ci_profile, expected.profiles[i].ci_profile) << profile.name;
  }
}

TEST_F(NvmlDriverTest, DerivesTheNamesOfEveryModel) {
  for (const das::GpuModel& model : das::gpu_models()) {
    driver_.reset();
    ::setenv("FAKE_NVML_GPUS", std::string(model.key).c_str(), 1);
    const das::Discovery found = driver().discover().value();
    ASSERT_EQ(found.gpus.size(), 1U) << model.key;
    EXPECT_EQ(found.gpus[0].table.slots, model.table.slots) << model.key;
    std::vector<std::string> names;
    for (const das::MigProfile& profile : found.gpus[0].table.profiles) {
      names.push_back(profile.name);
    }
    for (const das::MigProfile& profile : model.table.profiles) {
      EXPECT_THAT(names, testing::Contains(profile.name)) << model.key;
    }
  }
}

TEST_F(NvmlDriverTest, MakesASliceAndDestroysIt) {
  const auto made = driver().create(order(gpu(), 0, 0, 3, 1));
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_THAT(*made, StartsWith("MIG-"));
  const das::Discovery found = driver().discover().value();
  ASSERT_EQ(found.slices.size(), 1U);
  EXPECT_EQ(found.slices[0].start, 3);
  EXPECT_EQ(found.slices[0].device, *made);
  ASSERT_TRUE(driver().destroy({gpu(), 3, 1, *made}).ok());
  EXPECT_TRUE(driver().discover()->slices.empty());
  EXPECT_TRUE(driver().destroy({gpu(), 3, 1, *made}).ok()) << "what is gone counts as destroyed";
}

TEST_F(NvmlDriverTest, KnowsSlicesOfAProcessBefore) {
  const auto made = driver().create(order(gpu(), 1, 1, 2, 2));
  driver_.reset();
  ASSERT_EQ(driver().discover()->slices.size(), 1U);
  EXPECT_TRUE(driver().destroy({gpu(), 2, 2}).ok());
  EXPECT_TRUE(driver().discover()->slices.empty());
}

TEST_F(NvmlDriverTest, WalksMigDevicesWithParentHandles) {
  control(R"({"parentHandles": true})");
  const auto made = driver().create(order(gpu(1), 9, 0, 6, 2));
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_THAT(*made, StartsWith("MIG-"));
}

TEST_F(NvmlDriverTest, RefusesSliceThatDoesNotFit) {
  ASSERT_TRUE(driver().create(order(gpu(), 0, 0, 0, 1)).ok());
  const auto twice = driver().create(order(gpu(), 0, 0, 0, 1));
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().reason, "InsufficientResources");
  EXPECT_EQ(twice.error().message, "create GPU instance: Insufficient Resources");
}

struct Failure {
  const char* call;
  const char* prefix;
};
class NvmlFailureTest : public NvmlDriverTest, public testing::WithParamInterface<Failure> {};

TEST_P(NvmlFailureTest, LeavesNothingBehind) {
  const std::string uuid = gpu();
  control(std::string(R"({"parentHandles": true, "fail": {")") + GetParam().call + R"(": 999}})");
  const auto made = driver().create(order(uuid, 0, 0, 0, 1));
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message, StartsWith(GetParam().prefix));
  control("{}");
  EXPECT_TRUE(driver().discover()->slices.empty());
}
INSTANTIATE_TEST_SUITE_P(
    Calls, NvmlFailureTest,
    testing::Values(
        Failure{"nvmlDeviceGetHandleByUUID", "get device GPU-"},
        Failure{"nvmlDeviceGetGpuInstanceProfileInfo", "get GI profile info: "},
        Failure{"nvmlDeviceCreateGpuInstanceWithPlacement", "create GPU instance: "},
        Failure{"nvmlGpuInstanceGetComputeInstanceProfileInfo", "get CI profile info: "},
        Failure{"nvmlGpuInstanceCreateComputeInstance", "create compute instance: "},
        Failure{"nvmlDeviceGetMaxMigDeviceCount", "get MIG device count: "},
        Failure{"nvmlDeviceGetMigDeviceHandleByIndex", "matching MIG device not found"}),
    [](const auto& one) { return std::string(one.param.call); });

TEST_F(NvmlDriverTest, SaysThatASliceIsInUse) {
  const std::string uuid = gpu();
  const auto made = driver().create(order(uuid, 0, 0, 0, 1));
  control(R"({"inUse": ["*"]})");
  const auto destroyed = driver().destroy({uuid, 0, 1, *made});
  ASSERT_FALSE(destroyed.ok());
  EXPECT_EQ(destroyed.error().reason, "InUse");
}

// Not one call of the teardown may be taken for its success.
TEST_F(NvmlDriverTest, DestroyingSucceedsOnlyWhenThePlaceIsFree) {
  const std::string uuid = gpu();
  for (const int code : {19, 999}) {
    for (int at = 1; at < 160; ++at) {
      SCOPED_TRACE(std::to_string(code) + " at call " + std::to_string(at));
      control("{}");
      const auto made = driver().create(order(uuid, 0, 0, 5, 1));
      ASSERT_TRUE(made.ok()) << made.error().message;
      control(R"({"at": )" + std::to_string(at) + R"(, "code": )" + std::to_string(code) + "}");
      const bool done = driver().destroy({uuid, 5, 1, *made}).ok();
      control("{}");
      EXPECT_TRUE(!done || driver().discover()->slices.empty());
      ASSERT_TRUE(driver().destroy({uuid, 5, 1, *made}).ok());
      ASSERT_TRUE(driver().discover()->slices.empty());
    }
  }
}

TEST_F(NvmlDriverTest, DestroysAnInstanceWithoutItsComputeInstance) {
  const std::string uuid = gpu();
  const auto made = driver().create(order(uuid, 0, 0, 5, 1));
  control(R"({"fail": {"nvmlGpuInstanceDestroy": 19}})");
  EXPECT_EQ(driver().destroy({uuid, 5, 1, *made}).error().message,
            "destroy GPU instance: In use by another client");
  control("{}");
  EXPECT_FALSE(driver().is_free({uuid, 5, 1}).value());
  EXPECT_TRUE(driver().destroy({uuid, 5, 1, *made}).ok());
  EXPECT_TRUE(driver().is_free({uuid, 5, 1}).value());
}

TEST_F(NvmlDriverTest, LeavesAnotherProgramsInstanceAlone) {
  const std::string uuid = gpu();
  ASSERT_TRUE(driver().create(order(uuid, 0, 0, 5, 1)).ok());
  EXPECT_TRUE(driver().destroy({uuid, 5, 1, "MIG-of-mine"}).ok());
  EXPECT_EQ(driver().discover()->slices.size(), 1U);
}

TEST_F(NvmlDriverTest, ALostGpuStaysKnownAndIsUnhealthy) {
  ASSERT_EQ(driver().discover()->gpus.size(), 2U);
  control(R"({"lost": [1]})");
  const das::Discovery found = driver().discover().value();
  ASSERT_EQ(found.gpus.size(), 2U);
  EXPECT_TRUE(found.gpus[0].healthy);
  EXPECT_FALSE(found.gpus[1].healthy);
  EXPECT_FALSE(found.gpus[0].lost);
  EXPECT_TRUE(found.gpus[1].lost);
  control("{}");
  EXPECT_FALSE(driver().discover()->gpus[1].lost) << "it is there again";
}

TEST_F(NvmlDriverTest, SkipsGpuLostFromStart) {
  driver();
  control(R"({"lost": [0]})");
  const das::Discovery found = driver().discover().value();
  ASSERT_EQ(found.gpus.size(), 1U);
  EXPECT_EQ(found.gpus[0].index, 1);
  control("{}");
  EXPECT_EQ(driver().discover()->gpus.size(), 2U) << "it is there again";
}

TEST_F(NvmlDriverTest, ReportsGpusWithoutMigAsWhole) {
  control(R"({"migDisabled": [1]})");
  const das::Discovery found = driver().discover().value();
  ASSERT_EQ(found.gpus.size(), 2U);
  EXPECT_FALSE(found.gpus[0].whole);
  EXPECT_TRUE(found.gpus[1].whole);
  EXPECT_TRUE(found.gpus[1].table.profiles.empty());
  EXPECT_EQ(found.gpus[1].offered.profiles.size(), found.gpus[0].table.profiles.size());
  EXPECT_TRUE(found.gpus[0].offered.profiles.empty());
  EXPECT_EQ(das::divisions_of(found),
            (std::vector<das::Divisible>{das::Divisible::Slices, das::Divisible::Whole}));
}

TEST_F(NvmlDriverTest, ACriticalXidMakesItsGpuUnhealthy) {
  control(R"({"event": 1})");
  EXPECT_FALSE(driver().wait_for_event(std::chrono::milliseconds(1)));
  control(R"({"event": 2, "gpu": 1, "xid": 31})");
  EXPECT_TRUE(driver().wait_for_event(std::chrono::seconds(2)));
  EXPECT_TRUE(driver().discover()->gpus[1].healthy) << "a program's own mistake";
  control(R"({"event": 3, "gpu": 1, "migChange": true})");
  EXPECT_TRUE(driver().wait_for_event(std::chrono::seconds(2)));
  EXPECT_TRUE(driver().discover()->gpus[1].healthy);
  control(R"({"event": 4, "gpu": 1, "xid": 79})");
  EXPECT_TRUE(driver().wait_for_event(std::chrono::seconds(2)));
  EXPECT_FALSE(driver().discover()->gpus[1].healthy);
  EXPECT_TRUE(driver().discover()->gpus[0].healthy);
}

// Any call may fail at any time: then it is named at first, and GPUs that were known are unhealthy.
class NvmlDiscoveryFailureTest : public NvmlDriverTest,
                                 public testing::WithParamInterface<const char*> {};

TEST_P(NvmlDiscoveryFailureTest, IsNamedAtFirstAndUnhealthyLater) {
  driver();
  control(std::string(R"({"fail": {")") + GetParam() + R"(": 999}})");
  const auto first = driver().discover();
  ASSERT_FALSE(first.ok());
  EXPECT_THAT(first.error().message, HasSubstr(std::string(GetParam()).substr(0, 18)));
  control("{}");
  ASSERT_EQ(driver().discover()->gpus.size(), 2U);
  control(std::string(R"({"fail": {")") + GetParam() + R"(": 999}})");
  if (const auto later = driver().discover(); later.ok()) {
    ASSERT_EQ(later->gpus.size(), 2U);
    EXPECT_FALSE(later->gpus[0].healthy);
  }
  control("{}");
  EXPECT_TRUE(driver().discover()->gpus[0].healthy) << "it works again";
}
INSTANTIATE_TEST_SUITE_P(Calls, NvmlDiscoveryFailureTest,
                         testing::Values("nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2",
                                         "nvmlDeviceGetMigMode", "nvmlDeviceGetUUID",
                                         "nvmlDeviceGetName", "nvmlDeviceGetMemoryInfo",
                                         "nvmlDeviceGetGpuInstanceProfileInfo",
                                         "nvmlDeviceGetGpuInstancePossiblePlacements_v2",
                                         "nvmlDeviceGetGpuInstances"),
                         [](const auto& one) { return std::string(one.param); });

TEST(OpenNvml, NamesMissingLibrary) {
  const auto none = open_nvml("/nowhere/libnvidia-ml.so.1");
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, HasSubstr("NVML cannot be loaded"));
}

TEST_F(NvmlDriverTest, SaysThatThereIsNoDriver) {
  control(R"({"fail": {"nvmlInit_v2": 9}})");
  const auto none = open_nvml(FAKE_NVML);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message, "nvmlInit: Driver Not Loaded");
}

}  // namespace
}  // namespace athanor::agent::nvml_driver_test
