// SPDX-License-Identifier: Apache-2.0
// Traces: both forms, every refusal with its line, the way there and back.
#include "simulation/whatif/trace.hpp"

#include <gtest/gtest.h>

#include "simulation/whatif/synthetic.hpp"

namespace athanor::whatif::trace_test {
namespace {

constexpr const char* kHeader = "submit,owner,gpu_type,gpus,duration,priority,cluster\n";

TEST(Trace, CsvIsReadAndSortedByTime) {
  const auto trace = parse_trace(std::string("# of last week\n") + kHeader +
                                     "90m,kernels,h200,4,1h30m,manual,\n"
                                     "60, training ,a100,8,2d,,\n\n"
                                     "1d12h,docs,,0,30,adhoc,cluster-1\n",
                                 "t.csv");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 3U);
  EXPECT_EQ(trace->jobs[0].owner, "training");
  EXPECT_EQ(trace->jobs[0].submit, std::chrono::seconds(60));
  EXPECT_EQ(trace->jobs[0].duration, std::chrono::hours(48));
  EXPECT_EQ(trace->jobs[1].submit, std::chrono::minutes(90));
  EXPECT_EQ(trace->jobs[1].duration, std::chrono::minutes(90));
  EXPECT_EQ(trace->jobs[1].gpus, 4);
  EXPECT_EQ(trace->jobs[2].submit, std::chrono::hours(36));
  EXPECT_EQ(trace->jobs[2].cluster, "cluster-1");
  EXPECT_EQ(trace->jobs[2].line, 6U);
}

TEST(Trace, TimesOfDayCountFromTheFirst) {
  const auto trace = parse_trace(
      "submit,owner,duration,cluster\n2026-03-02T09:00:00Z,a,60,c\n2026-03-02T08:30:00Z,b,60,c\n",
      "t.csv");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace->jobs[0].owner, "b");
  EXPECT_EQ(trace->jobs[0].submit, Duration::zero());
  EXPECT_EQ(trace->jobs[1].submit, std::chrono::minutes(30));
}

TEST(Trace, YamlIsTheSame) {
  const auto trace = parse_trace(
      "apiVersion: athanor.dev/v1\nkind: Trace\njobs:\n"
      "- {submit: 10, owner: a, gpuType: h200, gpus: 2, duration: 5m, priority: manual}\n"
      "- {submit: 0, owner: b, cluster: c, duration: 60}\n",
      "t.yaml");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  ASSERT_EQ(trace->jobs.size(), 2U);
  EXPECT_EQ(trace->jobs[0].owner, "b");
  EXPECT_EQ(trace->jobs[1].gpu_type, "h200");
  EXPECT_EQ(trace->jobs[1].duration, std::chrono::minutes(5));
}

struct Refusal {
  std::string name{}, text{}, says{};
};

class TraceRefusals : public testing::TestWithParam<Refusal> {};

