// SPDX-License-Identifier: Apache-2.0
// Containers as real processes: what they see, how they end, what is left.
#include "embedded/nodes/process/process_runtime.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <vector>

#include "base/digest.hpp"
#include "kube/text/json.hpp"
#include "unit/embedded/nodes/process/pod_lab.hpp"

namespace athanor::nodes::process_runtime_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// {name: c, command: [/bin/sh, -c, script]} with more members.
std::string shell(const std::string& script, const std::string& more = "") {
  return fmt::format("{{name: c, command: [/bin/sh, -c, {}]{}}}", json::quote(script), more);
}

std::string pod(const std::string& container, const std::string& more = "") {
  return fmt::format("{{name: p, containers: [{}]{}}}", container, more);
}

std::vector<int> pids_in(const std::string& text) {
  std::istringstream words(text);
  std::vector<int> pids;
  for (int pid = 0; words >> pid;) {
    pids.push_back(pid);
  }
  return pids;
}

TEST(ProcessRuntime, ExitCodesAreTheProcesses) {
  struct Case {
    const char* script;
    int code;
    const char* reason;
  };
  for (const Case& c : {Case{"exit 0", 0, "Completed"}, Case{"exit 3", 3, "Error"},
                        Case{"kill -9 $$", 137, "Error"}, Case{"kill -TERM $$", 143, "Error"}}) {
    PodLab lab;
    lab.start(pod(shell(c.script)));
    const Value container = container_of(lab.wait_end("p"), "c");
    EXPECT_EQ(container["exitCode"].as_int(-1), c.code) << c.script;
    EXPECT_EQ(container["reason"].str(), c.reason) << c.script;
    EXPECT_FALSE(container["startedAt"].str().empty());
    EXPECT_FALSE(container["finishedAt"].str().empty());
  }
}

TEST(ProcessRuntime, AMissingCommandEndsWith127AndSaysSo) {
  PodLab lab;
  lab.start(pod("{name: c, command: [no-such-program, -x]}"));
  EXPECT_EQ(container_of(lab.wait_end("p"), "c")["exitCode"].as_int(), 127);
  EXPECT_EQ(lab.log("p", "c"), "athanor: no-such-program: No such file or directory\n");
}

TEST(ProcessRuntime, TheEnvironmentIsTheContainersAlone) {
  ::setenv("ATHANOR_TEST_SECRET", "leaked", 1);  // NOLINT(concurrency-mt-unsafe): one thread
  PodLab lab;
  lab.start(pod(shell("echo \"$A|$HOME|$HOSTNAME|$ATHANOR_TEST_SECRET|$(env | grep -c ^HOME=)\"",
                      ", env: [[A, 'x y'], [HOME, /there]]"),
                ", hostname: j-0"));
  lab.wait_end("p");
  EXPECT_EQ(lab.log("p", "c"), "x y|/there|j-0||1\n");
}

TEST(ProcessRuntime, OnlyStandardStreamsAreOpen) {
  PodLab lab;
  lab.start(
      pod(shell("for f in /proc/$$/fd/*; do if [ -e $f ]; then echo ${f##*/}; fi; done; read x || "
                "echo no input")));
  lab.wait_end("p");
  EXPECT_EQ(lab.log("p", "c"), "0\n1\n2\nno input\n");
}

TEST(ProcessRuntime, VolumesAreWhereTheyAreMounted) {
  PodLab lab;
  lab.start(fmt::format(
      "{{name: p, volumes: [{{name: data, type: empty}}, {{name: conf, type: files, files: "
      "[{{path: "
      "a/b.txt, data: {}, mode: 256}}]}}], containers: [{}]}}",
      base64_encode("content"),
      shell(
          "set -e; cat /etc/app/a/b.txt; echo; stat -c %a /etc/app/a/b.txt; echo new > "
          "/work/deep/er/file; cat /work/deep/er/file; echo sub > /sub/file; cat "
          "/work/deep/er/part/file; touch /etc/app/x 2>/dev/null || echo read-only; ls /etc/passwd",
          ", mounts: [{volume: data, path: /work/deep/er}, {volume: conf, path: /etc/app, "
          "readOnly: true}, {volume: data, path: /sub, subPath: part}, {volume: conf, path: "
          "/one.txt, subPath: a/b.txt}]")));
  EXPECT_EQ(container_of(lab.wait_end("p"), "c")["exitCode"].as_int(-1), 0);
  EXPECT_EQ(lab.log("p", "c"), "content\n400\nnew\nsub\nread-only\n/etc/passwd\n");
  EXPECT_EQ(read_text(lab.volume("p", "data") + "/file"), "new\n");
  EXPECT_FALSE(std::filesystem::exists("/work/deep")) << "nothing is seen outside";
}

TEST(ProcessRuntime, MountsFollowLinksOfTheHost) {
  PodLab lab;  // /var/run is a link to /run where the tokens of service accounts are mounted
  lab.start(
      "{name: p, volumes: [{name: t, type: files, files: [{path: token, data: dG9r}]}], "
      "containers: "
      "[{name: c, command: [cat, /var/run/secrets/kubernetes.io/serviceaccount/token], mounts: "
      "[{volume: t, path: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}]}]}");
  lab.wait_end("p");
  EXPECT_EQ(lab.log("p", "c"), "tok");
}

