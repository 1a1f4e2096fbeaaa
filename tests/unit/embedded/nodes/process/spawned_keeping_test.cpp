// SPDX-License-Identifier: Apache-2.0
// Limits of volumes and memory, and tokens that grow old.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <ctime>
#include <filesystem>

#include "base/digest.hpp"
#include "embedded/nodes/process/files/folder_size.hpp"
#include "embedded/nodes/process/token_age.hpp"
#include "kube/text/yaml.hpp"
#include "unit/embedded/nodes/process/pod_lab.hpp"

namespace athanor::nodes::spawned_keeping_test {
namespace {

std::string token_of(std::int64_t issued, std::int64_t life, const std::string& name = {}) {
  const std::string claims =
      fmt::format(R"({{"iat":{},"exp":{},"jti":"{}"}})", issued, issued + life, name);
  return fmt::format("{}.{}.x", base64url_encode("{}"), base64url_encode(claims));
}

TEST(TokenAge, IsFourFifthsOfALife) {
  constexpr std::int64_t kDay = 86'400;
  EXPECT_EQ(refresh_time(token_of(1000, 600)), Instant(std::chrono::seconds(1480)));
  EXPECT_EQ(refresh_time(token_of(1000, 10 * kDay)), Instant(std::chrono::seconds(1000 + kDay)));
  EXPECT_EQ(refresh_time(token_of(1000, -5)), Instant(std::chrono::seconds(1000)));
  for (const char* text : {"", "a.b", "a.b.c", "a.e30.c", "..", "opaque"}) {
    EXPECT_EQ(refresh_time(text), std::nullopt) << text;
  }
}

TEST(Tokens, AreReplacedWhenTheyAreOld) {
  PodLab lab;
  std::atomic<int> asked = 0;
  lab.tokens = [&](const TokenWish& wish) {
    return Result<std::string>(token_of(std::time(nullptr), wish.seconds, std::to_string(++asked)));
  };
  lab.start(
      "{name: p, volumes: [{name: t, type: files, serviceAccount: s, tokens: [{path: token, "
      "seconds: 3}]}], containers: [{name: c, mounts: [{volume: t, path: /t}], command: [/bin/sh, "
      "-c, 'cp /t/token /tmp/first; while cmp -s /t/token /tmp/first; do sleep 0.05; done; echo "
      "another']}]}");
  lab.wait_end("p");
  EXPECT_EQ(lab.log("p", "c"), "another\n");
  EXPECT_GE(asked, 2);
}

TEST(FolderSize, CountsBlocksOnce) {
  PodLab lab;
  const std::string folder = lab.folder() + "/sized";
  std::filesystem::create_directories(folder + "/a");
  write_text(folder + "/a/b", std::string(100'000, 'x'));
  const std::int64_t one = folder_size(folder);
  EXPECT_GE(one, 100'000);
  ASSERT_EQ(::link((folder + "/a/b").c_str(), (folder + "/linked").c_str()), 0);
  ASSERT_EQ(::symlink("/usr", (folder + "/away").c_str()), 0);
  EXPECT_LT(folder_size(folder), one + 50'000);
  EXPECT_EQ(folder_size(lab.folder() + "/missing"), 0);
}

TEST(VolumeLimits, EvictAPodThatWritesTooMuch) {
  PodLab lab;
  const auto pod = [](const char* name, int bytes) {
    return fmt::format(
        "{{name: {}, volumes: [{{name: v, type: empty, limitBytes: 100000, limit: 100k}}], "
        "containers: [{{name: c, mounts: [{{volume: v, path: /v}}], command: [/bin/sh, -c, 'head "
        "-c {} /dev/zero > /v/f; exec sleep 1000']}}]}}",
        name, bytes);
  };
  lab.start(pod("small", 50'000));
  lab.start(pod("large", 200'000));
  const auto evicted = [](const Value& state) { return state.contains("evicted"); };
  EXPECT_EQ(lab.wait("large", evicted)["evicted"].str(),
            "Usage of EmptyDir volume \"v\" exceeds the limit \"100k\". ");
  lab.wait("small", [&](const Value& state) {
    return container_of(state, "c")["state"].as_string() == "running" && !evicted(state);
  });
}

TEST(MemoryLimits, KillAContainerThatUsesTooMuch) {
  PodLab lab;
  // What tail keeps lies in its memory.
  lab.start(
      "{name: p, limits: {c: {memory: 20000000}, d: {memory: 20000000}}, containers: [{name: c, "
      "command: [/bin/sh, -c, "
      "'head -c 200000000 /dev/zero | tail -c 100000000 | sleep 1000']}, {name: d, command: "
      "[sleep, "
      "'1000']}]}");
  const Value state = lab.wait("p", [](const Value& now) {
    return container_of(now, "c")["state"].as_string() == "terminated";
  });
  EXPECT_EQ(container_of(state, "c")["reason"].as_string(), "OOMKilled");
  EXPECT_EQ(container_of(state, "c")["exitCode"].as_int(), 137);
  EXPECT_EQ(container_of(state, "d")["state"].as_string(), "running");
}

TEST(MemoryLimits, KillTheLargestContainerOfAPod) {
  PodLab lab;
  lab.start(
      "{name: p, limits: {'*': {memory: 60000000}}, containers: [{name: small, command: [/bin/sh, "
      "-c, 'head "
      "-c 20000000 /dev/zero | tail -c 20000000 | sleep 1000']}, {name: large, command: [/bin/sh, "
      "-c, 'head -c 200000000 /dev/zero | tail -c 100000000 | sleep 1000']}]}");
  const Value state = lab.wait("p", [](const Value& now) {
    return container_of(now, "large")["state"].as_string() == "terminated";
  });
  EXPECT_EQ(container_of(state, "large")["reason"].as_string(), "OOMKilled");
  EXPECT_EQ(container_of(state, "small")["state"].as_string(), "running");
}

TEST(MemoryLimits, FollowAResize) {
  PodLab lab;
  lab.start(
      "{name: p, limits: {c: {memory: 900000000}}, containers: [{name: c, command: [sleep, "
      "'1000']}]}");
  lab.wait("p", [](const Value& now) {
    return container_of(now, "c")["state"].as_string() == "running";
  });
  lab.runtime().update(*yaml::parse(
      "{uid: uid-p, resources: {c: {limits: {memory: 1}}}, limits: {c: {memory: 1}}}"));
  const Value state = lab.wait_end("p");
  EXPECT_EQ(container_of(state, "c")["reason"].as_string(), "OOMKilled");
  EXPECT_EQ(state["resources"]["c"]["limits"]["memory"].as_int(), 1);
}

TEST(MemoryLimits, RestartContainerForAResize) {
  PodLab lab;
  lab.start(
      "{name: p, grace: 5, restartPolicy: Always, containers: [{name: c, command: [sleep, "
      "'1000']}, {name: d, command: [sleep, '1000']}]}");
  lab.wait("p", [](const Value& now) {
    return container_of(now, "c")["state"].as_string() == "running" &&
           container_of(now, "d")["state"].as_string() == "running";
  });
  lab.runtime().update(*yaml::parse("{uid: uid-p, resources: {}, limits: {}, restarts: [c]}"));
  const Value state = lab.wait("p", [](const Value& now) {
    return container_of(now, "c")["restarts"].as_int() == 1 &&
           container_of(now, "c")["state"].as_string() == "running";
  });
  EXPECT_EQ(container_of(state, "d")["restarts"].as_int(), 0);
  EXPECT_EQ(state["events"][0]["note"], Value("Container c resize requires restart"));
}

}  // namespace
}  // namespace athanor::nodes::spawned_keeping_test
