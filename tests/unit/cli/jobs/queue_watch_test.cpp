// SPDX-License-Identifier: Apache-2.0
// athanor queue -w prints each change of a place in the queue once.
#include "cli/jobs/queue_watch.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "unit/cli/script_session.hpp"

namespace athanor::cli::queue_watch_test {
namespace {

using client::ScriptServer;
using Reply = ScriptServer::Reply;
using QueueWatchTest = ScriptTest;

std::string workload(const std::string& name, int priority, const std::string& status,
                     const std::string& version) {
  return R"({"metadata":{"name":")" + name + R"(","namespace":"ns","resourceVersion":")" + version +
         R"("},"spec":{"queueName":"lq","priority":)" + std::to_string(priority) +
         R"(},"status":{"conditions":[{"type":"QuotaReserved","status":")" + status +
         R"(","message":"says )" + name + R"("},{"type":"Admitted","status":")" + status +
         R"("}]}})";
}

std::string list(const std::string& items) {
  return ScriptServer::json(R"({"metadata":{"resourceVersion":"9"},"items":[)" + items + "]}");
}

// First one waits behind another, then that one is admitted, and in the end it is gone.
TEST_F(QueueWatchTest, PrintsEachMoveOnce) {
  const ScriptServer server([lists = 0](const ScriptServer::Request& request) mutable {
    if (request.path.find("watch=true") != std::string::npos) {
      return Reply{ScriptServer::json(R"({"type":"ERROR","object":{"code":410}})"
                                      "\n")};
    }
    if (request.path.find("queues") != std::string::npos) {
      return Reply{list("")};
    }
    if (request.path.find("configmaps") != std::string::npos) {
      return Reply{
          ScriptServer::json(R"({"kind":"Status","code":404,"message":"no"})", "404 Not Found")};
    }
    switch (++lists) {
      case 1:
        return Reply{
            list(workload("first", 9, "False", "1") + "," + workload("second", 1, "False", "2"))};
      case 2:
        return Reply{
            list(workload("first", 9, "True", "3") + "," + workload("second", 1, "False", "2"))};
      case 3:
        return Reply{list(workload("second", 1, "False", "2"))};
      default:
        return Reply{
            ScriptServer::json(R"({"kind":"Status","code":403,"message":"no"})", "403 Forbidden")};
    }
  });
  auto session = Session::open(target(server));
  ASSERT_TRUE(session.ok());
  const QueueOptions options;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const int code =
      QueueWatch(*session, "ns", options, *ListFilter::parse(options.list, {}, {})).run();
  const std::string out = ::testing::internal::GetCapturedStdout();
  static_cast<void>(::testing::internal::GetCapturedStderr());
  EXPECT_EQ(code, 1);  // the refusal
  const std::string words[] = {"lq",     "first",       "says first", "lq",    "2",
                               "second", "says second", "running",    "first", "1",
                               "second", "gone",        "first"};
  std::size_t at = out.find("WHY");
  for (const std::string& word : words) {
    at = out.find(word, at + 1);
    ASSERT_NE(at, std::string::npos) << word << "\n" << out;
  }
  const auto lines = std::count(out.begin(), out.end(), '\n');
  EXPECT_EQ(lines, 6) << out;  // header, both, first runs, second moves up, first is gone
}

}  // namespace
}  // namespace athanor::cli::queue_watch_test