TEST(ProcessRuntime, HidesViewFromItselfAndCleansUp) {
  PodLab lab;
  lab.start(pod(shell("grep -c scratch /proc/self/mounts; ls -d /ws"),
                ", volumes: [{name: d, type: empty}]"));
  lab.wait_end("p");
  EXPECT_EQ(lab.log("p", "c").substr(0, 2), "0\n");
  EXPECT_EQ(read_text("/proc/self/mounts").find(lab.folder()), std::string::npos);
}

TEST(ProcessRuntime, ClaimsOutliveTheirPods) {
  PodLab lab;
  const std::string claim = ", volumes: [{name: v, type: claim, claim: data}]";
  const std::string mount = ", mounts: [{volume: v, path: /claimed}]";
  lab.start(pod(shell("echo kept > /claimed/x", mount), claim));
  lab.wait_end("p");
  lab.runtime().forget("uid-p");
  lab.start(
      "{name: q, volumes: [{name: v, type: claim, claim: data}], containers: [{name: c, "
      "command: [cat, /claimed/x], mounts: [{volume: v, path: /claimed}]}]}");
  lab.wait_end("q");
  EXPECT_EQ(lab.log("q", "c"), "kept\n");
}

TEST(ProcessRuntime, TokensAreAskedForAndMounted) {
  PodLab lab;
  lab.tokens = [](const TokenWish& wish) {
    return fmt::format("{}/{} {} {} {}", wish.ns, wish.service_account, wish.pod_uid, wish.audience,
                       wish.seconds);
  };
  lab.start(
      "{name: p, volumes: [{name: t, type: files, serviceAccount: sa, tokens: [{path: token, "
      "audience: kueue, seconds: 600}]}], containers: [{name: c, command: [cat, /t/token], mounts: "
      "[{volume: t, path: /t}]}]}");
  lab.wait_end("p");
  EXPECT_EQ(lab.log("p", "c"), "ns/sa uid-p kueue 600");
}

TEST(ProcessRuntime, FailsAllContainersWhenPreparationFails) {
  PodLab lab;
  lab.start(
      "{name: p, restartPolicy: Always, volumes: [{name: v, type: files, files: [{path: "
      "../out, data: ''}]}], containers: [{name: a, command: [x]}, {name: b, command: [x]}]}");
  const Value state = lab.wait_end("p");
  for (const char* name : {"a", "b"}) {
    EXPECT_EQ(container_of(state, name)["exitCode"].as_int(), 128);
    EXPECT_EQ(container_of(state, name)["reason"].str(), "StartError");
    EXPECT_EQ(container_of(state, name)["message"].str(),
              "volume v: path ../out leaves the volume");
  }
}

TEST(ProcessRuntime, LogsAreFollowedWhileTheyGrow) {
  PodLab lab;
  lab.start(pod(shell("echo one; until [ -e /v/go ]; do sleep 0.01; done; echo two; printf three",
                      ", mounts: [{volume: v, path: /v}]"),
                ", volumes: [{name: v, type: empty}]"));
  ASSERT_TRUE(eventually([&] { return lab.log("p", "c") == "one\n"; }));
  auto stream = lab.runtime().open({"ns", "p"}, "uid-p", {.container = "c", .follow = true});
  ASSERT_TRUE(stream.ok());
  std::atomic<int> woken = 1;
  (*stream)->on_ready([&woken] { ++woken; });
  std::string text;
  EXPECT_TRUE(eventually([&] {
    if (woken.exchange(0) > 0) {
      EXPECT_EQ((*stream)->pull(text), net::Stream::State::Open);
    }
    return text == "one\n";
  }));
  write_text(lab.volume("p", "v") + "/go", "");
  auto state = net::Stream::State::Open;
  EXPECT_TRUE(eventually([&] {
    if (woken.exchange(0) > 0) {
      state = (*stream)->pull(text);
    }
    return state == net::Stream::State::Ended;
  }));
  EXPECT_EQ(text, "one\ntwo\nthree");
}

TEST(ProcessRuntime, EndsFollowingOfEndedContainer) {
  PodLab lab;
  lab.start(
      "{name: p, containers: [{name: a, command: [echo, hi]}, {name: b, command: [sleep, "
      "infinity]}]}");
  lab.wait("p", [](const Value& s) { return container_of(s, "a")["state"].str() == "terminated"; });
  auto stream = lab.runtime().open({"ns", "p"}, "uid-p", {.container = "a", .follow = true});
  ASSERT_TRUE(stream.ok());
  std::string text;
  EXPECT_TRUE(eventually([&] { return (*stream)->pull(text) == net::Stream::State::Ended; }));
  EXPECT_EQ(text, "hi\n");
}

