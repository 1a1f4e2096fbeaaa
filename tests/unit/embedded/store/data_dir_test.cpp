// SPDX-License-Identifier: Apache-2.0
// The data directory: its mode and its lock.
#include "embedded/store/data_dir.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/embedded/store/store_fixture.hpp"

namespace athanor::store::data_dir_test {
namespace {

TEST(DataDirectoryTest, IsMadeForItsOwnerAlone) {
  const TemporaryDirectory place;
  const auto directory = DataDirectory::open(place.path() + "/a/b/");
  ASSERT_TRUE(directory.ok()) << directory.error().message;
  struct stat status {};
  ASSERT_EQ(::stat((place.path() + "/a/b").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  EXPECT_EQ(directory->database(), place.path() + "/a/b/store.db");
}

TEST(DataDirectoryTest, RefusesASecondOwnerAndNamesTheFirst) {
  const TemporaryDirectory place;
  {
    const auto first = DataDirectory::open(place.path());
    ASSERT_TRUE(first.ok());
    const auto second = DataDirectory::open(place.path());
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().reason, "Locked");
    EXPECT_EQ(second.error().message, "data directory " + place.path() + " is in use by process " +
                                          std::to_string(::getpid()));
  }
  EXPECT_TRUE(DataDirectory::open(place.path()).ok());
}

TEST(DataDirectoryTest, RefusesOtherThanDirectories) {
  const TemporaryDirectory place;
  ASSERT_TRUE(DataDirectory::open(place.path()).ok());
  const auto directory = DataDirectory::open(place.path() + "/lock");
  ASSERT_FALSE(directory.ok());
  EXPECT_EQ(directory.error().message, place.path() + "/lock: not a directory");
  EXPECT_FALSE(DataDirectory::open("").ok());
}

}  // namespace
}  // namespace athanor::store::data_dir_test