TEST_P(TraceRefusals, NameTheLineAndTheRemedy) {
  const bool is_yaml = GetParam().text.starts_with("apiVersion");
  const auto trace = parse_trace(GetParam().text, is_yaml ? "t.yaml" : "t.csv");
  ASSERT_FALSE(trace.ok());
  EXPECT_NE(trace.error().message.find(GetParam().says), std::string::npos)
      << trace.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    All, TraceRefusals,
    testing::Values(
        Refusal{"Empty", "", "t.csv:1: no job; write one line"},
        Refusal{"Column", "submit,owner,duration,gpu\n", "t.csv:1: column \"gpu\" is unknown; "},
        Refusal{"Missing", "submit,owner\n", "t.csv:1: column \"duration\" is missing; "},
        Refusal{"Twice", "submit,owner,duration,owner\n",
                "t.csv:1: column \"owner\" is there twice; "},
        Refusal{"Cells", std::string(kHeader) + "1,2\n", "t.csv:2: 2 values, but 7 columns; "},
        Refusal{"Submit", std::string(kHeader) + "soon,a,h200,1,60,,\n",
                "t.csv:2: submit \"soon\" is no time; "},
        Refusal{"Mixed",
                std::string(kHeader) + "1,a,h200,1,60,,\n2026-01-01T00:00:00Z,a,h200,1,60,,\n",
                "t.csv:3: times of day and times since the start are mixed; "},
        Refusal{"Duration", std::string(kHeader) + "1,a,h200,1,-5,,\n",
                "t.csv:2: duration \"-5\" is no length of time; "},
        Refusal{"Owner", std::string(kHeader) + "1,,h200,1,5,,\n", "t.csv:2: owner is missing; "},
        Refusal{"Gpus", std::string(kHeader) + "1,a,h200,two,5,,\n",
                "t.csv:2: gpus \"two\" is no count; "},
        Refusal{"NoType", std::string(kHeader) + "1,a,,2,5,,\n",
                "t.csv:2: 2 GPUs of no type; fill gpu_type"},
        Refusal{"NoGpu", std::string(kHeader) + "1,a,h200,0,5,,\n",
                "t.csv:2: gpu_type h200 but no GPU; "},
        Refusal{"Nothing", std::string(kHeader) + "1,a,,0,5,,\n",
                "t.csv:2: neither GPUs nor a cluster; "},
        Refusal{"Quotes", std::string(kHeader) + "1,\"a\",h200,1,5,,\n",
                "t.csv:2: quotes are not understood here; "},
        Refusal{"Exclusive", "submit,owner,duration,cluster,exclusive\n1,a,5,c1,yes\n",
                "t.csv:2: exclusive \"yes\" is neither true nor false"},
        Refusal{"ExclusiveAnywhere",
                "submit,owner,gpu_type,gpus,duration,exclusive\n1,a,h200,1,5,true\n",
                "t.csv:2: exclusive without a cluster; "},
        Refusal{"NotATrace", "apiVersion: v1\nkind: Pod\n", "t.yaml:1: not a trace; "},
        Refusal{"Key",
                "apiVersion: athanor.dev/v1\nkind: Trace\njobs:\n- {submit: 1, owner: a,\n   "
                "gpu: 1, duration: 5}\n",
                "t.yaml:5: \"gpu\" is unknown; "}),
    [](const auto& refusal) { return refusal.param.name; });

TEST(Trace, SummarizesManyProblems) {
  std::string text = kHeader;
  for (int i = 0; i < 50; ++i) {
    text += "x\n";
  }
  const auto trace = parse_trace(text, "t.csv");
  ASSERT_FALSE(trace.ok());
  EXPECT_NE(trace.error().message.find("t.csv: and 30 more"), std::string::npos);
}

TEST(Synthetic, RepeatsForSameSeedAndIsReadable) {
  const Synthetic wanted{.jobs = 500, .days = 14, .seed = 7, .clusters = {"cluster-1"}};
  const Trace one = synthetic_trace(wanted);
  const std::string text = to_csv(one);
  EXPECT_EQ(text, to_csv(synthetic_trace(wanted)));
  EXPECT_NE(text, to_csv(synthetic_trace({.jobs = 500, .days = 14, .seed = 8})));
  const auto again = parse_trace(text, "t.csv");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(to_csv(*again), text);
  ASSERT_EQ(one.jobs.size(), 500U);
  std::size_t pinned = 0;
  for (const Submission& job : one.jobs) {
    EXPECT_LT(job.submit, std::chrono::hours(24 * 14));
    EXPECT_GE(job.duration, std::chrono::seconds(60));
    EXPECT_LE(job.duration, std::chrono::hours(24));
    pinned += job.cluster.empty() ? 0 : 1;
  }
  EXPECT_GT(pinned, 20U);
  EXPECT_LT(pinned, 90U);
}

}  // namespace
}  // namespace athanor::whatif::trace_test
