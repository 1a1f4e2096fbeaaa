// SPDX-License-Identifier: Apache-2.0
// Messages that a receiver does not accept at once. A whole delivery in a lab:
// tests/e2e/lab/test_pipeline_events.py.
#include "client/webhook_poster.hpp"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>

#include "unit/client/script_server.hpp"

namespace athanor::client::webhook_poster_test {
namespace {

using Outcome = Result<Value>;

std::future<Outcome> deliver(WebhookPoster& poster, const std::string& url,
                             const std::string& body = "{}") {
  auto promise = std::make_shared<std::promise<Outcome>>();
  auto outcome = promise->get_future();
  poster.deliver(
      Value::object({{"url", url}, {"headers", Value::object({{"Ce-Id", "1"}})}, {"body", body}}),
      [promise](Outcome got) { promise->set_value(std::move(got)); });
  return outcome;
}

TEST(WebhookPoster, TriesAgainUntilAccepted) {
  ScriptServer server([](const ScriptServer::Request& request) {
    const char* status = request.number == 0   ? "503 Service Unavailable"
                         : request.number == 1 ? "429 Too Many Requests"
                                               : "202 Accepted";
    return ScriptServer::Reply{.bytes = ScriptServer::json("", status)};
  });
  WebhookPoster poster;
  const Outcome outcome = deliver(poster, server.url()).get();
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_EQ((*outcome)["status"], Value(202));
  ASSERT_EQ(server.requests().size(), 3U);
  EXPECT_NE(server.requests()[2].head.find("Ce-Id: 1\r\n"), std::string::npos);
}

TEST(WebhookPoster, GivesUpOnRefusals) {
  ScriptServer server([](const ScriptServer::Request&) {
    return ScriptServer::Reply{.bytes = ScriptServer::json("", "401 Unauthorized")};
  });
  WebhookPoster poster;
  const Outcome outcome = deliver(poster, server.url()).get();
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().message, "the webhook answered 401");
  EXPECT_EQ(server.requests().size(), 1U);
  EXPECT_NE(deliver(poster, "http://169.254.169.254/").get().error().message.find("link-local"),
            std::string::npos);
}

TEST(WebhookPoster, RefusesMoreThanItHolds) {
  WebhookPoster poster;
  const std::string nowhere = "http://127.0.0.1:1/";
  const auto first = deliver(poster, nowhere, std::string(std::size_t{40} << 20, 'x'));
  const Outcome second = deliver(poster, nowhere, std::string(std::size_t{40} << 20, 'x')).get();
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().message, "too many messages wait for their receiver");
}

TEST(WebhookPoster, EndsWaitingMessagesWithItself) {
  std::future<Outcome> outcome;
  {
    WebhookPoster poster;
    outcome = deliver(poster, "http://127.0.0.1:1/");
  }
  EXPECT_FALSE(outcome.get().ok());
}

}  // namespace
}  // namespace athanor::client::webhook_poster_test
