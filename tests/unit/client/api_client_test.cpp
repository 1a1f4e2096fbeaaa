// SPDX-License-Identifier: Apache-2.0
// ApiClient against a server that misbehaves: what is tried again, what is unknown, what is told.
#include "client/api_client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "unit/client/script_server.hpp"

namespace athanor::client::api_client_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;
using Reply = ScriptServer::Reply;
using Then = ScriptServer::Reply::Then;

class ApiClientTest : public ::testing::Test {
 protected:
  void open(ScriptServer::Script script, ApiClientOptions options = {}, ClusterConfig config = {}) {
    server = std::make_unique<ScriptServer>(std::move(script));
    config.server = server->url();
    auto opened = ApiClient::open(std::move(config), *clock, *entropy, std::move(options));
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    client = *std::move(opened);
  }
  ApiResult get(const std::string& path = "/api") { return client->call({.path = path}); }
  ApiResult post() {
    return client->call({.method = "POST", .path = "/api", .body = Value::object({{"a", 1}})});
  }

  std::unique_ptr<Clock> clock = wall_clock();
  std::unique_ptr<Entropy> entropy = seeded_entropy(1);
  std::unique_ptr<ScriptServer> server{};
  std::shared_ptr<ApiClient> client{};
};

TEST_F(ApiClientTest, SendsAndReadsJsonOverOneConnection) {
  open([](const auto&) { return Reply{ScriptServer::json(R"({"ok":true})")}; });
  EXPECT_EQ(get().body, Value::object({{"ok", true}}));
  const ApiResult written = client->call({.method = "PATCH",
                                          .path = "/api?x=1",
                                          .body = Value::object({{"a", 1}}),
                                          .content_type = "application/merge-patch+json"});
  EXPECT_FALSE(written.error.has_value());
  const auto requests = server->requests();
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[1].method, "PATCH");
  EXPECT_EQ(requests[1].path, "/api?x=1");
  EXPECT_EQ(requests[1].body, R"({"a":1})");
  EXPECT_THAT(requests[1].head, HasSubstr("Content-Type: application/merge-patch+json\r\n"));
  EXPECT_THAT(requests[1].head, HasSubstr("User-Agent: athanor/"));
  EXPECT_THAT(requests[0].head, HasSubstr("Accept-Encoding: gzip\r\n"));
  EXPECT_THAT(requests[1].head, Not(HasSubstr("Expect:")));
  EXPECT_EQ(server->connections(), 1);
}

TEST_F(ApiClientTest, ADeleteAlwaysHasOptions) {
  open([](const auto&) { return Reply{ScriptServer::json("{}")}; });
  client->call({.method = "DELETE", .path = "/api"});
  EXPECT_EQ(server->requests().at(0).body, R"({"kind":"DeleteOptions","apiVersion":"v1"})");
}

TEST_F(ApiClientTest, AStatusBecomesAnError) {
  open([](const auto&) {
    return Reply{ScriptServer::json(
        R"({"kind":"Status","code":409,"reason":"AlreadyExists","message":"jobs \"x\" exists"})",
        "409 Conflict")};
  });
  const ApiResult result = post();
  EXPECT_EQ(result.status, 409);
  EXPECT_EQ(*result.error,
            (Error{.code = 409, .reason = "AlreadyExists", .message = "jobs \"x\" exists"}));
  EXPECT_FALSE(result.unknown);
}

TEST_F(ApiClientTest, ReportsOrAwaitsRetryAfterAsRequested) {
  open([](const auto& request) {
    return request.number < 2
               ? Reply{ScriptServer::json("{}", "429 Too Many Requests", "Retry-After: 1\r\n")}
               : Reply{ScriptServer::json("{}")};
  });
  const ApiResult told = post();
  EXPECT_EQ(told.error->code, 429);
  EXPECT_EQ(told.error->reason, "TooManyRequests");
  EXPECT_EQ(told.retry_after, seconds(1));
  EXPECT_FALSE(told.unknown);
  const auto before = std::chrono::steady_clock::now();
  const ApiResult waited = client->call(
      {.method = "POST", .path = "/", .body = Value::object(), .wait_when_throttled = true});
  EXPECT_FALSE(waited.error.has_value());
  EXPECT_GE(std::chrono::steady_clock::now() - before, milliseconds(900));
}

TEST_F(ApiClientTest, AReadIsTriedAgainAfterACut) {
  open([](const auto& request) {
    return request.number == 0
               ? Reply{"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"half\":", Then::Close}
               : Reply{ScriptServer::json(R"({"whole":1})")};
  });
  EXPECT_EQ(get().body, Value::object({{"whole", 1}}));
  EXPECT_EQ(server->requests().size(), 2U);
}

