// SPDX-License-Identifier: Apache-2.0
#include "base/files/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>

namespace athanor::scratch_folder_test {
namespace {

TEST(ScratchFolder, MovesToAnotherOwner) {
  std::optional<ScratchFolder> folder = *ScratchFolder::make(testing::TempDir(), "scratch-");
  const std::string path = folder->path();
  std::ofstream(path + "/file") << "text";
  EXPECT_TRUE(std::filesystem::exists(path + "/file"));
  ScratchFolder moved = *std::move(folder);
  folder.reset();
  EXPECT_TRUE(std::filesystem::exists(path));
  moved = *ScratchFolder::make(testing::TempDir(), "scratch-");
  EXPECT_NE(moved.path(), path);
}

TEST(ScratchFolder, IsGoneWithItsOwner) {
  std::string path;
  {
    const ScratchFolder folder = *ScratchFolder::make(testing::TempDir(), "scratch-");
    path = folder.path();
    std::ofstream(path + "/file") << "text";
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ScratchFolder, NamesTheMissingParent) {
  const auto made = ScratchFolder::make("/no/such/folder", "x-");
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("/no/such/folder"), std::string::npos);
}

}  // namespace
}  // namespace athanor::scratch_folder_test
