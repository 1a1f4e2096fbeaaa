// SPDX-License-Identifier: Apache-2.0
// Links that containers and images put into the way of the lab: each of these led to a folder of
// the machine, outside of the pod.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "unit/embedded/nodes/process/pod_lab.hpp"

namespace athanor::nodes::hostile_links_test {
namespace {

namespace fs = std::filesystem;

class HostileLinks : public testing::Test {
 protected:
  HostileLinks() {
    EXPECT_NE(::mkdtemp(outside_.data()), nullptr);
    ::chmod(outside_.c_str(), 0777);
  }
  ~HostileLinks() override { fs::remove_all(outside_); }

  // A pod with a volume at /v in which its first container runs `script`, and then a second one.
  [[nodiscard]] std::string pod(const std::string& script, const std::string& second) const {
    return fmt::format(
        "{{name: p, volumes: [{{name: v, type: empty}}, {{name: w, type: empty}}], init: [{{name: "
        "i, mounts: [{{volume: v, path: /v}}], command: [/bin/sh, -c, 'cd /v && {}']}}], "
        "containers: [{{name: c, {}}}]}}",
        script, second);
  }
  // The exit code of the second container.
  std::int64_t run(const std::string& pod) {
    lab_.start(pod);
    return container_of(lab_.wait_end("p"), "c")["exitCode"].as_int(-1);
  }
  [[nodiscard]] std::string link(const std::string& name) const {
    return fmt::format("ln -s {} {}", outside_, name);
  }
  void expect_nothing_outside() const {
    EXPECT_TRUE(fs::is_empty(outside_)) << *fs::directory_iterator(outside_);
  }

  std::string outside_ = testing::TempDir() + "athanor-outside-XXXXXX";
  PodLab lab_{};
};

TEST_F(HostileLinks, SubPathStaysInVolume) {
  EXPECT_NE(run(pod(link("evil"),
                    "mounts: [{volume: v, path: /m, subPath: evil}], command: "
                    "[/bin/sh, -c, 'touch /m/written']")),
            0);
  EXPECT_EQ(lab_.log("p", "c"), "athanor: subPath evil leads out of its volume\n");
  expect_nothing_outside();
}

TEST_F(HostileLinks, MissingSubPathIsMadeInVolume) {
  EXPECT_NE(run(pod(link("evil"),
                    "mounts: [{volume: v, path: /m, subPath: evil/made}], command: "
                    "[/bin/sh, -c, 'touch /m/written']")),
            0);
  expect_nothing_outside();
}

TEST_F(HostileLinks, SubPathsFollowLinksWithinVolume) {
  EXPECT_EQ(run(pod("mkdir real && ln -s real good",
                    "mounts: [{volume: v, path: /m, subPath: good/made}], command: [/bin/sh, -c, "
                    "'touch /m/written && stat -c %a /m']")),
            0);
  EXPECT_EQ(lab_.log("p", "c"), "777\n") << "a new one has the rights of its volume";
  EXPECT_TRUE(fs::exists(lab_.volume("p", "v") + "/real/made/written"));
}

TEST_F(HostileLinks, MountPathsStayInView) {
  static_cast<void>(run(pod(link("evil"),
                            "mounts: [{volume: v, path: /v}, {volume: w, path: "
                            "/v/evil/made}], command: [/bin/true]")));
  expect_nothing_outside();
}

TEST_F(HostileLinks, WorkingFoldersStayInView) {
  static_cast<void>(run(pod(link("evil"),
                            "mounts: [{volume: v, path: /v}], workingDir: "
                            "/v/evil/made, command: [/bin/true]")));
  expect_nothing_outside();
}

TEST_F(HostileLinks, FilesOfStepsStayInside) {
  lab_.start(fmt::format(
      "{{name: p, sequential: true, containers: [{{name: one, command: [], script: \"#!/bin/sh\\n"
      "rm -rf /tekton/scripts /tekton/steps/two /tekton/steps\\nln -s {0} /tekton/scripts\\n"
      "ln -s {0} /tekton/steps\"}}, {{name: two, command: [], stepResults: [r], script: "
      "\"#!/bin/sh\\nprintf v > /tekton/steps/two/results/r\\necho second\"}}]}}",
      outside_));
  EXPECT_EQ(container_of(lab_.wait_end("p"), "two")["exitCode"].as_int(-1), 0)
      << lab_.log("p", "two");
  EXPECT_EQ(lab_.log("p", "two"), "second\n");
  expect_nothing_outside();
}

TEST_F(HostileLinks, LongChainsOfImagesStayInRoot) {
  const std::string root = lab_.folder() + "/images/chain/root";
  fs::create_directories(root + "/bin");
  constexpr int kLinks = 41;  // one more than a kernel follows
  for (int i = 0; i < kLinks; ++i) {
    const std::string next = i + 1 < kLinks ? fmt::format("/l{}", i + 1) : outside_;
    fs::create_symlink(next, fmt::format("{}/l{}", root, i));
  }
  static_cast<void>(
      run("{name: p, volumes: [{name: w, type: empty}], containers: [{name: c, image: chain, "
          "mounts: [{volume: w, path: /l0/mounted}], workingDir: /l0/made, command: [/bin/x]}]}"));
  expect_nothing_outside();
}

TEST_F(HostileLinks, LinksOfImagesToNothingLeadIntoRoot) {
  const std::string root = lab_.folder() + "/images/dangling/root";
  fs::create_directories(root + "/etc");
  fs::create_symlink("/run/none/resolv.conf", root + "/etc/resolv.conf");
  static_cast<void>(run("{name: p, containers: [{name: c, image: dangling, command: [/bin/x]}]}"));
  EXPECT_EQ(lab_.log("p", "c"), "athanor: /bin/x: No such file or directory\n");
  EXPECT_FALSE(fs::exists("/run/none"));
}

}  // namespace
}  // namespace athanor::nodes::hostile_links_test