TEST(ProcessRuntime, LogOptions) {
  PodLab lab;
  lab.start(pod(shell("for i in 1 2 3 4 5; do echo line $i; done")));
  lab.wait_end("p");
  EXPECT_EQ(lab.log("p", "c", {.tail_lines = 2}), "line 4\nline 5\n");
  EXPECT_EQ(lab.log("p", "c", {.tail_lines = 0}), "");
  EXPECT_EQ(lab.log("p", "c", {.limit_bytes = 10}), "line 1\nlin");
  const std::string stamped = lab.log("p", "c", {.timestamps = true, .tail_lines = 1});
  EXPECT_TRUE(parse_time(stamped.substr(0, stamped.find(' ')))) << stamped;
  EXPECT_EQ(stamped.substr(stamped.find(' ')), " line 5\n");
  EXPECT_EQ(lab.log("p", "c", {.previous = true}), "error: container c has no previous log");
}

// Whatever a step leaves where the node looks: only regular files count, and nobody waits for them.
TEST(ProcessRuntime, IgnoresPipesAndLinksAmongStepResults) {
  PodLab lab;
  lab.start(
      "{name: p, sequential: true, containers: [{name: step-a, results: [pipe, link, folder, "
      "device, real], stepResults: [inner], command: [/bin/sh, -c, 'cd /tekton/results; mkfifo "
      "pipe; ln -s /etc/passwd link; mkdir folder; ln -s /dev/zero device; printf x > real; rm -rf "
      "/tekton/steps/step-a/results; ln -s /etc /tekton/steps/step-a/results; mkfifo "
      "/tekton/steps/step-a/exitCode /tekton/scripts/step-b']}, {name: step-b, script: 'cat "
      "/tekton/steps/step-a/exitCode; echo; echo ran'}]}");
  const Value state = lab.wait_end("p");
  EXPECT_EQ(container_of(state, "step-a")["message"].str(),
            R"([{"key":"real","value":"x","type":1}])");
  EXPECT_EQ(container_of(state, "step-b")["exitCode"].as_int(-1), 0);
  EXPECT_EQ(lab.log("p", "step-b"), "0\nran\n");
}

// The termination log is a bind mount; only whoever reaches the pod's folder on the host, as
// commands without isolation do, puts something else in its place.
TEST(ProcessRuntime, IgnoresPipesAndLinksAsTerminationLog) {
  PodLab lab;
  const std::string secret = lab.folder() + "/secret";
  write_text(secret, "of the host");
  std::string containers;
  for (const char* name : {"pipe", "link", "device", "folder", "plain"}) {
    containers += fmt::format(
        "{{name: {0}, messagePath: /dev/termination-log, mounts: [{{volume: v, path: /v}}], "
        "command: [/bin/sh, -c, 'echo said > /dev/termination-log; touch /v/{0}; until [ -e /v/go "
        "]; do sleep 0.01; done']}}, ",
        name);
  }
  lab.start("{name: p, volumes: [{name: v, type: empty}], containers: [" + containers + "]}");
  const std::string folder = lab.folder() + "/pods/uid-p/termination/";
  for (const char* name : {"pipe", "link", "device", "folder", "plain"}) {
    EXPECT_TRUE(eventually([&] {
      return std::filesystem::exists(fmt::format("{}/{}", lab.volume("p", "v"), name));
    })) << name;
    EXPECT_EQ(read_text(folder + name), "said\n") << name;
  }
  for (const char* name : {"pipe", "link", "device", "folder"}) {
    EXPECT_TRUE(std::filesystem::remove(folder + name)) << name;
  }
  EXPECT_EQ(::mkfifo((folder + "pipe").c_str(), 0666), 0);
  std::filesystem::create_symlink(secret, folder + "link");
  std::filesystem::create_symlink("/dev/zero", folder + "device");
  std::filesystem::create_directory(folder + "folder");
  write_text(lab.volume("p", "v") + "/go", "");
  const Value state = lab.wait_end("p");
  for (const char* name : {"pipe", "link", "device", "folder"}) {
    EXPECT_EQ(container_of(state, name)["message"].str(), "") << name;
    EXPECT_EQ(container_of(state, name)["exitCode"].as_int(-1), 0) << name;
  }
  EXPECT_EQ(container_of(state, "plain")["message"].str(), "said\n");
}

