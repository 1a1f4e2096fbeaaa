// SPDX-License-Identifier: Apache-2.0
// athanor jobs -w over a restart of the API server.
#include "cli/jobs/job_watch.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "unit/cli/script_session.hpp"

namespace athanor::cli::job_watch_test {
namespace {

using client::ScriptServer;
using Reply = ScriptServer::Reply;
using Then = ScriptServer::Reply::Then;
using JobWatchTest = ScriptTest;

std::string job(const std::string& name, const std::string& phase, const std::string& version) {
  return R"({"metadata":{"name":")" + name + R"(","namespace":"ns","resourceVersion":")" + version +
         R"("},"status":{"phase":")" + phase + R"("}})";
}

std::string list(const std::string& items) {
  return ScriptServer::json(R"({"metadata":{"resourceVersion":"9"},"items":[)" + items + "]}");
}

const std::string kRefused =
    ScriptServer::json(R"({"kind":"Status","code":403,"message":"no"})", "403 Forbidden");

int watch(Session& session, const JobsOptions& options, std::string& out, std::string& err,
          WatchPatience patience = {}) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const int code =
      JobWatch(session, "ns", options, *ListFilter::parse(options.list, {}, {}), patience).run();
  out = ::testing::internal::GetCapturedStdout();
  err = ::testing::internal::GetCapturedStderr();
  return code;
}

// The first watch breaks; the next list shows one job changed, one unchanged and one gone.
TEST_F(JobWatchTest, ShowsMissedChangesOnceAfterBrokenWatch) {
  const ScriptServer server([lists = 0](const ScriptServer::Request& request) mutable {
    if (request.path.find("watch=true") != std::string::npos) {
      return lists == 1 ? Reply{"HTTP/1.1 200 OK\r\n\r\n", Then::Reset}
                        : Reply{
                              "HTTP/1.1 200 OK\r\n\r\n"
                              R"({"type":"ERROR","object":{"code":410}})"
                              "\n",
                              Then::Hang};
    }
    switch (++lists) {
      case 1:
        return Reply{list(job("changes", "Running", "1") + "," + job("stays", "Running", "2") +
                          "," + job("goes", "Running", "3"))};
      case 2:
        return Reply{list(job("changes", "Succeeded", "7") + "," + job("stays", "Running", "2"))};
      default:
        return Reply{kRefused};
    }
  });
  auto session = Session::open(target(server));
  ASSERT_TRUE(session.ok());
  std::string out;
  std::string err;
  const JobsOptions options;
  EXPECT_EQ(watch(*session, options, out, err), 1);  // the refusal
  const auto count = [&](const std::string& text) {
    std::size_t found = 0;
    for (std::size_t at = out.find(text); at != std::string::npos; at = out.find(text, at + 1)) {
      ++found;
    }
    return found;
  };
  EXPECT_EQ(count("changes"), 2U) << out;
  EXPECT_EQ(count("stays"), 1U) << out;
  EXPECT_EQ(count("Succeeded"), 1U) << out;
  EXPECT_EQ(count("Gone"), 1U) << out;
  EXPECT_NE(err.find("the API server is away"), std::string::npos) << err;
  EXPECT_NE(err.find("the API server is back"), std::string::npos) << err;
}

TEST_F(JobWatchTest, AServerThatStaysAwayIsGivenUp) {
  const ScriptServer server([](const ScriptServer::Request&) {
    return Reply{ScriptServer::json("{}", "503 Service Unavailable")};
  });
  auto session = Session::open(target(server));
  ASSERT_TRUE(session.ok());
  std::string out;
  std::string err;
  const JobsOptions options;
  EXPECT_EQ(watch(*session, options, out, err, {.away = std::chrono::milliseconds(300)}), 3);
  EXPECT_NE(err.find("the jobs go on"), std::string::npos) << err;
}

TEST_F(JobWatchTest, ReportsJobWithoutControllerOnce) {
  const ScriptServer server([](const ScriptServer::Request& request) {
    if (request.path.find("/leases") != std::string::npos) {
      return Reply{ScriptServer::json(
          R"({"items":[{"metadata":{"namespace":"sys"},"spec":{"holderIdentity":"pod-1","renewTime":"2026-01-01T00:00:00.000000Z"}}]})")};
    }
    if (request.path.find("watch=true") != std::string::npos) {
      return Reply{"HTTP/1.1 200 OK\r\n\r\n", Then::Close};
    }
    return Reply{list(job("lost", "", "1"))};
  });
  auto session = Session::open(target(server));
  ASSERT_TRUE(session.ok());
  std::string out;
  std::string err;
  const JobsOptions options;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  JobWatch live(*session, "ns", options, *ListFilter::parse(options.list, {}, {}),
                {.unseen = Duration::zero()});
  std::thread ending([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(800));
    ::kill(::getpid(), SIGINT);
  });
  const int code = live.run();
  ending.join();
  out = ::testing::internal::GetCapturedStdout();
  err = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 130);  // Ctrl-C
  const std::size_t said = err.find(
      "lost has no phase after 0s: no controller has looked at it. athanor controllers (leader "
      "pod-1, lease sys/athanor, renewed");
  EXPECT_NE(said, std::string::npos) << err;
  EXPECT_EQ(err.find("lost has no phase", said + 1), std::string::npos) << err;
}

}  // namespace
}  // namespace athanor::cli::job_watch_test
