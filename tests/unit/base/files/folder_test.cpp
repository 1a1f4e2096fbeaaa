// SPDX-License-Identifier: Apache-2.0
#include "base/files/folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace athanor::folder_test {
namespace {

class Folder : public testing::Test {
 protected:
  Folder() {
    std::filesystem::create_directories(path + "/b/deep");
    std::filesystem::create_directories(path + "/a");
    std::filesystem::create_symlink("..", path + "/b/up");
  }
  ~Folder() override { std::filesystem::remove_all(path); }
  const std::string path = testing::TempDir() + "folder-" + std::to_string(::getpid());
};

TEST_F(Folder, ListsSortedNames) {
  const auto names = list_folder(path);
  ASSERT_TRUE(names.ok());
  EXPECT_EQ(*names, (std::vector<std::string>{"a", "b"}));
}

TEST_F(Folder, FindsPathsWithoutFollowingLinks) {
  EXPECT_EQ(paths_below(path),
            (std::vector<std::string>{path + "/a", path + "/b", path + "/b/deep", path + "/b/up"}));
}

TEST_F(Folder, NamesTheCauseOfAnError) {
  const auto missing = list_folder(path + "/none");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, 404);
  EXPECT_EQ(missing.error().message, "cannot list " + path + "/none: No such file or directory");
  EXPECT_TRUE(names_in_folder("/proc/self/status").empty());
}

TEST_F(Folder, AcceptsOnlyPathsBelow) {
  for (const char* path : {"a", "a/b.yaml", "..a/b", "a..b"}) {
    EXPECT_TRUE(is_path_below(path)) << path;
  }
  for (const char* path : {"", "/a", "..", "../a", "a/../../b", "a/.."}) {
    EXPECT_FALSE(is_path_below(path)) << path;
  }
  EXPECT_FALSE(is_path_below(std::string("a\0b", 3)));
}

}  // namespace
}  // namespace athanor::folder_test