// As a kubelet's: what is read begins in the newest file, what is followed goes on into the next.
TEST(ProcessRuntime, LogsRotateAndAreFollowedAcrossFiles) {
  PodLab lab({.bytes = 200'000, .files = 3});
  constexpr int kLines = 100'000;
  lab.start(pod(shell(fmt::format("until [ -e /v/go ]; do sleep 0.01; done; i=0; while [ $i -lt {} "
                                  "]; do echo line $i; i=$((i+1)); done",
                                  kLines),
                      ", mounts: [{volume: v, path: /v}]"),
                ", volumes: [{name: v, type: empty}]"));
  lab.wait("p", [](const Value& s) { return container_of(s, "c")["state"].str() == "running"; });
  auto stream = lab.runtime().open({"ns", "p"}, "uid-p", {.container = "c", .follow = true});
  ASSERT_TRUE(stream.ok());
  write_text(lab.volume("p", "v") + "/go", "");
  std::string text;
  EXPECT_TRUE(eventually([&] { return (*stream)->pull(text) == net::Stream::State::Ended; }));
  std::istringstream lines(text);
  int last = -1;
  for (std::string word; lines >> word;) {
    int number = 0;
    lines >> number;
    EXPECT_GT(number, last) << "in their order, none twice";
    last = number;
  }
  EXPECT_EQ(last, kLines - 1);
  lab.wait_end("p");
  std::uintmax_t bytes = 0;
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(lab.folder() + "/pods/uid-p/logs")) {
    bytes += file.file_size();
    ++files;
  }
  EXPECT_EQ(files, 3);
  EXPECT_LT(bytes, 2'000'000U) << "of some 3,700,000";
  const std::string newest = lab.log("p", "c");
  EXPECT_LT(newest.size(), text.size() / 3);
  EXPECT_TRUE(newest.empty() || newest.ends_with(fmt::format("line {}\n", kLines - 1)));
}

TEST(ProcessRuntime, RestartsKeepTheLogOfTheRunBefore) {
  PodLab lab;
  lab.start(
      pod(shell("if [ -e /v/x ]; then echo second; exit 0; fi; touch /v/x; echo first; exit 1",
                ", mounts: [{volume: v, path: /v}]"),
          ", restartPolicy: OnFailure, volumes: [{name: v, type: empty}]"));
  const Value container = container_of(lab.wait_end("p"), "c");
  EXPECT_EQ(container["restarts"].as_int(), 1);
  EXPECT_EQ(container["last"]["exitCode"].as_int(), 1);
  EXPECT_EQ(lab.log("p", "c"), "second\n");
  EXPECT_EQ(lab.log("p", "c", {.previous = true}), "first\n");
}

TEST(ProcessRuntime, InitContainersRunFirstOneAfterAnother) {
  PodLab lab;
  lab.start(
      "{name: p, volumes: [{name: v, type: empty}], init: [{name: i1, command: [/bin/sh, -c, "
      "'sleep 0.05; echo 1 >> /v/x'], mounts: [{volume: v, path: /v}]}, {name: i2, command: "
      "[/bin/sh, -c, 'echo 2 >> /v/x'], mounts: [{volume: v, path: /v}]}], containers: "
      "[{name: c, command: [cat, /v/x], mounts: [{volume: v, path: /v}]}]}");
  lab.wait_end("p");
  EXPECT_EQ(lab.log("p", "c"), "1\n2\n");
}

TEST(ProcessRuntime, StepsRunInOrderAndHandResultsOn) {
  PodLab lab;
  lab.start(
      "{name: p, sequential: true, containers: [{name: step-a, results: [r, unused], script: "
      "\"#!/bin/sh\\nsleep 0.05; printf 'v 1\\n' > /tekton/results/r; pwd; echo $HOME\"}, {name: "
      "step-b, workingDir: sub, results: [r], script: \"cat /tekton/results/r; cat "
      "/tekton/steps/step-a/exitCode; pwd; echo $1\", command: [arg]}]}");
  const Value state = lab.wait_end("p");
  EXPECT_EQ(container_of(state, "step-a")["message"].str(),
            R"([{"key":"r","value":"v 1\n","type":1}])");
  EXPECT_EQ(lab.log("p", "step-a"), "/workspace\n/tekton/home\n");
  EXPECT_EQ(lab.log("p", "step-b"), "v 1\n0/workspace/sub\narg\n");
}

TEST(ProcessRuntime, MakesMissingWorkingFolderInViewOnly) {
  PodLab lab;
  lab.start(
      "{name: p, volumes: [{name: v, type: empty}], containers: [{name: c, command: [/bin/sh, -c, "
      "'pwd; touch here && ls'], workingDir: /no/such/folder}, {name: d, command: [pwd], "
      "workingDir: /v/deep/er, mounts: [{volume: v, path: /v}]}, {name: e, command: [pwd], "
      "workingDir: /usr/no-such-folder}]}");
  lab.wait_end("p");
  EXPECT_EQ(lab.log("p", "c"), "/no/such/folder\nhere\n");
  EXPECT_EQ(lab.log("p", "d"), "/v/deep/er\n");
  EXPECT_EQ(lab.log("p", "e"), "/usr/no-such-folder\n");
  EXPECT_FALSE(std::filesystem::exists("/no"));
  EXPECT_FALSE(std::filesystem::exists("/usr/no-such-folder"));
  EXPECT_TRUE(std::filesystem::exists(lab.folder() + "/pods/uid-p/volumes/v/deep/er"));
}

TEST(ProcessRuntime, KeepsWorkingFolderOfStepInsideView) {
  PodLab lab;
  lab.start(
      "{name: p, sequential: true, containers: [{name: step-a, workingDir: /workspace/a/b, "
      "command: [pwd]}, {name: step-b, workingDir: ../../made, command: [pwd]}]}");
  lab.wait_end("p");
  EXPECT_EQ(lab.log("p", "step-a"), "/workspace/a/b\n");
  EXPECT_EQ(lab.log("p", "step-b"), "/made\n");
  EXPECT_FALSE(std::filesystem::exists(lab.folder() + "/pods/made"));
  EXPECT_FALSE(std::filesystem::exists("/made"));
}

TEST(ProcessRuntime, ScriptsOfAshRunWithTheirArguments) {
  PodLab lab;
  lab.start(
      "{name: p, sequential: true, containers: [{name: step-a, script: \"#!/bin/ash -e\\necho $1; "
      "false; echo no\\n\", command: [one], onError: continue}, {name: step-b, script: "
      "\"#!/bin/busybox sh\\necho two\\n\"}, {name: step-c, command: [ash, -c, 'echo three']}]}");
  const Value state = lab.wait_end("p");
  EXPECT_EQ(lab.log("p", "step-a"), "one\n");
  EXPECT_EQ(lab.log("p", "step-b"), "two\n");
  EXPECT_EQ(lab.log("p", "step-c"), "three\n");
  EXPECT_EQ(container_of(state, "step-a")["message"].str(),
            R"([{"key":"ExitCode","value":"1","type":3}])");
}

TEST(ProcessRuntime, OutputIsKeptInFilesBesideTheLog) {
  PodLab lab;
  lab.start(
      "{name: p, sequential: true, containers: [{name: step-a, results: [r], stdout: "
      "/tekton/results/r, stderr: /workspace/logs/err, command: [/bin/sh, -c, 'echo out; echo err "
      ">&2; printf more; exit 3'], onError: continue}, {name: step-b, command: [cat, "
      "/workspace/logs/err]}]}");
  const Value state = lab.wait_end("p");
  EXPECT_EQ(
      container_of(state, "step-a")["message"].str(),
      R"([{"key":"r","value":"out\nmore","type":1},{"key":"ExitCode","value":"3","type":3}])");
  EXPECT_EQ(lab.log("p", "step-b"), "err\n");
  const std::string log = lab.log("p", "step-a");
  EXPECT_NE(log.find("out\n"), std::string::npos) << log;
  EXPECT_NE(log.find("err\n"), std::string::npos) << log;
}

TEST(ProcessRuntime, StopsStepWithKeptOutput) {
  PodLab lab;
  lab.start(
      "{name: p, sequential: true, containers: [{name: step-a, stdout: /workspace/out, command: "
      "[/bin/sh, -c, 'trap \"echo bye; exit 7\" TERM; echo up; while true; do sleep 0.02; "
      "done']}]}");
  EXPECT_TRUE(eventually([&] { return lab.log("p", "step-a") == "up\n"; }));
  lab.runtime().stop("uid-p", seconds(10));
  const Value state = lab.wait_end("p");
  EXPECT_EQ(container_of(state, "step-a")["exitCode"].as_int(), 7);
  const std::string log = lab.log("p", "step-a");
  EXPECT_TRUE(log.starts_with("up\n") && log.ends_with("bye\n")) << log;
}

TEST(ProcessRuntime, ReportsReasonOfUnrunnableContainer) {
  PodLab lab;
  lab.start(pod("{name: c, command: [], problem: 'image x is not run here'}"));
  const Value container = container_of(lab.wait_end("p"), "c");
  EXPECT_EQ(container["exitCode"].as_int(), 127);
  EXPECT_EQ(container["message"].str(), "image x is not run here");
  EXPECT_EQ(lab.log("p", "c"), "athanor: image x is not run here\n");
}

TEST(ProcessRuntime, ASkippedStepLeavesExitCodeZero) {
  PodLab lab;
  lab.start(
      "{name: p, sequential: true, containers: [{name: step-a, when: [{input: a, operator: in, "
      "values: [b]}], command: [touch, /workspace/no]}, {name: step-b, command: [cat, "
      "/tekton/steps/step-a/exitCode]}]}");
  lab.wait_end("p");
  EXPECT_EQ(lab.log("p", "step-a"), "");
  EXPECT_EQ(lab.log("p", "step-b"), "0");
  EXPECT_FALSE(std::filesystem::exists(lab.folder() + "/pods/uid-p/workspace/no"));
}

TEST(ProcessRuntime, SidecarsServeTheStepsAndEndAfterThem) {
  PodLab lab;
  lab.start(
      "{name: p, sequential: true, grace: 10, volumes: [{name: v, type: empty}], containers: "
      "[{name: step-a, command: [/bin/sh, -c, 'until [ -e /v/up ]; do sleep 0.02; done; cat "
      "/v/up'], mounts: [{volume: v, path: /v}]}, {name: sidecar-s, sidecar: true, script: "
      "\"#!/bin/sh\\necho ready > /v/up; ls -d /workspace; exec sleep 1000\\n\", mounts: [{volume: "
      "v, path: /v}]}]}");
  const Value state = lab.wait_end("p");
  EXPECT_EQ(lab.log("p", "step-a"), "ready\n");
  EXPECT_EQ(container_of(state, "sidecar-s")["exitCode"].as_int(-1), 0);
  EXPECT_EQ(container_of(state, "sidecar-s")["message"].str(),
            "Sidecar container successfully stopped by nop image");
}

TEST(ProcessRuntime, StepResultsAreTheStepsOwn) {
  PodLab lab;
  lab.start(
      "{name: p, sequential: true, containers: [{name: step-a, stepResults: [r], script: "
      "'printf x > /tekton/steps/step-a/results/r'}, {name: step-b, stepResults: [r], command: "
      "['true']}]}");
  const Value state = lab.wait_end("p");
  EXPECT_EQ(container_of(state, "step-a")["message"].str(),
            R"([{"key":"r","value":"x","type":4}])");
  EXPECT_EQ(container_of(state, "step-b")["message"].str(), "");
}

TEST(ProcessRuntime, AFailedStepSkipsTheRest) {
  PodLab lab;
  lab.start(
      "{name: p, sequential: true, containers: [{name: a, command: [/bin/sh, -c, 'exit 4']}, "
      "{name: b, command: [touch, /workspace/no]}]}");
  const Value state = lab.wait_end("p");
  EXPECT_EQ(container_of(state, "a")["exitCode"].as_int(), 4);
  EXPECT_EQ(container_of(state, "b")["exitCode"].as_int(), 1);
  EXPECT_EQ(container_of(state, "b")["reason"].str(), "Skipped");
  EXPECT_FALSE(std::filesystem::exists(lab.folder() + "/pods/uid-p/workspace/no"));
}

TEST(ProcessRuntime, RunsRestAfterStepAllowedToFail) {
  PodLab lab;
  lab.start(
      "{name: p, sequential: true, containers: [{name: a, onError: continue, command: "
      "[/bin/sh, -c, 'exit 4']}, {name: b, command: [cat, /tekton/steps/a/exitCode]}]}");
  const Value state = lab.wait_end("p");
  EXPECT_EQ(container_of(state, "a")["exitCode"].as_int(-1), 0);
  EXPECT_EQ(container_of(state, "a")["message"].str(),
            R"([{"key":"ExitCode","value":"4","type":3}])");
  EXPECT_EQ(container_of(state, "b")["exitCode"].as_int(-1), 0);
  EXPECT_EQ(lab.log("p", "b"), "4");
}

TEST(ProcessRuntime, AStepEndsAtItsTimeout) {
  PodLab lab;
  lab.start(
      "{name: p, sequential: true, containers: [{name: a, timeoutMs: 100, command: [sleep, "
      "infinity]}, {name: b, command: ['true']}]}");
  const Value state = lab.wait_end("p");
  EXPECT_EQ(container_of(state, "a")["reason"].str(), "TimeoutExceeded");
  EXPECT_EQ(container_of(state, "a")["exitCode"].as_int(), 1);
  EXPECT_EQ(container_of(state, "b")["reason"].str(), "Skipped");
}

TEST(ProcessRuntime, ResultsThatAreTooLargeFailTheStep) {
  PodLab lab;
  lab.start(
      "{name: p, sequential: true, containers: [{name: a, results: [r], command: [/bin/sh, "
      "-c, 'head -c 2000000 /dev/zero | tr \"\\\\0\" x > /tekton/results/r']}]}");
  const Value container = container_of(lab.wait_end("p"), "a");
  EXPECT_EQ(container["exitCode"].as_int(), 1);
  EXPECT_EQ(container["message"].str(),
            "Termination message is above max allowed size 1048576, caused by large task result.");
}

TEST(ProcessRuntime, StoppingIsPoliteFirst) {
  PodLab lab;
  lab.start(pod(shell("trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.01; done")));
  ASSERT_TRUE(eventually([&] { return lab.log("p", "c") == "up\n"; }));
  lab.runtime().stop("uid-p", seconds(30));
  EXPECT_EQ(container_of(lab.wait_end("p"), "c")["exitCode"].as_int(), 5);
  EXPECT_TRUE(lab.log("p", "c").ends_with("bye\n")) << lab.log("p", "c");
}

TEST(ProcessRuntime, KillsAllChildrenAfterIgnoredSignalAndGrace) {
  PodLab lab(PodLab::Isolation::Off);
  // A child, one in a session of its own, one that also threw its environment away.
  lab.start(pod(shell("trap '' TERM; sleep infinity & echo $! >> /v/pids; setsid sh -c 'echo $$ >> "
                      "/v/pids; exec sleep infinity' & setsid env -i PATH=$PATH sh -c '(echo $$ >> "
                      "/v/pids; exec sleep infinity) &' ; setsid env -i PATH=$PATH sh -c 'sleep "
                      "infinity & echo $! >> /v/pids' ; echo $$ >> /v/pids; echo up; while :; do "
                      "sleep 0.01; done",
                      ", mounts: [{volume: v, path: /v}]"),
                ", volumes: [{name: v, type: empty}]"));
  ASSERT_TRUE(eventually([&] { return lab.log("p", "c") == "up\n"; }));
  std::vector<int> pids;
  ASSERT_TRUE(eventually(  // those in the background write theirs when they get there
      [&] { return (pids = pids_in(read_text(lab.volume("p", "v") + "/pids"))).size() == 5; }));
  const auto before = std::chrono::steady_clock::now();
  lab.runtime().stop("uid-p", milliseconds(150));
  EXPECT_EQ(container_of(lab.wait_end("p"), "c")["exitCode"].as_int(), 137);
  EXPECT_GE(std::chrono::steady_clock::now() - before, milliseconds(150));
  for (const int pid : pids) {
    EXPECT_TRUE(eventually([pid] { return !alive(pid); })) << pid;
  }
}

TEST(ProcessRuntime, EndsContainerDespiteOrphansHoldingOutput) {
  PodLab lab;
  lab.start(pod(shell("setsid sh -c 'while :; do echo noise; done' & sleep 0.05; exit 2")));
  EXPECT_EQ(container_of(lab.wait_end("p"), "c")["exitCode"].as_int(), 2);
}

TEST(ProcessRuntime, SparesProcessesOfOtherRunningContainers) {
  PodLab lab(PodLab::Isolation::Off);
  lab.start(
      "{name: keep, volumes: [{name: v, type: empty}], containers: [{name: c, command: "
      "[/bin/sh, -c, \"setsid sh -c 'echo $$ > /v/pid; exec sleep infinity' & sleep 0.05; exec "
      "sleep infinity\"], mounts: [{volume: v, path: /v}]}]}");
  ASSERT_TRUE(eventually([&] { return !read_text(lab.volume("keep", "v") + "/pid").empty(); }));
  const int pid = pids_in(read_text(lab.volume("keep", "v") + "/pid")).front();
  for (int i = 0; i < 5; ++i) {
    const std::string name = "p" + std::to_string(i);
    lab.start("{name: " + name + ", containers: [{name: c, command: [/bin/true]}]}");
    lab.wait_end(name);
  }
  EXPECT_TRUE(alive(pid));
}

TEST(ProcessRuntime, ForgettingRemovesLogsAndFolders) {
  PodLab lab;
  lab.start(pod(shell("echo x")));
  lab.wait_end("p");
  lab.runtime().forget("uid-p");
  lab.wait("p", [](const Value& state) { return state["uid"].as_string().empty(); });
  EXPECT_FALSE(std::filesystem::exists(lab.folder() + "/pods/uid-p"));
  EXPECT_EQ(lab.log("p", "c"), "error: pod ns/p has no logs on its node");
}

TEST(ProcessRuntime, KeepsLogsOfEndedPodsAfterRestart) {
  PodLab lab;
  lab.start(pod(shell("echo kept")));
  lab.wait_end("p");
  lab.restart();
  EXPECT_EQ(lab.log("p", "c"), "kept\n");
  apiserver::LogOptions follow;
  follow.follow = true;
  EXPECT_EQ(lab.log("p", "c", follow), "kept\n") << "it ends: nobody writes any more";
  EXPECT_EQ(lab.log("p", "other"), "error: pod ns/p has no logs on its node");
  EXPECT_EQ(lab.log("../p", "c"), "error: pod ns/../p has no logs on its node");
  lab.runtime().keep_only({"uid-p", "uid-q"});
  EXPECT_EQ(lab.log("p", "c"), "kept\n");
  lab.runtime().keep_only({"uid-q"});
  EXPECT_FALSE(std::filesystem::exists(lab.folder() + "/pods/uid-p"));
}

TEST(ProcessRuntime, ARunningPodIsNotForgotten) {
  PodLab lab;
  lab.start(pod(shell("exec sleep infinity")));
  lab.runtime().forget("uid-p");
  EXPECT_EQ(lab.runtime().state(pod_query("ns", "p"))["uid"].str(), "uid-p");
}

TEST(ProcessRuntime, ShuttingDownEndsEverythingAndStartsNothingMore) {
  PodLab lab;
  lab.start(pod(shell("trap '' TERM; echo up; while :; do sleep 0.01; done")));
  ASSERT_TRUE(eventually([&] { return lab.log("p", "c") == "up\n"; }));
  lab.runtime().shut_down(milliseconds(50));
  EXPECT_EQ(container_of(lab.wait_end("p"), "c")["exitCode"].as_int(), 137);
  lab.start("{name: late, containers: [{name: c, command: [/bin/true]}]}");
  EXPECT_EQ(lab.runtime().state(pod_query("ns", "late"))["uid"].str(), "");
}

TEST(ProcessRuntime, RunsOthersBesideChattyContainers) {
  PodLab lab;
  for (int i = 0; i < 4; ++i) {
    lab.start(
        fmt::format("{{name: noise{}, containers: [{{name: c, command: [/bin/sh, -c, 'yes "
                    "$(printf %099d 0) | head -c 4000000']}}]}}",
                    i));
  }
  for (int i = 0; i < 60; ++i) {
    lab.start(fmt::format("{{name: p{}, containers: [{{name: c, command: [echo, x]}}]}}", i));
  }
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(container_of(lab.wait_end(fmt::format("p{}", i)), "c")["exitCode"].as_int(-1), 0);
  }
  for (int i = 0; i < 4; ++i) {
    lab.wait_end(fmt::format("noise{}", i));
    EXPECT_EQ(lab.log(fmt::format("noise{}", i), "c").size(), 4000000U);
  }
}

