// SPDX-License-Identifier: Apache-2.0
#include "base/version/revision.hpp"

#include <gmock/gmock.h>

#include <string>

namespace athanor::revision_test {
namespace {

TEST(Revision, IsACommitOrUnknown) {
  EXPECT_THAT(std::string(revision()), testing::MatchesRegex("[0-9a-f]+|unknown"));
}

}  // namespace
}  // namespace athanor::revision_test
