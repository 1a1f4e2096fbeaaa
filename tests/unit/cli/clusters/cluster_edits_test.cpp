// SPDX-License-Identifier: Apache-2.0
// Locking a cluster that others write at the same time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/session/verbs.hpp"
#include "unit/cli/script_session.hpp"

namespace athanor::cli::cluster_edits_test {
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

TEST_F(LockTest, RereadsAndRetriesAfterConcurrentWrite) {
  const ScriptServer server(late_once("", ""));
  EXPECT_EQ(
      run(LockOptions{.target = target(server), .choice = {.names = {"edge"}}, .owner = "ada"}), 0);
  const auto bodies = written(server);
  ASSERT_EQ(bodies.size(), 2U);
  EXPECT_THAT(bodies[0], HasSubstr(R"("resourceVersion":"1")"));
  EXPECT_THAT(bodies[1], HasSubstr(R"("resourceVersion":"2")"));
}

TEST_F(LockTest, KeepsEarlierLock) {
  const ScriptServer server(late_once("", "bob"));
  EXPECT_EQ(
      run(LockOptions{.target = target(server), .choice = {.names = {"edge"}}, .owner = "ada"}), 1);
  EXPECT_EQ(written(server).size(), 1U);
}

TEST_F(LockTest, UnlocksDespiteConcurrentWrite) {
  const ScriptServer server(late_once("ada", "bob"));
  EXPECT_EQ(run(UnlockOptions{
                .target = target(server), .choice = {.names = {"edge"}}, .take_over = true}),
            0);
  const auto bodies = written(server);
  ASSERT_EQ(bodies.size(), 2U);
  EXPECT_THAT(bodies[1], HasSubstr(R"("owner":"")"));
}

// The API server restarts while somebody waits for the lock.
TEST_F(LockTest, WaitingOutlivesARestart) {
  const ScriptServer server([reads = 0](const auto& request) mutable {
    reads += request.method == "GET" ? 1 : 0;
    return reads == 2
               ? Reply{ScriptServer::json("{}", "503 Service Unavailable")}
               : Reply{ScriptServer::json(
                     R"({"metadata":{"name":"edge"},"spec":{"owner":"ada"},"status":{"lockState":"Held"}})")};
  });
  EXPECT_EQ(
      run(LockOptions{
          .target = target(server), .choice = {.names = {"edge"}}, .owner = "ada", .wait = true}),
      0);
}

TEST_F(LockTest, RefusesToUnlockForeignLock) {
  const ScriptServer server(late_once("bob", "bob"));
  EXPECT_EQ(
      run(UnlockOptions{.target = target(server), .choice = {.names = {"edge"}}, .owner = "ada"}),
      1);
  EXPECT_TRUE(written(server).empty());
}

// Between the first look and the write it became bob's.
TEST_F(LockTest, ALockThatChangedHandsIsNotUnlocked) {
  const ScriptServer server(late_once("ada", "bob"));
  EXPECT_EQ(
      run(UnlockOptions{.target = target(server), .choice = {.names = {"edge"}}, .owner = "ada"}),
      1);
  EXPECT_EQ(written(server).size(), 1U);
}

TEST_F(LockTest, RemovesForeignClusterOnlyByTakeOver) {
  const auto script = [](const auto& request) {
    return Reply{ScriptServer::json(
        request.method == "DELETE" || request.method == "GET" || request.method == "PATCH"
            ? R"({"metadata":{"name":"edge","uid":"u","resourceVersion":"1"},"spec":{"owner":"bob"}})"
            : "{}")};
  };
  const auto deleted = [](const ScriptServer& server) {
    std::vector<std::string> bodies;
    for (const auto& request : server.requests()) {
      if (request.method == "DELETE") {
        bodies.push_back(request.body);
      }
    }
    return bodies;
  };
  {
    const ScriptServer server(script);
    EXPECT_EQ(run(ClusterRemoveOptions{.target = target(server),
                                       .choice = {.names = {"edge"}},
                                       .policy = "Force",
                                       .owner = "ada"}),
              1);
    EXPECT_TRUE(deleted(server).empty());
    EXPECT_TRUE(written(server).empty());
  }
  const ScriptServer server(script);
  EXPECT_EQ(run(ClusterRemoveOptions{.target = target(server),
                                     .choice = {.names = {"edge"}},
                                     .owner = "ada",
                                     .take_over = true}),
            0);
  // The one that was looked at, and no later one.
  EXPECT_THAT(deleted(server), ::testing::ElementsAre(HasSubstr(R"("resourceVersion":"1")")));
}

}  // namespace
}  // namespace athanor::cli::cluster_edits_test
