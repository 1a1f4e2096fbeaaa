// SPDX-License-Identifier: Apache-2.0
// NVML answers that make no sense: at every call, and by chance (docs/spec/das.md 8.2, 8.6). They
// come through the library that is loaded as NVIDIA's is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>

#include "fake_nvml/broken_driver.hpp"

namespace athanor::fake_nvml::broken_driver_test {
namespace {

class BrokenDriverTest : public testing::Test {
 protected:
  BrokenDriverTest() {
    ::unsetenv("FAKE_NVML_STATE");
    ::unsetenv("FAKE_NVML_CONTROL");
    ::setenv("FAKE_NVML_GPUS", "A100-PCIE-40GB:2", 1);
  }
  ~BrokenDriverTest() override { answer_by(FAKE_NVML, {}); }
};

constexpr char kRight = 0;
constexpr int kFirstWrong = 224;
constexpr int kWays = 256 - kFirstWrong;  // in which an answer is spoilt

TEST_F(BrokenDriverTest, OneWrongAnswerAnywhere) {
  constexpr int kAnswers = 1400;  // of two looks and a few slices
  for (int at = 0; at < kAnswers; ++at) {
    // With GPUs that were known before, and with ones that are met so.
    std::string bytes(1, static_cast<char>(at % 2));
    bytes.append(static_cast<std::size_t>(at), kRight);
    bytes += static_cast<char>(kFirstWrong + at / 2 % kWays);
    ASSERT_EQ(live_with(FAKE_NVML, bytes), "") << "answer " << at;
  }
}

TEST_F(BrokenDriverTest, ManyWrongAnswersByChance) {
  for (unsigned int seed = 1; seed <= 150; ++seed) {
    std::mt19937 random(seed);
    const unsigned int often = 2 + seed % 60;  // one answer in so many is wrong
    std::string bytes;
    for (int i = 0; i < 600; ++i) {
      bytes += random() % often == 0 ? static_cast<char>(kFirstWrong + random() % kWays) : kRight;
    }
    ASSERT_EQ(live_with(FAKE_NVML, bytes), "") << "seed " << seed;
  }
}

// A count of devices that is out of all reason is refused, and ends no loop late.
TEST_F(BrokenDriverTest, AbsurdCountsAreRefused) {
  auto driver = agent::open_nvml(FAKE_NVML).value();
  answer_by(FAKE_NVML, std::string({kRight, static_cast<char>(224)}));  // 224 % 10: the largest
  const auto found = driver->discover();
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().message, "nvmlDeviceGetCount: 4294967295 GPUs");
}

// A GPU whose slices cannot be read is unhealthy, and the other one goes on.
TEST_F(BrokenDriverTest, AGpuThatVanishesBetweenCallsStaysKnown) {
  auto driver = agent::open_nvml(FAKE_NVML).value();
  ASSERT_EQ(driver->discover()->gpus.size(), 2U);
  answer_by(FAKE_NVML, std::string({kRight, static_cast<char>(231)}));  // one GPU is counted
  const auto found = driver->discover();
  ASSERT_TRUE(found.ok()) << found.error().message;
  ASSERT_EQ(found->gpus.size(), 2U);
  EXPECT_TRUE(found->gpus[0].healthy);
  EXPECT_FALSE(found->gpus[1].healthy);
  answer_by(FAKE_NVML, {});
  EXPECT_TRUE(driver->discover()->gpus[1].healthy);
}

}  // namespace
}  // namespace athanor::fake_nvml::broken_driver_test
