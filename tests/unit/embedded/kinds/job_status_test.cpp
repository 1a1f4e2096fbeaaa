// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/workloads/job_status_rules.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "kube/text/json.hpp"

namespace athanor::apiserver::job_status_test {
namespace {

// The texts about an Indexed Job of 1,000,000 completions with these indexes.
std::string errors_of(std::string_view completed, std::string_view failed) {
  const auto job = [&](std::string_view done, std::string_view lost) {
    return json::parse(fmt::format(R"({{"spec":{{"completionMode":"Indexed","completions":1000000,
                   "parallelism":1,"backoffLimitPerIndex":1}},
                   "status":{{"completedIndexes":"{}","failedIndexes":"{}"}}}})",
                                   done, lost))
        .value();
  };
  std::string all;
  for (const FieldError& error : validate_job_status(job(completed, failed), job("", ""))) {
    all += error.text() + "\n";
  }
  return all;
}

TEST(JobStatus, NamesTheFirstIndexThatBothListsHave) {
  const struct {
    std::string_view completed, failed, index;
  } cases[] = {
      {"0-2,5,9-12", "3-4,11", "11"}, {"0-9", "4-5", "4"}, {"7", "0-7", "7"},
      {"3,5-8", "8-9", "8"},          {"0-2", "3", ""},    {"1,3,5", "0,2,4,6-9", ""},
  };
  for (const auto& [completed, failed, index] : cases) {
    const std::string errors = errors_of(completed, failed);
    const std::string text =
        fmt::format("failedIndexes and completedIndexes overlap at index: {}\n", index);
    EXPECT_EQ(errors.find(text) != std::string::npos, !index.empty()) << completed << errors;
    EXPECT_EQ(errors.find("overlap") != std::string::npos, !index.empty()) << failed << errors;
  }
}

// 200,000 intervals beside as many: 40,000,000,000 pairs.
TEST(JobStatus, LongListsCostNoMoreEachInterval) {
  std::string even;
  std::string odd;
  for (int i = 0; i < 400'000; i += 2) {
    even += fmt::format("{}{}", i == 0 ? "" : ",", i);
    odd += fmt::format("{}{}", i == 0 ? "" : ",", i + 1);
  }
  EXPECT_EQ(errors_of(even, odd).find("overlap"), std::string::npos);
}

}  // namespace
}  // namespace athanor::apiserver::job_status_test
