// SPDX-License-Identifier: Apache-2.0
// Slices of GPUs that vanish or fail, and of agents that die while they make and destroy them
// (docs/spec/das.md 3.1, 8.6).
#include "agent/node/slices.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "agent/node/cdi_folder.hpp"
#include "kube/text/yaml.hpp"
#include "runtime/metrics/metrics.hpp"
#include "systems/das/agent/start_up.hpp"

namespace athanor::agent::slices_test {
namespace {

// Answers as NVML does of a GPU that left its bus: what it does not find counts as destroyed.
class EmptyDriver final : public GpuDriver {
 public:
  Result<das::Discovery> discover() override { return das::Discovery(); }
  Result<bool> is_free(const SlicePlace& /*place*/) override { return true; }
  Result<std::string> create(const SliceOrder& /*order*/) override {
    return Error::internal("nothing is made here");
  }
  Result<void> destroy(const SlicePlace& place) override {
    destroyed.push_back(place.device);
    return {};
  }
  bool wait_for_event(Duration /*patience*/) override { return false; }

  std::vector<std::string> destroyed{};
};

class SlicesTest : public testing::Test {
 protected:
  SlicesTest() : path_(::testing::TempDir() + "athanor-slices-XXXXXX") {
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
  }
  ~SlicesTest() override { std::filesystem::remove_all(path_); }

  std::string path_;
};

TEST_F(SlicesTest, DestroysSliceOfVanishedGpuAtReturn) {
  const CdiFolder folder(path_);
  const das::SliceRecord record{
      .claim_uid = "u", .profile = "1g.5gb", .gpu = "GPU-0", .size = 1, .device = "MIG-0"};
  ASSERT_TRUE(folder.write_records({record}).ok());
  EmptyDriver driver;
  Metrics metrics;
  std::vector<das::FoundGpu> gpus{{.uuid = "GPU-0", .lost = true}};
  const auto slices = real_slices(
      {.driver = &driver, .folder = &folder, .gpus = [&] { return gpus; }, .metrics = &metrics});
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
}

// One life of an agent, with the fake library: what it made outlives it.
class Life {
 public:
  explicit Life(const std::string& path, Duration pause = std::chrono::microseconds(1))
      : folder_(path) {
    driver_ = open_nvml(FAKE_NVML).value();
    found_ = driver_->discover().value();
    slices_ = real_slices({.driver = driver_.get(),
                           .folder = &folder_,
                           .gpus = [this] { return found_.gpus; },
                           .metrics = &metrics_,
                           .pause = pause,
                           .patience = std::chrono::milliseconds(500)});
  }

  Slices& slices() { return *slices_; }
  [[nodiscard]] das::Claim claim(int start = 3, const std::string& uid = "a",
                                 const char* profile = "1g.5gb", int size = 1) const {
    return *das::read_claim(Object(
        yaml::parse(fmt::format("{{metadata: {{name: {0}, namespace: ns, uid: {0}}}, spec: "
                                "{{profile: {1}, gpuUUID: {2}, nodename: n, podRef: {{kind: Pod, "
                                "name: p, namespace: ns, uid: p}}, migPlacement: {{start: {3}, "
                                "size: {4}}}}}, status: {{state: inUse}}}}",
                                uid, profile, found_.gpus.front().uuid, start, size))
            .value()));
  }
  // What an agent does at its start.
  void recover(const std::vector<das::Claim>& claims) {
    das::Findings findings{.records = slices_->records(), .slices = found_.slices};
    findings.sight.claims = claims;
    for (const das::FoundGpu& gpu : found_.gpus) {
      findings.gpus.insert(gpu.uuid);
    }
    const das::Measures measures = das::measures_of(findings);
    for (const das::SliceRecord& record : measures.forget) {
      slices_->forget(record);
    }
    for (const das::SliceRecord& record : measures.destroy) {
      EXPECT_TRUE(slices_->destroy(record).ok());
    }
  }
  std::size_t on_gpus() { return driver_->discover()->slices.size(); }