TEST_F(ApiClientTest, AReadGivesUpAfterItsRetries) {
  open([](const auto&) { return Reply{"", Then::Close}; });
  const ApiResult result = get();
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.error->code, 503);
  EXPECT_THAT(result.error->message, HasSubstr("cannot reach http://127.0.0.1:"));
  EXPECT_EQ(server->requests().size(), 3U);
}

TEST_F(ApiClientTest, ReportsSentWriteUnknownWithoutResending) {
  for (const Then then : {Then::Close, Then::Reset}) {
    // The first answer keeps the connection, so that the write goes over a used one, which libcurl
    // would try again by itself.
    open([then](const auto& request) {
      return request.method == "GET" ? Reply{ScriptServer::json("{}")} : Reply{"", then};
    });
    get();
    const ApiResult result = post();
    EXPECT_TRUE(result.unknown);
    EXPECT_EQ(result.error->code, 503) << result.error->message;
    EXPECT_EQ(server->requests().size(), 2U);
    EXPECT_TRUE(client->call({.method = "DELETE", .path = "/"}).unknown);
    EXPECT_EQ(server->requests().size(), 3U);
  }
}

TEST_F(ApiClientTest, AWriteThatNeverLeftIsNotUnknown) {
  open([](const auto&) { return Reply{}; });
  server.reset();  // nobody listens
  const ApiResult result = post();
  EXPECT_FALSE(result.unknown);
  EXPECT_EQ(result.error->code, 503);
  EXPECT_THAT(result.error->message, HasSubstr("connection refused"));
}

TEST_F(ApiClientTest, ReportsWriteUnknownAfterCutAnswer) {
  open([](const auto&) {
    return Reply{"HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{\"half\":", Then::Close};
  });
  EXPECT_TRUE(post().unknown);
}

TEST_F(ApiClientTest, AServerThatSaysNothingIsGivenUp) {
  open([](const auto&) { return Reply{"", Then::Hang}; });
  const auto before = std::chrono::steady_clock::now();
  ApiRequest request{.method = "POST", .path = "/api?token=x", .body = Value::object()};
  request.timeout = milliseconds(200);
  const ApiResult result = client->call(request);
  EXPECT_LT(std::chrono::steady_clock::now() - before, seconds(25)) << "35 s by default";
  EXPECT_EQ(result.error->code, 504);
  EXPECT_EQ(result.error->reason, "Timeout");
  EXPECT_THAT(result.error->message, HasSubstr("POST /api of http"));
  EXPECT_THAT(result.error->message, Not(HasSubstr("token")));
  EXPECT_TRUE(result.unknown);
}

TEST_F(ApiClientTest, RetriesHangingReadOverAnotherConnection) {
  open([](const auto& request) {
    return request.number == 0 ? Reply{"", Then::Hang} : Reply{ScriptServer::json("{}")};
  });
  ApiRequest request{.path = "/api"};
  request.connect_timeout = milliseconds(500);
  request.head_timeout =
      milliseconds(1000);  // what answers does so within it, on a busy machine, too
  EXPECT_FALSE(client->call(request).error.has_value());
  EXPECT_EQ(server->connections(), 2);
}

TEST_F(ApiClientTest, AnAnswerHasALimit) {
  open([](const auto&) { return Reply{ScriptServer::json("\"" + std::string(5000, 'x') + "\"")}; });
  ApiRequest request{.path = "/api"};
  request.response_limit = 1000;
  const ApiResult result = client->call(request);
  EXPECT_THAT(result.error->message, HasSubstr("exceeds the limit of 1000 bytes"));
  EXPECT_EQ(server->requests().size(), 1U);
}

TEST_F(ApiClientTest, ALeaseOvertakesAFlood) {
  open([](const auto&) { return Reply{ScriptServer::json("{}")}; }, {.qps = 2, .burst = 1});
  std::atomic<int> flood{0};
  for (int i = 0; i < 50; ++i) {
    client->send({.path = "/flood"}, [&](const ApiResult&) { ++flood; });
  }
  const ApiResult lease = client->call(
      {.method = "PUT", .path = "/lease", .body = Value::object(), .lane = Lane::Lease});
  EXPECT_FALSE(lease.error.has_value());
  EXPECT_LT(flood, 10);
  client->stop();
  EXPECT_EQ(flood, 50) << "everyone is answered in the end";
}

TEST_F(ApiClientTest, DropsRequestsWaitingTooLongForRateLimit) {
  open([](const auto&) { return Reply{ScriptServer::json("{}")}; }, {.qps = 0.01, .burst = 1});
  get();
  ApiRequest request{.method = "POST", .path = "/api", .body = Value::object()};
  request.timeout = milliseconds(100);
  const ApiResult result = client->call(request);
  EXPECT_EQ(result.error->code, 504);
  EXPECT_FALSE(result.unknown);
  EXPECT_THAT(result.error->message, HasSubstr("rate limit"));
}

