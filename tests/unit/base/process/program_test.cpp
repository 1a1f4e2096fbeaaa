// SPDX-License-Identifier: Apache-2.0
#include "base/process/program.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace athanor::program_test {
namespace {

constexpr std::chrono::seconds kPatience{60};

ProgramResult run_shell(const std::string& script, Duration timeout = kPatience) {
  return run_program({.words = {"/bin/sh", "-c", script},
                      .variables = {{"WORD", "yes"}},
                      .timeout = timeout,
                      .output_limit = 100,
                      .takes_errors = true});
}

TEST(Program, ReturnsOutputAndCode) {
  const ProgramResult result = run_shell("echo $WORD; echo no >&2; exit 3");
  EXPECT_EQ(result.ending, ProgramEnding::Exited);
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(result.output, "yes\nno\n");
  EXPECT_FALSE(result.succeeded());
}

TEST(Program, ReportsSignalsAsShellsDo) {
  EXPECT_EQ(run_shell("kill -9 $$").code, 128 + 9);
}

TEST(Program, IsKilledWhenItTakesTooLong) {
  EXPECT_EQ(run_shell("sleep 100 & sleep 100", std::chrono::milliseconds(50)).ending,
            ProgramEnding::Late);
}

TEST(Program, IsKilledWhenItPrintsTooMuch) {
  EXPECT_EQ(run_shell("while true; do echo word; done").ending, ProgramEnding::Talkative);
}

TEST(Program, EndsSoonWhenItIsCancelled) {
  const std::atomic<bool> cancelled{true};
  EXPECT_EQ(run_program({.words = {"sleep", "100"}, .timeout = kPatience, .cancelled = &cancelled})
                .ending,
            ProgramEnding::Late);
}

TEST(Program, NamesMissingPrograms) {
  EXPECT_EQ(run_program({.words = {"/no/such/program"}, .timeout = kPatience}).ending,
            ProgramEnding::NotFound);
}

}  // namespace
}  // namespace athanor::program_test
