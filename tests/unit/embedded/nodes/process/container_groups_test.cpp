// SPDX-License-Identifier: Apache-2.0
// cgroups, on folders that look like the kernel's.
#include "embedded/nodes/process/container_groups.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/files/scratch_folder.hpp"
#include "base/files/text_file.hpp"

namespace athanor::nodes::container_groups_test {
namespace {

class ContainerGroupsTest : public ::testing::Test {
 protected:
  ContainerGroupsTest() {
    std::filesystem::create_directories(own());
    write("mountinfo", fmt::format("24 1 8:1 / / rw shared:1 - ext4 /dev/vda rw\n"
                                   "30 24 0:26 / {} rw,nosuid shared:4 - cgroup2 cgroup2 rw\n",
                                   folder_ + "/tree"));
    write("cgroup", "1:name=systemd:/other\n0::/user.slice/lab.scope\n");
    write_own("cgroup.controllers", "cpuset cpu io memory pids\n");
    write_own("cgroup.subtree_control", "");
    write_own("cgroup.procs", fmt::format("{}\n", ::getpid()));
  }

  [[nodiscard]] std::string own() const { return folder_ + "/tree/user.slice/lab.scope"; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
  }
  void write_own(const std::string& name, const std::string& text) const {
    std::ofstream(own() + "/" + name) << text;
  }
  static std::string read(const std::string& path) {
    const auto text = read_whole_file(path);
    return text.ok() ? *text : text.error().message;
  }
  [[nodiscard]] Result<ContainerGroups> claim() const {
    return ContainerGroups::claim({.mounts = folder_ + "/mountinfo", .own = folder_ + "/cgroup"});
  }
  [[nodiscard]] std::string refusal() const {
    const auto groups = claim();
    return groups.ok() ? "none" : groups.error().message;
  }

  ScratchFolder scratch_ =
      ScratchFolder::make(std::filesystem::temp_directory_path().string(), "groups-").value();
  std::string folder_ = scratch_.path();
};

TEST_F(ContainerGroupsTest, ClaimsGroupAndLimitsContainers) {
  auto groups = claim();
  ASSERT_TRUE(groups.ok()) << groups.error().message;
  EXPECT_EQ(read(own() + "/athanor/cgroup.procs"), std::to_string(::getpid()));
  EXPECT_EQ(read(own() + "/cgroup.subtree_control"), "+cpu +memory");
  const auto made = groups->make("", "p-c-1", {.memory_bytes = 20'000'000, .cpu_millis = 1500});
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(*made, own() + "/container-p-c-1");
  EXPECT_EQ(read(*made + "/memory.max"), "20000000");
  EXPECT_EQ(read(*made + "/memory.oom.group"), "1");
  EXPECT_EQ(read(*made + "/cpu.max"), "150000 100000");
  ASSERT_TRUE(enter_group(*made));
  EXPECT_EQ(read(*made + "/cgroup.procs"), "0");
  const auto other = groups->make("", "p-c-2", {});
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(read(*other + "/memory.max"), "max");
  EXPECT_EQ(read(*other + "/cpu.max"), "max 100000");
  ASSERT_TRUE(ContainerGroups::limit(*other, {.cpu_millis = 1}).ok());
  EXPECT_EQ(read(*other + "/cpu.max"), "1000 100000") << "the least that the kernel takes";
}

TEST_F(ContainerGroupsTest, ContainersShareLimitsOfTheirPod) {
  const auto groups = claim();
  ASSERT_TRUE(groups.ok()) << groups.error().message;
  const auto pod = groups->make_pod("u", {.cpu_millis = 500});
  ASSERT_TRUE(pod.ok()) << pod.error().message;
  EXPECT_EQ(read(*pod + "/cgroup.subtree_control"), "+cpu +memory");
  EXPECT_EQ(read(*pod + "/cpu.max"), "50000 100000");
  EXPECT_EQ(*groups->make_pod("u", {.cpu_millis = 500}), *pod) << "again";
  const auto made = groups->make(*pod, "u-c-1", {});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(*made, own() + "/pod-u/container-u-c-1");
  EXPECT_EQ(read(*made + "/cpu.max"), "max 100000");
}

TEST_F(ContainerGroupsTest, RemovesGroupOfPodWithItsLast) {
  for (const char* name : {"a", "b"}) {
    std::filesystem::create_directories(own() + "/pod-u/container-" + name);
  }
  ContainerGroups::remove(own() + "/pod-u/container-a");
  EXPECT_TRUE(std::filesystem::exists(own() + "/pod-u/container-b"));
  ContainerGroups::remove(own() + "/pod-u/container-b");
  EXPECT_FALSE(std::filesystem::exists(own() + "/pod-u"));
  EXPECT_TRUE(std::filesystem::exists(own()));
}

TEST_F(ContainerGroupsTest, ReadsKillsForMemory) {
  const std::string folder = own() + "/container-x";
  std::filesystem::create_directory(folder);
  EXPECT_FALSE(ContainerGroups::ran_out_of_memory(folder));
  std::ofstream(folder + "/memory.events") << "low 0\nhigh 0\nmax 3\noom 1\noom_kill 0\n";
  EXPECT_FALSE(ContainerGroups::ran_out_of_memory(folder));
  std::ofstream(folder + "/memory.events") << "low 0\nhigh 0\nmax 3\noom 1\noom_kill 2\n";
  EXPECT_TRUE(ContainerGroups::ran_out_of_memory(folder));
}

TEST_F(ContainerGroupsTest, RemovesGroupsOfKilledLab) {
  std::filesystem::create_directory(own() + "/container-old");
  ASSERT_TRUE(claim().ok());
  EXPECT_FALSE(std::filesystem::exists(own() + "/container-old"));
}

TEST_F(ContainerGroupsTest, SaysWhyLimitsAreNotEnforced) {
  write_own("cgroup.procs", fmt::format("{}\n1\n", ::getpid()));
  EXPECT_NE(refusal().find("other programs are in cgroup " + own()), std::string::npos)
      << refusal();
  EXPECT_NE(refusal().find("systemd-run --user --scope -p Delegate=yes"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(own() + "/athanor")) << "nothing has changed";
  write_own("cgroup.controllers", "pids memory\n");
  EXPECT_NE(refusal().find("lacks the controller cpu"), std::string::npos) << refusal();
  write("mountinfo", "24 1 8:1 / / rw shared:1 - ext4 /dev/vda rw\n");
  EXPECT_EQ(refusal(), "this machine has no cgroup v2");
  write("cgroup", "1:name=systemd:/other\n");
  write("mountinfo", "short\n30 24 0:26 / /x rw - cgroup2 cgroup2 rw\n");
  EXPECT_EQ(refusal(), "this program is in no cgroup v2");
}

// A machine where only a part of the tree is mounted, as in a container.
TEST_F(ContainerGroupsTest, FindsGroupBelowMountedPart) {
  write(
      "mountinfo",
      fmt::format("30 24 0:26 /user.slice {}/tree/user.slice rw - cgroup2 cgroup2 rw\n", folder_));
  EXPECT_TRUE(claim().ok()) << refusal();
}

}  // namespace
}  // namespace athanor::nodes::container_groups_test
