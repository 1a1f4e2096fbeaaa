// SPDX-License-Identifier: Apache-2.0
// Reads that name a revision of the future wait for it, 3 s at most (docs/spec/apiserver.md 8.1,
// 8.2).
#include "embedded/apiserver/request/revision_waits.hpp"

#include "unit/embedded/apiserver/test_server.hpp"

namespace athanor::apiserver::revision_waits_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Future : public testing::Test {
 protected:
  // A read whose answer comes into answers_ when it comes.
  void start(std::string path, std::vector<std::pair<std::string, std::string>> query = {}) {
    Request request;
    request.method = "GET";
    request.path = std::move(path);
    request.query = std::move(query);
    request.credentials.internal_user = "system:admin";
    server_.server().handle_async(
        std::move(request), server_.now(),
        [this](UniqueFunction<void()> task) { tasks_.push_back(std::move(task)); },
        [this](Response response) { answers_.push_back(std::move(response)); });
  }
  void start_at(const std::string& path, std::uint64_t ahead) {
    start(path, {{"resourceVersion", std::to_string(server_.store().revision() + ahead)}});
  }
  void run_tasks() {
    for (auto& task : std::exchange(tasks_, {})) {
      task();
    }
  }
  void advance(Duration duration) {
    server_.advance(duration);
    run_tasks();
  }
  void write(std::string_view name) {
    ASSERT_EQ(server_.post("/api/v1/namespaces/tst/configmaps", config_map(name)).status, 201);
    run_tasks();
  }

  TestServer server_{};
  std::vector<UniqueFunction<void()>> tasks_{};
  std::vector<Response> answers_{};
};

TEST_F(Future, AnswersListsAndGetsOnceReached) {
  start_at("/api/v1/namespaces/tst/configmaps", 2);
  start_at("/api/v1/namespaces/tst/configmaps/b", 2);
  write("a");  // others are served meanwhile
  EXPECT_TRUE(answers_.empty());
  write("b");
  ASSERT_EQ(answers_.size(), 2U);
  EXPECT_EQ(answers_[0].status, 200);
  EXPECT_EQ((*answers_[0].value)["items"].size(), 2U);
  EXPECT_EQ(answers_[1].status, 200);
}

TEST_F(Future, IsGivenUpAfterThreeSeconds) {
  const std::uint64_t current = server_.store().revision();
  start_at("/api/v1/namespaces/tst/configmaps", 7);
  start_at("/api/v1/namespaces/tst/configmaps/b", 7);
  advance(milliseconds(2900));
  EXPECT_TRUE(answers_.empty());
  advance(milliseconds(100));
  ASSERT_EQ(answers_.size(), 2U);
  for (const Response& answer : answers_) {
    EXPECT_EQ(answer.status, 504);
    const Value body = *answer.value;
    EXPECT_EQ(body["message"].str(),
              "Timeout: Too large resource version: " + std::to_string(current + 7) +
                  ", current: " + std::to_string(current));
    EXPECT_EQ(body["details"], parse(R"({"causes":[{"reason":"ResourceVersionTooLarge",
                      "message":"Too large resource version"}],"retryAfterSeconds":1})"));
  }
}

TEST_F(Future, ExactListsAndPagesWaitToo) {
  start("/api/v1/namespaces/tst/configmaps",
        {{"resourceVersion", "100000"}, {"resourceVersionMatch", "Exact"}});
  start("/api/v1/namespaces/tst/configmaps", {{"resourceVersion", "100000"}, {"limit", "1"}});
  EXPECT_TRUE(answers_.empty());
  advance(seconds(3));
  ASSERT_EQ(answers_.size(), 2U);
  EXPECT_EQ(answers_[0].status, 504);
  EXPECT_EQ(answers_[1].status, 504);
}

TEST_F(Future, WatchListsSayItInTheirStream) {
  start("/api/v1/namespaces/tst/configmaps", {{"watch", "1"},
                                              {"resourceVersion", "100000"},
                                              {"resourceVersionMatch", "NotOlderThan"},
                                              {"sendInitialEvents", "true"},
                                              {"allowWatchBookmarks", "true"}});
  EXPECT_TRUE(answers_.empty());
  advance(seconds(3));
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(answers_[0].status, 200);
  std::string text;
  EXPECT_EQ(answers_[0].stream->pull(text), Stream::State::Ended);
  const Value event = parse(text);
  EXPECT_EQ(event["type"].str(), "ERROR");
  EXPECT_EQ(event["object"]["code"].as_int(), 504);
  EXPECT_EQ(event["object"]["details"]["causes"][0]["reason"].str(), "ResourceVersionTooLarge");
}

TEST_F(Future, WatchesWithoutAListStartAtOnce) {
  start("/api/v1/namespaces/tst/configmaps", {{"watch", "1"}, {"resourceVersion", "100000"}});
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(answers_[0].status, 200);
}

// The reference does not cache them.
TEST_F(Future, RefusesEventsAtOnceWithoutAdvice) {
  start_at("/api/v1/namespaces/tst/events", 5);
  start_at("/apis/events.k8s.io/v1/events", 5);
  ASSERT_EQ(answers_.size(), 2U);
  for (const Response& answer : answers_) {
    EXPECT_EQ(answer.status, 504);
    EXPECT_EQ((*answer.value)["details"], parse(R"({"causes":[{"reason":"ResourceVersionTooLarge",
                      "message":"Too large resource version"}]})"));
  }
}

TEST_F(Future, TheRequestsOwnTimeEndsTheWait) {
  start("/api/v1/namespaces/tst/configmaps", {{"resourceVersion", "100000"}, {"timeout", "1s"}});
  advance(seconds(1));
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(answers_[0].status, 504);
  EXPECT_FALSE((*answers_[0].value)["details"].contains("causes"));
}

TEST_F(Future, WaitsEndWithTheServer) {
  start_at("/api/v1/namespaces/tst/configmaps", 5);
  server_.server().begin_shutdown();
  run_tasks();
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(answers_[0].status, 504);
  start_at("/api/v1/namespaces/tst/configmaps", 5);
  run_tasks();
  EXPECT_EQ(answers_.size(), 2U);
}

}  // namespace
}  // namespace athanor::apiserver::revision_waits_test