TEST_F(ApiClientTest, StoppingAnswersEveryoneAndRefusesTheRest) {
  open([](const auto&) { return Reply{"", Then::Hang}; });
  std::promise<ApiResult> answer;
  client->send({.method = "POST", .path = "/", .body = Value::object()},
               [&](ApiResult result) { answer.set_value(std::move(result)); });
  while (server->requests().empty()) {
    std::this_thread::yield();
  }
  client->stop();
  const ApiResult result = answer.get_future().get();
  EXPECT_TRUE(result.unknown);
  EXPECT_THAT(result.error->message, HasSubstr("stopped"));
  EXPECT_FALSE(get().error->message.empty());
}

struct Watched {
  std::mutex mutex{};
  std::condition_variable changed{};
  int opened = 0;
  std::vector<Value> lines{};
  std::optional<ApiResult> closed{};

  ApiStreamHandlers handlers() {
    return {.opened =
                [this] {
                  const std::lock_guard lock(mutex);
                  ++opened;
                },
            .line =
                [this](Value line) {
                  const std::lock_guard lock(mutex);
                  lines.push_back(std::move(line));
                  changed.notify_all();
                },
            .closed =
                [this](ApiResult result) {
                  const std::lock_guard lock(mutex);
                  closed = std::move(result);
                  changed.notify_all();
                }};
  }
  bool wait(const std::function<bool()>& done) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, seconds(60), done);
  }
};

constexpr const char* kStreamHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";

TEST_F(ApiClientTest, DeliversWatchLinesUntilServerEnds) {
  open([](const auto&) {
    return Reply{std::string(kStreamHead) + "{\"a\":1}\n{\"a\":2}\n{\"cut", Then::Close};
  });
  Watched watched;
  const auto stream = client->watch({.path = "/api?watch=true"}, watched.handlers());
  ASSERT_TRUE(watched.wait([&] { return watched.closed.has_value(); }));
  EXPECT_EQ(watched.opened, 1);
  EXPECT_EQ(watched.lines.size(), 2U);
  EXPECT_FALSE(watched.closed->error.has_value());
  EXPECT_THAT(server->requests().at(0).head, Not(HasSubstr("Accept-Encoding")));
}

TEST_F(ApiClientTest, ARefusedWatchSaysWhy) {
  open([](const auto&) {
    return Reply{ScriptServer::json(R"({"kind":"Status","reason":"Expired","message":"too old"})",
                                    "410 Gone")};
  });
  Watched watched;
  const auto stream = client->watch({.path = "/"}, watched.handlers());
  ASSERT_TRUE(watched.wait([&] { return watched.closed.has_value(); }));
  EXPECT_EQ(watched.closed->error->code, 410);
  EXPECT_EQ(watched.closed->error->reason, "Expired");
  EXPECT_EQ(watched.opened, 0);
}

TEST_F(ApiClientTest, AWatchWithoutAHeadIsGivenUp) {
  open([](const auto&) { return Reply{"", Then::Hang}; });
  Watched watched;
  ApiRequest request{.path = "/"};
  request.connect_timeout = milliseconds(300);
  request.head_timeout = milliseconds(300);
  const auto stream = client->watch(request, watched.handlers());
  ASSERT_TRUE(watched.wait([&] { return watched.closed.has_value(); }));
  EXPECT_EQ(watched.closed->error->code, 504);
}

TEST_F(ApiClientTest, LettingGoOfAWatchEndsItsConnection) {
  std::promise<void> left;
  open([&](const auto&) { return Reply{std::string(kStreamHead) + "{}\n", Then::Hang}; });
  Watched watched;
  auto stream = client->watch({.path = "/"}, watched.handlers());
  ASSERT_TRUE(watched.wait([&] { return watched.lines.size() == 1; }));
  EXPECT_LE(stream->last_byte(), std::chrono::steady_clock::now());
  stream.reset();
  // The server's thread ends once the client has left: its destructor joins it.
  server.reset();
  EXPECT_FALSE(watched.closed.has_value());
}

TEST_F(ApiClientTest, TasksRunOnTheClientsThreadInTime) {
  open([](const auto&) { return Reply{ScriptServer::json("{}")}; });
  std::promise<std::thread::id> now;
  std::promise<std::thread::id> later;
  const auto before = std::chrono::steady_clock::now();
  client->post_at(before + milliseconds(30), [&] { later.set_value(std::this_thread::get_id()); });
  client->post([&] { now.set_value(std::this_thread::get_id()); });
  EXPECT_EQ(now.get_future().get(), later.get_future().get());
  EXPECT_GE(std::chrono::steady_clock::now() - before, milliseconds(30));
}

}  // namespace
}  // namespace athanor::client::api_client_test
