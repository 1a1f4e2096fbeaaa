// SPDX-License-Identifier: Apache-2.0
// Locking a cluster that others write at the same time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/verbs.hpp"
#include "unit/cli/script_session.hpp"

namespace athanor::cli {
namespace {

using client::ScriptServer;
using ::testing::HasSubstr;
using Reply = ScriptServer::Reply;

// Each read finds a newer version; the first write comes too late: another owner's came before.
class LockTest : public ScriptTest {
 protected:
  [[nodiscard]] static ScriptServer::Script late_once(std::string before, std::string after) {
    return [before = std::move(before), after = std::move(after), reads = 0,
            writes = 0](const auto& request) mutable {
      if (request.method == "PATCH" && writes++ == 0) {
        return Reply{ScriptServer::json(
            R"({"kind":"Status","code":409,"reason":"Conflict","message":"it has been modified"})",
            "409 Conflict")};
      }
      reads += request.method == "GET" ? 1 : 0;
      return Reply{ScriptServer::json(R"({"metadata":{"name":"edge","resourceVersion":")" +
                                      std::to_string(reads) + R"("},"spec":{"owner":")" +
                                      (writes == 0 ? before : after) + R"("}})")};
    };
  }
  static std::vector<std::string> written(const ScriptServer& server) {
    std::vector<std::string> bodies;
    for (const auto& request : server.requests()) {
      if (request.method == "PATCH") {
        bodies.push_back(request.body);
      }
    }
    return bodies;
  }
};

TEST_F(LockTest, AWriteInBetweenIsReadAndTheLockWrittenAgain) {
  const ScriptServer server(late_once("", ""));
  EXPECT_EQ(run(LockOptions{.target = target(server), .name = "edge", .owner = "ada"}), 0);
  const auto bodies = written(server);
  ASSERT_EQ(bodies.size(), 2U);
  EXPECT_THAT(bodies[0], HasSubstr(R"("resourceVersion":"1")"));
  EXPECT_THAT(bodies[1], HasSubstr(R"("resourceVersion":"2")"));
}

TEST_F(LockTest, WhoCameFirstKeepsIt) {
  const ScriptServer server(late_once("", "bob"));
  EXPECT_EQ(run(LockOptions{.target = target(server), .name = "edge", .owner = "ada"}), 1);
  EXPECT_EQ(written(server).size(), 1U);
}

TEST_F(LockTest, AWriteInBetweenDoesNotKeepItLocked) {
  const ScriptServer server(late_once("ada", "bob"));
  EXPECT_EQ(run(UnlockOptions{.target = target(server), .name = "edge"}), 0);
  const auto bodies = written(server);
  ASSERT_EQ(bodies.size(), 2U);
  EXPECT_THAT(bodies[1], HasSubstr(R"("owner":"")"));
}

}  // namespace
}  // namespace athanor::cli