double cpu_seconds(int who) {
  rusage usage{};
  ::getrusage(who, &usage);
  const auto seconds_of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

TEST(ProcessRuntime, RunsTwoHundredContainersAndMeasuresCost) {
  constexpr int kContainers = 200;
  const double before = cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN);
  {
    PodLab lab;
    for (int i = 0; i < kContainers; ++i) {
      lab.start(fmt::format("{{name: p{}, containers: [{{name: c, command: [/bin/true]}}]}}", i));
    }
    for (int i = 0; i < kContainers; ++i) {
      EXPECT_EQ(container_of(lab.wait_end(fmt::format("p{}", i)), "c")["exitCode"].as_int(-1), 0);
    }
  }
  const double each =
      1000 * (cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN) - before) / kContainers;
  RecordProperty("cpu_ms_per_container", fmt::format("{:.2f}", each));
  std::cout << fmt::format("cpu per container: {:.2f} ms\n", each);
}

TEST(ProcessRuntime, WhenTheProgramIsKilledItsContainersEnd) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  const int code = in_child([&] {
    PodLab lab(PodLab::Isolation::Off);
    lab.start(pod(shell("trap '' TERM HUP; setsid sleep infinity & echo $$ $! > /v/pids; while :; "
                        "do sleep 0.01; done",
                        ", mounts: [{volume: v, path: /v}]"),
                  ", volumes: [{name: v, type: empty}]"));
    std::string pids;
    eventually(
        [&] { return pids_in(pids = read_text(lab.volume("p", "v") + "/pids")).size() == 2; });
    static_cast<void>(::write(ends[1], pids.data(), pids.size()));
    ::kill(::getpid(), SIGKILL);
    return 0;
  });
  EXPECT_EQ(code, 128 + SIGKILL);
  char text[100] = {};
  ASSERT_GT(::read(ends[0], text, sizeof text - 1), 0);
  ::close(ends[0]);
  ::close(ends[1]);
  const std::vector<int> pids = pids_in(text);
  ASSERT_EQ(pids.size(), 2U);
  for (const int pid : pids) {
    EXPECT_TRUE(eventually([pid] { return !alive(pid); })) << pid;
  }
}

