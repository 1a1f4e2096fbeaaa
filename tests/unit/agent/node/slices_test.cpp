// SPDX-License-Identifier: Apache-2.0
// Slices of a GPU that vanishes (docs/spec/das.md 3.1, 8.6).
#include "agent/node/slices.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "agent/node/cdi_folder.hpp"
#include "runtime/metrics/metrics.hpp"

namespace athanor::agent {
namespace {

// Answers as NVML does of a GPU that left its bus: what it does not find counts as destroyed.
class EmptyDriver final : public GpuDriver {
 public:
  Result<das::Discovery> discover() override { return das::Discovery(); }
  Result<std::string> create(const SliceOrder& /*order*/) override {
    return Error::internal("nothing is made here");
  }
  Result<void> destroy(const std::string& device) override {
    destroyed.push_back(device);
    return {};
  }
  Result<void> destroy_at(const std::string& /*gpu*/, int /*start*/, int /*size*/) override {
    return {};
  }
  bool wait_for_event(Duration /*patience*/) override { return false; }

  std::vector<std::string> destroyed{};
};

TEST(RealSlices, TheSliceOfAVanishedGpuIsDestroyedWhenItReturns) {
  std::string path = ::testing::TempDir() + "athanor-slices-XXXXXX";
  ASSERT_NE(::mkdtemp(path.data()), nullptr);
  const CdiFolder folder(path);
  const das::SliceRecord record{
      .claim_uid = "u", .profile = "1g.5gb", .gpu = "GPU-0", .size = 1, .device = "MIG-0"};
  ASSERT_TRUE(folder.write_records({record}).ok());
  EmptyDriver driver;
  Metrics metrics;
  std::vector<das::FoundGpu> gpus{{.uuid = "GPU-0", .lost = true}};
  const auto slices = real_slices(
      driver, folder, [&] { return gpus; }, metrics);
  const auto refused = slices->destroy(record);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "GPU-0 vanished: its slices are destroyed when it returns");
  EXPECT_EQ(slices->records().size(), 1U);
  gpus.clear();  // the agent started after it vanished
  EXPECT_FALSE(slices->destroy(record).ok());
  EXPECT_EQ(slices->records().size(), 1U);
  gpus = {{.uuid = "GPU-0"}};
  EXPECT_TRUE(slices->destroy(record).ok());
  EXPECT_EQ(driver.destroyed, std::vector<std::string>{"MIG-0"});
  EXPECT_TRUE(slices->records().empty());
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace athanor::agent
