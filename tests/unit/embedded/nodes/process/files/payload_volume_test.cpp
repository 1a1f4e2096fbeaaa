// SPDX-License-Identifier: Apache-2.0
// Contents of volumes: atomic updates, modes, and what must stay inside; volumes in memory.
#include "embedded/nodes/process/files/payload_volume.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "unit/embedded/nodes/process/pod_lab.hpp"

namespace athanor::nodes::payload_volume_test {
namespace {

class PayloadVolume : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(folder.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(folder); }
  // What a container finds: "a/b=x;c=y;".
  [[nodiscard]] std::string seen() const {
    std::vector<std::string> files;
    constexpr auto kFollow = std::filesystem::directory_options::follow_directory_symlink;
    for (auto at = std::filesystem::recursive_directory_iterator(folder, kFollow);
         at != std::filesystem::recursive_directory_iterator(); ++at) {
      const std::string path = at->path().string().substr(folder.size() + 1);
      if (path.starts_with("..")) {
        at.disable_recursion_pending();
      } else if (!at->is_directory()) {
        files.push_back(path + "=" + read_text(at->path().string()) + ";");
      }
    }
    std::ranges::sort(files);
    std::string text;
    for (const std::string& file : files) {
      text += file;
    }
    return text;
  }
  [[nodiscard]] std::string state() const {
    return std::filesystem::read_symlink(folder + "/..data").string();
  }

  std::string folder = testing::TempDir() + "athanor-payload-XXXXXX";
};

TEST_F(PayloadVolume, EachUpdateIsOneState) {
  ASSERT_TRUE(write_payload(folder, {{"a", "1"}, {"b/c", "2", 0400}}, {}).ok());
  EXPECT_EQ(seen(), "a=1;b/c=2;");
  EXPECT_TRUE(std::filesystem::is_symlink(folder + "/a"));
  EXPECT_EQ(std::filesystem::read_symlink(folder + "/b"), "..data/b");
  struct stat status {};
  ASSERT_EQ(::stat((folder + "/b/c").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0400U);
  const std::string first = state();
  ASSERT_TRUE(write_payload(folder, {{"a", "1"}, {"b/c", "2", 0400}}, {}).ok());
  EXPECT_EQ(state(), first) << "nothing has changed";
  ASSERT_TRUE(write_payload(folder, {{"a", "3"}, {"d", "4"}}, {}).ok());
  EXPECT_EQ(seen(), "a=3;d=4;");
  EXPECT_FALSE(std::filesystem::exists(folder + "/" + first));
  ASSERT_TRUE(write_payload(folder, {}, {}).ok());
  EXPECT_EQ(seen(), "");
  EXPECT_EQ(payload_data(folder, "a"), std::nullopt);
}

TEST_F(PayloadVolume, PathsThatLeaveAreRefused) {
  for (const char* path : {"", "/a", "../a", "a/../../b", "..data", ".."}) {
    const auto written = write_payload(folder, {{path, "x"}}, {});
    ASSERT_FALSE(written.ok()) << path;
    EXPECT_EQ(written.error().message, fmt::format("path {} leaves the volume", path));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(PayloadVolume, AGroupMayReadItsFiles) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root gives files away";
  }
  ASSERT_TRUE(write_payload(folder, {{"a", "1", 0600}}, 4321).ok());
  struct stat status {};
  ASSERT_EQ(::stat((folder + "/a").c_str(), &status), 0);
  EXPECT_EQ(status.st_gid, 4321U);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
}

std::string volume_of(const std::string& data) {
  return fmt::format("[{{name: v, type: files, files: [{{path: f, data: {}}}]}}]",
                     base64_encode(data));
}

TEST(VolumeUpdates, ReachARunningContainer) {
  PodLab lab;
  lab.start(fmt::format(
      "{{name: p, volumesDigest: a, volumes: {}, containers: [{{name: c, mounts: [{{volume: v, "
      "path: /v}}], command: [/bin/sh, -c, 'cat /v/f; touch /v/f 2>/dev/null || echo sealed; until "
      "grep -q new /v/f; do sleep 0.01; done; cat /v/f']}}]}}",
      volume_of("old\n")));
  ASSERT_TRUE(eventually([&] { return lab.log("p", "c") == "old\nsealed\n"; }));
  lab.runtime().update(Value::object(
      {{"uid", "uid-p"}, {"digest", "b"}, {"volumes", yaml::parse(volume_of("new\n")).value()}}));
  const Value state = lab.wait_end("p");
  EXPECT_EQ(lab.log("p", "c"), "old\nsealed\nnew\n");
  EXPECT_EQ(json::print(state["volumes"]), R"({"version":1,"digest":"b"})");
}

TEST(MemoryVolumes, AreSharedLimitedAndUnseenOutside) {
  PodLab lab;
  lab.start(
      "{name: p, volumes: [{name: m, type: empty, memory: true, sizeBytes: 1048576}], init: "
      "[{name: "
      "i, mounts: [{volume: m, path: /m}], command: [/bin/sh, -c, 'echo shared > /m/f']}], "
      "containers: [{name: c, mounts: [{volume: m, path: /m}], command: [/bin/sh, -c, 'cat /m/f; "
      "stat -f -c %T /m; stat -c %a /m; head -c 2000000 /dev/zero > /m/big 2>/dev/null || echo "
      "full']}]}");
  lab.wait_end("p");
  EXPECT_EQ(lab.log("p", "c"), "shared\ntmpfs\n777\nfull\n");
  EXPECT_TRUE(std::filesystem::is_empty(lab.volume("p", "m")));
  EXPECT_EQ(read_text("/proc/self/mounts").find(lab.folder()), std::string::npos);
  lab.runtime().forget("uid-p");
  EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(lab.folder() + "/pods/uid-p"); }));
}

}  // namespace
}  // namespace athanor::nodes::payload_volume_test
