// SPDX-License-Identifier: Apache-2.0
// What athanor up says to type follows from the lab file.
#include "cli/lab/up_hints.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace athanor::cli::up_hints_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string hints_of(const std::string& text, const std::string& manifest = "") {
  const auto lab = lab::parse_lab("apiVersion: athanor.dev/v1\nkind: Lab\n" + text, "lab.yaml");
  EXPECT_TRUE(lab.ok()) << lab.error().message;
  return up_hints(*lab, [&](const std::string&) { return Result<std::string>(manifest); });
}

constexpr const char* kPipeline =
    "apiVersion: tekton.dev/v1\nkind: Pipeline\nmetadata: {name: mine}\n";

TEST(UpHints, NameAClusterWithGpusAndAPipeline) {
  const std::string hints = hints_of(
      "clusters:\n- {name: dry, quota: {fournos/cluster-slot: 9}}\n- {name: wet, quota: "
      "{fournos/gpu-l40s: 1}}\nqueues: [{name: q}]\nmanifests: [m.yaml]\n",
      kPipeline);
  EXPECT_THAT(hints, HasSubstr("athanor submit --cluster wet --gpu l40s:1 --project llmd --arg cks "
                               "--pipeline mine --follow\n"));
  EXPECT_THAT(hints, HasSubstr("athanor clusters\n"));
}

TEST(UpHints, NameATargetThatIsKnown) {
  const std::string hints = hints_of(
      "targets: [{name: hidden, onboard: false}, {name: edge}]\nqueues: [{name: q}]\nmanifests: "
      "[m.yaml]\n",
      kPipeline);
  EXPECT_THAT(hints, HasSubstr("athanor submit --cluster edge --project"));
}

TEST(UpHints, SayNothingOfJobsWhereNoneCanRun) {
  const std::string nodes = hints_of("nodes: [{name: node}]\n");
  EXPECT_THAT(nodes, Not(HasSubstr("submit")));
  EXPECT_THAT(nodes, HasSubstr("kubectl get nodes\n"));
  EXPECT_THAT(hints_of("clusters: [{name: c}]\nqueues: [{name: q}]\n"), Not(HasSubstr("submit")));
}

}  // namespace
}  // namespace athanor::cli::up_hints_test