 private:
  CdiFolder folder_;
  Metrics metrics_{};
  std::unique_ptr<GpuDriver> driver_{};
  das::Discovery found_{};
  std::unique_ptr<Slices> slices_{};
};

class LeakTest : public SlicesTest {
 protected:
  LeakTest() {
    ::setenv("FAKE_NVML_STATE", (path_ + "/gpus").c_str(), 1);
    ::setenv("FAKE_NVML_CONTROL", (path_ + "/control").c_str(), 1);
    ::setenv("FAKE_NVML_GPUS", "A100-PCIE-40GB:1", 1);
  }
  void control(const std::string& json) const {
    std::ofstream(path_ + "/control.new") << json;
    std::filesystem::rename(path_ + "/control.new", path_ + "/control");
  }
  // Returns true if the program was killed before it ended.
  bool dies_at(int call) {
    const pid_t child = ::fork();
    if (child == 0) {
      Life run(path_);
      const das::Claim claim = run.claim();
      control(fmt::format(R"({{"at": {}, "kill": true}})", call));
      const bool done = run.slices().make({&claim, 1}).ok() && run.slices().destroy(claim).ok();
      std::_Exit(done ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    control("{}");
    return WIFSIGNALED(status);
  }
};

constexpr int kMostCalls = 1000;

TEST_F(LeakTest, CleansUpAfterKilledAgentWithoutClaim) {
  int call = 1;
  for (; dies_at(call); ++call) {
    SCOPED_TRACE(call);
    ASSERT_LT(call, kMostCalls);
    Life next(path_);
    next.recover({});
    ASSERT_EQ(next.on_gpus(), 0U);
    ASSERT_TRUE(next.slices().records().empty());
  }
  EXPECT_GT(call, 50) << "calls of making and destroying a slice";
}

TEST_F(LeakTest, AKilledAgentsClaimGetsItsSlice) {
  for (int call = 1; dies_at(call); ++call) {
    SCOPED_TRACE(call);
    ASSERT_LT(call, kMostCalls);
    Life next(path_);
    const das::Claim claim = next.claim();
    next.recover({claim});
    ASSERT_TRUE(next.slices().make({&claim, 1}).ok());
    ASSERT_EQ(next.on_gpus(), 1U);
    ASSERT_TRUE(next.slices().destroy(claim).ok());
    ASSERT_EQ(next.on_gpus(), 0U);
    ASSERT_TRUE(next.slices().records().empty());
  }
}

struct Trouble {
  const char* name;
  const char* control;
};
class FailingCallTest : public LeakTest, public testing::WithParamInterface<Trouble> {};

// Whatever a call answers: an instance that is there has a record, and a later try removes it.
TEST_P(FailingCallTest, NoInstanceLosesItsRecord) {
  for (int call = 1; call < 160; ++call) {
    SCOPED_TRACE(call);
    Life run(path_);
    const das::Claim claim = run.claim();
    control(fmt::format(R"({{"at": {}, {}}})", call, GetParam().control));
    const bool made = run.slices().make({&claim, 1}).ok();
    const bool gone = run.slices().destroy(claim).ok();
    control("{}");
    ASSERT_TRUE(!gone || run.on_gpus() == 0) << "made: " << made;
    ASSERT_EQ(run.slices().records().empty(), gone);
    for (const das::SliceRecord& left : run.slices().records()) {
      ASSERT_TRUE(run.slices().destroy(left).ok());
    }
    ASSERT_EQ(run.on_gpus(), 0U);
    ASSERT_TRUE(run.slices().records().empty());
  }
}
INSTANTIATE_TEST_SUITE_P(
    Answers, FailingCallTest,
    testing::Values(Trouble{"InUseOnce", R"("code": 19)"}, Trouble{"UnknownOnce", R"("code": 999)"},
                    Trouble{"UnknownFromThere", R"("code": 999, "on": true)"},
                    Trouble{"UnknownAfterTheChange", R"("code": 999, "late": true)"}),
    [](const auto& one) { return std::string(one.param.name); });

TEST_F(LeakTest, ADriverThatFailsOnceMakesTheSlice) {
  for (const char* call : {"nvmlDeviceCreateGpuInstanceWithPlacement",
                           "nvmlGpuInstanceCreateComputeInstance", "nvmlGpuInstanceGetInfo"}) {
    SCOPED_TRACE(call);
    Life run(path_);
    const das::Claim claim = run.claim();
    control(fmt::format(R"({{"at": 1, "only": "{}", "code": 999}})", call));
    const auto made = run.slices().make({&claim, 1});
    control("{}");
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_EQ(run.on_gpus(), 1U);
    ASSERT_TRUE(run.slices().destroy(claim).ok());
  }
}

// docs/spec/das.md N-B14: a kubelet waits 10 s, of which looking for claims may take 3.1 s.
TEST(RealSlicesOptions, LeaveTimeForLooks) {
  EXPECT_LE(RealSlicesOptions().patience, std::chrono::seconds(6));
}

double seconds_of_make(Life& run, const std::vector<das::Claim>& claims) {
  const auto began = std::chrono::steady_clock::now();
  EXPECT_FALSE(run.slices().make(claims).ok());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// Another try would end after the patience of 0.5 s; three would take 1.5 s.
TEST_F(LeakTest, StopsRetryingSlowDriver) {
  Life run(path_, std::chrono::milliseconds(20));
  control(R"({"createMs": 450, "fail": {"nvmlDeviceCreateGpuInstanceWithPlacement": 999}})");
  EXPECT_LT(seconds_of_make(run, {run.claim()}), 1.2);
  control("{}");
  EXPECT_TRUE(run.slices().records().empty());
}

// The last slice has no room, and none of the others can be destroyed: five tries of each would
// take 2.4 s.
TEST_F(LeakTest, StopsUndoingInTime) {
  Life run(path_, std::chrono::milliseconds(40));
  std::vector<das::Claim> claims;
  for (int start = 0; start < 4; ++start) {
    claims.push_back(run.claim(start, fmt::format("c{}", start)));
  }
  claims.push_back(run.claim(0, "large", "3g.20gb", 4));
  control(R"({"fail": {"nvmlGpuInstanceDestroy": 999}})");
  EXPECT_LT(seconds_of_make(run, claims), 1.5);
  EXPECT_EQ(run.slices().records().size(), 4U) << "one for each instance that is there";
  control("{}");
  for (const das::SliceRecord& left : run.slices().records()) {
    EXPECT_TRUE(run.slices().destroy(left).ok());
  }
  EXPECT_EQ(run.on_gpus(), 0U);
}

TEST_F(LeakTest, AHalfDestroyedSliceIsMadeAnew) {
  Life run(path_);
  const das::Claim claim = run.claim();
  const auto before = run.slices().make({&claim, 1});
  ASSERT_TRUE(before.ok());
  control(R"({"fail": {"nvmlGpuInstanceDestroy": 19}})");
  ASSERT_FALSE(run.slices().destroy(claim).ok());
  EXPECT_EQ(run.slices().name_of(claim), "") << "its compute instance is gone";
  control("{}");
  const auto again = run.slices().make({&claim, 1});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(run.slices().name_of(claim), again->front());
  EXPECT_EQ(run.on_gpus(), 1U);
}

// As NVML's: who keeps a name, as a container does, has the next slice of that place, too.
TEST_F(LeakTest, SlicesOfOnePlaceShareName) {
  Life run(path_);
  const das::Claim claim = run.claim(3);
  const das::Claim beside = run.claim(4, "b");
  const auto first = run.slices().make({&claim, 1});
  const auto other = run.slices().make({&beside, 1});
  ASSERT_TRUE(first.ok() && other.ok());
  EXPECT_NE(*first, *other);
  ASSERT_TRUE(run.slices().destroy(claim).ok());
  const das::Claim later = run.claim(3, "later");
  const auto again = run.slices().make({&later, 1});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*first, *again);
}

TEST_F(LeakTest, FindsSliceWhenDriverCountsGpusDifferently) {
  ::setenv("FAKE_NVML_GPUS", "A100-PCIE-40GB:2", 1);
  std::optional<das::Claim> claim;
  std::vector<std::string> names;
  {
    Life run(path_);
    claim = run.claim();
    names = run.slices().make({&*claim, 1}).value();
  }
  control(R"({"order": [1, 0]})");
  Life next(path_);
  EXPECT_NE(next.claim().gpu, claim->gpu) << "the first GPU is another one";
  next.recover({*claim});
  EXPECT_EQ(next.slices().name_of(*claim), names.front());
  EXPECT_EQ(next.slices().make({&*claim, 1}).value(), names);
  EXPECT_EQ(next.on_gpus(), 1U);
  EXPECT_TRUE(next.slices().destroy(*claim).ok());
  EXPECT_EQ(next.on_gpus(), 0U);
}

TEST_F(LeakTest, AnotherProgramsInstanceIsNeverRecorded) {
  std::ofstream(path_ + "/gpus")
      << R"({"instances": [{"gpu": 0, "id": 7, "profile": "1g.5gb+me", "start": 3, "size": 1,)"
      << R"( "computes": []}]})";
  Life run(path_);
  const das::Claim claim = run.claim();
  const auto made = run.slices().make({&claim, 1});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().reason, "InsufficientResources");
  EXPECT_TRUE(run.slices().records().empty());
  EXPECT_EQ(run.on_gpus(), 1U);
}

// The record of a claim that is gone names the place of another claim's slice.
TEST_F(LeakTest, KeepsNewSliceAtPlaceOfOldRecord) {
  Life run(path_);
  const das::Claim claim = run.claim();
  const auto made = run.slices().make({&claim, 1});
  ASSERT_TRUE(made.ok());
  const CdiFolder folder(path_);
  std::vector<das::SliceRecord> records = folder.records();
  das::SliceRecord old = records.front();
  old.claim_uid = "old";
  records.insert(records.begin(), old);
  ASSERT_TRUE(folder.write_records(records).ok());
  Life next(path_);
  next.recover({claim});
  EXPECT_EQ(next.on_gpus(), 1U);
  EXPECT_EQ(next.slices().records().size(), 1U);
}

}  // namespace
}  // namespace athanor::agent::slices_test
