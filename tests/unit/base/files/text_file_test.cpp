// SPDX-License-Identifier: Apache-2.0
#include "base/files/text_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace athanor::text_file_test {
namespace {

TEST(TextFile, ReadsAllBytes) {
  const std::string path = testing::TempDir() + "text-file-" + std::to_string(::getpid());
  const std::string bytes = std::string("a\0b\n", 4) + std::string(200'000, 'x');
  std::ofstream(path, std::ios::binary) << bytes;
  const auto read = read_text_file(path);
  ::unlink(path.c_str());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, bytes);
}

// The stream of the standard library throws there.
TEST(TextFile, RefusesAFolder) {
  const auto read = read_text_file("/proc");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().message, "cannot read /proc: Is a directory");
  EXPECT_EQ(read.error().code, 400);
}

TEST(TextFile, NamesAMissingFile) {
  const auto read = read_text_file("/proc/no-such-file");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().message, "cannot read /proc/no-such-file: No such file or directory");
  EXPECT_EQ(read.error().code, 404);
}

TEST(TextFile, BoundsEndlessFiles) {
  const auto read = read_text_file("/dev/zero");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().message, "cannot read /dev/zero: File too large");
}

}  // namespace
}  // namespace athanor::text_file_test
