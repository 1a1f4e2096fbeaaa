// SPDX-License-Identifier: Apache-2.0
// What images run without a command (docs/spec/tekton.md 12).
#include "embedded/nodes/image_entrypoints.hpp"

#include <gtest/gtest.h>

#include <string>

#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::nodes::image_entrypoints_test {
namespace {

std::string command_of(std::string_view image, std::string_view args, std::string_view own = "{}") {
  const auto command = image_command(image, yaml::parse(args).value(), yaml::parse(own).value());
  return command ? json::print(*command) : "unknown";
}

TEST(ImageEntrypoints, KnownImagesRunTheirOwn) {
  EXPECT_EQ(command_of("bash:5", "[-c, 'echo hi']"), R"(["bash","-c","echo hi"])");
  EXPECT_EQ(command_of("bash", "[ls, -l]"), R"(["ls","-l"])");
  EXPECT_EQ(command_of("docker.io/library/alpine:3.20", "[echo, hi]"), R"(["echo","hi"])");
  EXPECT_EQ(command_of("busybox", "[]"), R"(["/bin/sh"])");
  EXPECT_EQ(command_of("localhost:5000/python:3.12@sha256:aa", "[-c, 'print(1)']"),
            R"x(["python3","-c","print(1)"])x");
  EXPECT_EQ(command_of("python", "[script.py]"), R"(["script.py"])");
  EXPECT_EQ(command_of("alpine/git", "[clone, x]"), R"(["git","clone","x"])");
  EXPECT_EQ(command_of("registry.k8s.io/kubectl:v1", "[get, pods]"), R"(["kubectl","get","pods"])");
  EXPECT_EQ(command_of("registry.k8s.io/pause:3.10", "[]"), R"(["/bin/sleep","infinity"])");
}

TEST(ImageEntrypoints, SleepTakesLengthsOfGo) {
  const std::string_view image = "gcr.io/k8s-staging-perf-tests/sleep:v0.1.0";
  EXPECT_EQ(command_of(image, "[5s]"), R"(["sleep","5"])");
  EXPECT_EQ(command_of(image, "[100ms]"), R"(["sleep","0.1"])");
  EXPECT_EQ(command_of(image, "[--other, x, 1m30s]"), R"(["sleep","90"])");
  EXPECT_EQ(command_of(image, "[soon]"), R"(["sleep","soon"])");
  const auto arguments = [&](const char* args) {
    const std::string command = command_of(image, args);
    EXPECT_TRUE(command.starts_with(R"(["/bin/sh","-c",)")) << command;
    return command.substr(command.rfind(R"("sleep",)"));
  };
  EXPECT_EQ(arguments("[-termination-code=1, 1m30s]"), R"("sleep","90","0","1"])");
  EXPECT_EQ(arguments("[--termination-code, '3', -termination-grace-period=500ms, 1s]"),
            R"("sleep","1","0.5","3"])");
}

TEST(ImageEntrypoints, KnowsTwoWordsOfAgnhost) {
  const std::string_view agnhost = "registry.k8s.io/e2e-test-images/agnhost:2.53";
  EXPECT_EQ(command_of(agnhost, "[pause]"), R"(["/bin/sleep","infinity"])");
  EXPECT_EQ(command_of(agnhost, "[entrypoint-tester, hi]"),
            R"(["/bin/echo","/agnhost","entrypoint-tester","hi"])");
  EXPECT_EQ(command_of(agnhost, "[netexec]"), "unknown");
}

TEST(ImageEntrypoints, EnginesHaveTheirProgramAtItsPath) {
  const auto engine = [](std::string_view image, std::string_view command) {
    const auto found =
        engine_command(image, yaml::parse(command).value(), yaml::parse("[x]").value());
    return found ? *found : Value();
  };
  const Value runner =
      engine("r.example/team/fournos-generic-runner:dev", "[/opt/fournos/entrypoint]");
  ASSERT_EQ(runner.size(), 5U);
  EXPECT_EQ(runner[0], Value("/bin/sh"));
  EXPECT_TRUE(runner[2].as_string().starts_with("#!/bin/sh"));
  EXPECT_EQ(runner[3], Value("/opt/fournos/entrypoint"));
  EXPECT_EQ(runner[4], Value("x"));
  EXPECT_EQ(engine("fournos-mock-generic-runner:dev", "[python3, /opt/fournos/entrypoint]"),
            runner);
  EXPECT_EQ(json::print(engine("fournos-mock-resolve:dev", "[/opt/fournos/entrypoint]")),
            R"(["/bin/echo","[mock-resolve] the job is patched","x"])");
  EXPECT_TRUE(engine("fournos-generic-runner", "[/bin/true]").is_null());
  EXPECT_TRUE(engine("bash", "[/opt/fournos/entrypoint]").is_null());
}

TEST(ImageEntrypoints, TheSettingWinsAndOthersAreUnknown) {
  EXPECT_EQ(command_of("quay.io/team/tool:1", "[-q]", "{quay.io/team/tool: [tool, run]}"),
            R"(["tool","run","-q"])");
  EXPECT_EQ(command_of("quay.io/team/tool:1", "[]", "{tool: [tool]}"), R"(["tool"])");
  EXPECT_EQ(command_of("alpine", "[-x]", "{alpine: [other]}"), R"(["other","-x"])");
  EXPECT_EQ(command_of("quay.io/team/tool:1", "[-q]"), "unknown");
  EXPECT_EQ(command_of("", "[]"), "unknown");
}

}  // namespace
}  // namespace athanor::nodes::image_entrypoints_test
