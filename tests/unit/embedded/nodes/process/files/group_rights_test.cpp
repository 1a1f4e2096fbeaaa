// SPDX-License-Identifier: Apache-2.0
// Volumes that containers may change while they are given to a group.
#include "embedded/nodes/process/files/group_rights.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "embedded/nodes/process/files/folder_removal.hpp"

namespace athanor::nodes::group_rights_test {
namespace {

constexpr unsigned kGroup = 4321;

class VolumeOfGroup : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(scratch_.data()), nullptr);
    if (::geteuid() != 0) {
      GTEST_SKIP() << "only root gives files away";
    }
    std::filesystem::create_directories(volume() + "/inner");
    make_file(volume() + "/inner/file");
    make_file(outside());
  }
  void TearDown() override { std::filesystem::remove_all(scratch_); }
  static void make_file(const std::string& path) {
    std::ofstream(path) << "x";
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  }
  [[nodiscard]] std::string volume() const { return scratch_ + "/volume"; }
  [[nodiscard]] std::string outside() const { return scratch_ + "/outside"; }
  static struct stat status_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status;
  }
  void expect_untouched() const {
    EXPECT_EQ(status_of(outside()).st_mode & 07777, 0600U);
    EXPECT_NE(status_of(outside()).st_gid, kGroup);
  }

  std::string scratch_ = testing::TempDir() + "volume-XXXXXX";
};

TEST_F(VolumeOfGroup, GivesFilesAndFolders) {
  std::filesystem::create_symlink(outside(), volume() + "/link");
  give_to_group(volume(), kGroup, GroupRights::ReadAndWrite);
  for (const char* path : {"", "/inner", "/inner/file"}) {
    EXPECT_EQ(status_of(volume() + path).st_gid, kGroup) << path;
  }
  EXPECT_EQ(status_of(volume() + "/inner").st_mode & 07777, 02775U);
  EXPECT_EQ(status_of(volume() + "/inner/file").st_mode & 07777, 0660U);
  expect_untouched();
}

// A container puts a link to a file of the host in the place of its own file, again and again.
TEST_F(VolumeOfGroup, FollowsNoLinkOfRacingContainer) {
  const std::string file = volume() + "/inner/file";
  const std::string spare = volume() + "/inner/spare";
  std::jthread container([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      ::unlink(spare.c_str());
      static_cast<void>(::symlink(outside().c_str(), spare.c_str()));
      std::rename(spare.c_str(), file.c_str());
      std::ofstream(spare) << "x";
      std::rename(spare.c_str(), file.c_str());
    }
  });
  for (int i = 0; i < 3000; ++i) {
    give_to_group(volume(), kGroup, GroupRights::ReadAndWrite);
  }
  expect_untouched();
}

// The same of a folder without rights, which a removal would open for itself.
TEST_F(VolumeOfGroup, RemovesFolderBesideRacingLinks) {
  const std::string secret = scratch_ + "/secret";
  std::filesystem::create_directories(secret);
  ASSERT_EQ(::chmod(secret.c_str(), 0500), 0);
  const std::string folder = volume() + "/inner/folder";
  std::jthread container([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (::mkdir(folder.c_str(), 0) == 0) {
        ::rmdir(folder.c_str());
      }
      static_cast<void>(::symlink(secret.c_str(), folder.c_str()));
      ::unlink(folder.c_str());
    }
  });
  for (int i = 0; i < 300; ++i) {
    std::filesystem::create_directories(volume() + "/inner");
    remove_folder(volume());
  }
  EXPECT_EQ(status_of(secret).st_mode & 07777, 0500U);
}

}  // namespace
}  // namespace athanor::nodes::group_rights_test