TEST(ProcessRuntime, EndsPodsButContinuesWhenSpawnerIsKilled) {
  PodLab lab(PodLab::Isolation::Off);
  lab.start(
      pod(shell("echo $PPID > /v/pid; exec sleep infinity", ", mounts: [{volume: v, path: /v}]"),
          ", volumes: [{name: v, type: empty}]"));
  std::string text;
  ASSERT_TRUE(
      eventually([&] { return !(text = read_text(lab.volume("p", "v") + "/pid")).empty(); }));
  ::kill(pids_in(text).front(), SIGKILL);
  EXPECT_EQ(container_of(lab.wait_end("p"), "c")["exitCode"].as_int(), 137);
  lab.start("{name: q, containers: [{name: c, command: [/bin/true]}]}");
  EXPECT_EQ(container_of(lab.wait_end("q"), "c")["message"].str(), "the spawner is gone");
}

TEST(ProcessRuntime, DescriptorsOfEndedContainersAreClosed) {
  PodLab lab(PodLab::Isolation::Off);
  const auto count_files = [](const std::string& pid) {
    std::error_code error;
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry :
         std::filesystem::directory_iterator("/proc/" + pid + "/fd", error)) {
      ++count;
    }
    return count;
  };
  lab.start(pod(shell("echo $PPID")));
  lab.wait_end("p");
  const std::string spawner = std::to_string(pids_in(lab.log("p", "c")).front());
  const std::size_t there = count_files(spawner);
  const std::size_t here = count_files("self");
  for (int i = 0; i < 30; ++i) {
    const std::string name = "p" + std::to_string(i);
    lab.start("{name: " + name + ", containers: [{name: c, command: [echo, x]}]}");
    lab.wait_end(name);
  }
  EXPECT_TRUE(eventually([&] { return count_files(spawner) == there; }));
  EXPECT_TRUE(eventually([&] { return count_files("self") == here; }));
}

