// SPDX-License-Identifier: Apache-2.0
// The archive of logs: pods that go while they run, containers that start again, pods of one name.
#include "console/logs/log_archive.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "kube/text/yaml.hpp"
#include "support/eventually.hpp"
#include "unit/client/script_server.hpp"

namespace athanor::console::log_archive_test {
namespace {

using client::ScriptServer;

const Key kPod{"team", "p"};

class LogArchiveTest : public ::testing::Test {
 protected:
  void open(Duration again) {
    auto client = client::ApiClient::open({.server = server_.url()}, *clock_, *entropy_);
    ASSERT_TRUE(client.ok());
    auto opened = LogArchive::open(":memory:", std::int64_t{1} << 20,
                                   ApiPort(*std::move(client), std::chrono::seconds(20)), again);
    ASSERT_TRUE(opened.ok());
    archive_ = *std::move(opened);
  }
  // Makes the API server answer with a log of one line.
  void serve(int line) { line_ = line; }
  [[nodiscard]] bool has(int line) const {
    const auto text = archive_->find(kPod, "c");
    return text && *text == "line " + std::to_string(line);
  }
  static Object pod(const std::string& metadata, const std::string& status) {
    return Object(
        yaml::parse("{metadata: {name: p, namespace: team, labels: {fournos.dev/job-name: "
                    "j}, " +
                    metadata + "}, status: {containerStatuses: [{name: c, " + status + "}]}}")
            .value());
  }

  std::atomic<int> line_{1};
  ScriptServer server_{[this](const ScriptServer::Request& /*request*/) {
    const int line = line_;
    if (line == 0) {
      return ScriptServer::Reply{ScriptServer::json("{}", "404 Not Found")};
    }
    const std::string text = "line " + std::to_string(line);
    return ScriptServer::Reply{"HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(text.size()) +
                               "\r\n\r\n" + text};
  }};
  std::unique_ptr<Clock> clock_ = wall_clock();
  std::unique_ptr<Entropy> entropy_ = seeded_entropy(1);
  std::unique_ptr<LogArchive> archive_{};
};

TEST_F(LogArchiveTest, KeepsLogOfForceDeletedPod) {
  open(std::chrono::milliseconds(5));
  archive_->see(pod("uid: a", "state: {running: {}}"));
  EXPECT_TRUE(test::eventually([&] { return has(1); })) << "read while it runs";
  serve(0);  // a force deletion takes pod and log away at once
  archive_->gone(kPod);
  EXPECT_TRUE(has(1));
  ASSERT_EQ(archive_->of_job("team/j").size(), 1U);
  EXPECT_EQ(archive_->of_job("team/j")[0].source, "p/c");
}

TEST_F(LogArchiveTest, ReadsLogOfPodThatIsBeingDeleted) {
  open(std::chrono::hours(1));
  archive_->see(pod("uid: a", "state: {running: {}}"));
  archive_->see(pod("uid: a, deletionTimestamp: \"2026-01-31T08:00:00Z\"", "state: {running: {}}"));
  EXPECT_TRUE(test::eventually([&] { return has(1); }));
}

TEST_F(LogArchiveTest, ReadsEachInstanceOnce) {
  open(std::chrono::hours(1));
  const auto ended = [](const std::string& uid, int restarts) {
    return pod("uid: " + uid,
               "restartCount: " + std::to_string(restarts) + ", state: {terminated: {}}");
  };
  archive_->see(ended("a", 0));
  EXPECT_TRUE(test::eventually([&] { return has(1); }));
  serve(2);
  archive_->see(ended("a", 0));  // the same instance: not read
  archive_->see(ended("a", 1));
  EXPECT_TRUE(test::eventually([&] { return has(2); }));
  EXPECT_EQ(server_.requests().size(), 2U);
  serve(3);
  archive_->see(ended("b", 0));  // another pod of the name, whose predecessor's end was not seen
  EXPECT_TRUE(test::eventually([&] { return has(3); }));
}

}  // namespace
}  // namespace athanor::console::log_archive_test
