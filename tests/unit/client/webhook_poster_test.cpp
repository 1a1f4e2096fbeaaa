// SPDX-License-Identifier: Apache-2.0
// Messages that a receiver does not accept at once. A whole delivery in a lab:
// tests/e2e/lab/test_pipeline_events.py.
#include "client/webhook_poster.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "unit/client/script_server.hpp"

namespace athanor::client::webhook_poster_test {
namespace {

using Outcome = Result<Value>;

std::future<Outcome> deliver(WebhookPoster& poster, const std::string& url,
                             const std::string& body = "{}", const std::string& id = "1",
                             std::string line = "/run") {
  auto promise = std::make_shared<std::promise<Outcome>>();
  auto outcome = promise->get_future();
  poster.deliver(Value::object({{"url", url},
                                {"headers", Value::object({{"Ce-Id", id}})},
                                {"body", body},
                                {"line", std::move(line)},
                                {"id", id}}),
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
  EXPECT_EQ((*outcome)["error"], Value("the webhook answered 401"));
  EXPECT_EQ(server.requests().size(), 1U);
  const Outcome refused = deliver(poster, "http://169.254.169.254/").get();
  EXPECT_NE((*refused)["error"].as_string().find("link-local"), std::string_view::npos);
}

TEST(WebhookPoster, RefusesMoreThanItHolds) {
  WebhookPoster poster;
  const std::string nowhere = "http://127.0.0.1:1/";
  const auto first = deliver(poster, nowhere, std::string(std::size_t{40} << 20, 'x'));
  const Outcome second =
      deliver(poster, nowhere, std::string(std::size_t{40} << 20, 'x'), "2", "/other").get();
  EXPECT_EQ((*second)["error"], Value("too many messages wait for their receiver"));
}

// The first message fails after the second was accepted.
TEST(WebhookPoster, HandsFailuresOnInOrder) {
  ScriptServer server([&](const ScriptServer::Request& request) {
    if (request.head.find("Ce-Id: slow\r\n") != std::string::npos) {
      return ScriptServer::Reply{.bytes = ScriptServer::json("", "401 Unauthorized")};
    }
    return ScriptServer::Reply{.bytes = ScriptServer::json("", "202 Accepted")};
  });
  WebhookPoster poster;
  auto slow = deliver(poster, server.url(), "{}", "slow");
  auto quick = deliver(poster, server.url(), "{}", "quick");
  const Outcome second = quick.get();
  EXPECT_EQ(slow.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  EXPECT_EQ((*second)["status"], Value(202));
  EXPECT_EQ((*second)["earlier"],
            Value::list({Value::object({{"id", "slow"}, {"error", "the webhook answered 401"}})}));
  EXPECT_EQ((*deliver(poster, server.url(), "{}", "third").get())["earlier"].size(), 1U);
}

TEST(WebhookPoster, EndsWaitingMessagesWithItself) {
  std::future<Outcome> outcome;
  {
    WebhookPoster poster;
    outcome = deliver(poster, "http://127.0.0.1:1/");
  }
  EXPECT_FALSE((*outcome.get())["error"].is_null());
}

}  // namespace
}  // namespace athanor::client::webhook_poster_test