TEST(ProcessRuntime, WorksWithoutPrivileges) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "already without privileges";
  }
  constexpr unsigned kNobody = 65534;
  const int code = in_child([&] {
    if (::setresgid(kNobody, kNobody, kNobody) != 0 ||
        ::setresuid(kNobody, kNobody, kNobody) != 0) {
      return 3;
    }
    ::prctl(PR_SET_DUMPABLE, 1);  // as a process that never was root is
    PodLab lab;
    lab.start(fmt::format(
        "{{name: p, volumes: [{{name: v, type: files, files: [{{path: a, data: {}}}]}}, "
        "{{name: w, type: empty}}], containers: [{}]}}",
        base64_encode("text"),
        shell("set -e; id -u; cat /opt/conf/a; echo; touch /opt/conf/b 2>/dev/null || "
              "echo read-only; echo x > /new/place/f; cat /new/place/f; cat /proc/self/"
              "status | grep -c Name",
              ", mounts: [{volume: v, path: /opt/conf, readOnly: true}, {volume: w, "
              "path: /new/place}]")));
    const Value container = container_of(lab.wait_end("p"), "c");
    const std::string log = lab.log("p", "c");
    if (container["exitCode"].as_int(-1) != 0 || log != "65534\ntext\nread-only\nx\n1\n") {
      std::cerr << json::print(container) << "\n" << log;
      return 1;
    }
    return 0;
  });
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace athanor::nodes::process_runtime_test
