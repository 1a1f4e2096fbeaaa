// SPDX-License-Identifier: Apache-2.0
#include "base/files/inside.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

namespace athanor::inside_test {
namespace {

namespace fs = std::filesystem;

class Inside : public testing::Test {
 protected:
  Inside() {
    EXPECT_NE(::mkdtemp(top_.data()), nullptr);
    fs::create_directories(top_ + "/root/a/b");
    fs::create_directory(top_ + "/outside");
    fs::create_symlink("a/b", top_ + "/root/short");
    fs::create_symlink("/a", top_ + "/root/absolute");
    fs::create_symlink("../outside", top_ + "/root/out");
    folder_.reset(::open((top_ + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  ~Inside() override { fs::remove_all(top_); }

  // 0, or why it does not open.
  [[nodiscard]] int opens(const std::string& path, Links links) const {
    return open_inside(folder_.get(), path, O_PATH, links).valid() ? 0 : errno;
  }

  std::string top_ = testing::TempDir() + "athanor-inside-XXXXXX";
  Descriptor folder_{};
};

TEST_F(Inside, TreatsLinksAsAsked) {
  EXPECT_EQ(opens("", Links::Refused), 0);
  EXPECT_EQ(opens("a/b", Links::Refused), 0);
  EXPECT_EQ(opens("short", Links::Refused), ELOOP);
  EXPECT_EQ(opens("short", Links::Beneath), 0);
  EXPECT_EQ(opens("absolute", Links::Beneath), EXDEV);
  EXPECT_EQ(opens("absolute/b", Links::InRoot), 0);
  EXPECT_EQ(opens("out", Links::Beneath), EXDEV);
  EXPECT_EQ(opens("out", Links::InRoot), ENOENT) << "/outside of the root";
  EXPECT_EQ(opens("../outside", Links::Beneath), EXDEV);
}

TEST_F(Inside, MakesFoldersWithTheirRights) {
  ASSERT_TRUE(make_folder_inside(folder_.get(), "/short/new//deep", 0777, Links::Beneath).valid());
  struct stat status {};
  ASSERT_EQ(::stat((top_ + "/root/a/b/new/deep").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0777U);
  EXPECT_FALSE(make_folder_inside(folder_.get(), "out/new", 0777, Links::Beneath).valid());
  EXPECT_FALSE(make_folder_inside(folder_.get(), "out/new", 0777, Links::InRoot).valid());
  EXPECT_TRUE(fs::is_empty(top_ + "/outside"));
  std::ofstream(top_ + "/root/file") << "x";
  EXPECT_FALSE(make_folder_inside(folder_.get(), "file/new", 0777, Links::InRoot).valid());
}

}  // namespace
}  // namespace athanor::inside_test
