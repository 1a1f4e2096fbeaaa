// SPDX-License-Identifier: Apache-2.0
// Following a job on a server that says things in an order of its own.
#include "cli/jobs/follow.hpp"

#include <gtest/gtest.h>

#include "unit/cli/script_session.hpp"

namespace athanor::cli {
namespace {

using client::ScriptServer;
using Reply = ScriptServer::Reply;
using Then = ScriptServer::Reply::Then;

using FollowTest = ScriptTest;

// A stream that says this, and then nothing.
Reply events(const std::string& lines) {
  return {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + lines, Then::Hang};
}

// Two streams: the job's end may arrive while word of its last pod is still on its way.
TEST_F(FollowTest, LogsOfPodsThatNoWatchHasToldOfAreShownBeforeTheEnd) {
  const ScriptServer server([](const ScriptServer::Request& request) {
    const bool watches = request.path.find("watch=true") != std::string::npos;
    if (request.path.find("/log?") != std::string::npos) {
      return Reply{"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nthe last line\n",
                   Then::Close};
    }
    if (request.path.find("/fournosjobs") != std::string::npos) {
      return events(
          R"({"type":"MODIFIED","object":{"metadata":{"name":"j","resourceVersion":"7"},"status":{"phase":"Succeeded"}}})"
          "\n");
    }
    return watches
               ? events(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}})"
                        "\n")
               : Reply{ScriptServer::json(
                     R"({"items":[{"metadata":{"name":"p","labels":{"tekton.dev/pipelineTask":"run"}},
                         "spec":{"containers":[{"name":"step-run"}]},
                         "status":{"containerStatuses":[{"name":"step-run","state":{"terminated":{}}}]}}]})")};
  });
  auto session = Session::open(target(server));
  ASSERT_TRUE(session.ok()) << session.error().message;
  ::testing::internal::CaptureStdout();
  Follower follower(*session, "ns", "j", {.progress = false});
  const auto phase = follower.run();
  const std::string shown = ::testing::internal::GetCapturedStdout();
  ASSERT_TRUE(phase.ok()) << phase.error().message;
  EXPECT_EQ(*phase, "Succeeded");
  EXPECT_NE(shown.find("[run/run] the last line\n"), std::string::npos) << shown;
}

}  // namespace
}  // namespace athanor::cli
