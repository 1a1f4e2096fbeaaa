// SPDX-License-Identifier: Apache-2.0
// No request with a control byte in its head leaves any of our clients.
#include "client/http/header_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/api_client.hpp"
#include "client/connection.hpp"
#include "client/http/async_http.hpp"
#include "client/http/http_upgrade.hpp"
#include "unit/client/script_server.hpp"

namespace athanor::client::header_text_test {
namespace {

using ::testing::HasSubstr;
using Reply = ScriptServer::Reply;

const std::string kInjected = "ada\r\nX-Remote-Group: system:masters";

TEST(HeaderText, RefusesBadNamesAndControlBytes) {
  EXPECT_EQ(header_flaw("X-Remote-Extra-example.com%2Fscope", "a b\tc ä"), "");
  for (const char c : {'\0', '\n', '\r', '\x1b', '\x7f'}) {
    const std::string value = std::string("s3cret") + c;
    EXPECT_EQ(header_flaw("X-A", value), "net/http: invalid header field value for \"X-A\"");
  }
  for (const char* name : {"", "a b", "a:", "a\r\nb", "\xc3\xa4"}) {
    EXPECT_THAT(header_flaw(name, "v"), HasSubstr("invalid header field name"));
  }
}

TEST(HeaderText, UrlsAndMethodsAreOneWord) {
  EXPECT_EQ(url_flaw("https://h/a%0d%0ab?c=d"), "");
  EXPECT_EQ(url_flaw("https://h/a\r\nb"),
            "parse \"https://h/a\\r\\nb\": net/url: invalid control character in URL");
  EXPECT_THAT(url_flaw("https://h/a HTTP/1.1"), HasSubstr("invalid control character"));
  EXPECT_EQ(query_flaw({.method = "GET /b HTTP/1.1", .url = "https://h/"}),
            "net/http: invalid method \"GET /b HTTP/1.1\"");
}

class Senders : public ::testing::Test {
 protected:
  HttpReply ask(HttpQuery query) {
    std::promise<HttpReply> promise;
    AsyncHttp http;
    http.send(std::move(query), [&](HttpReply reply) { promise.set_value(std::move(reply)); });
    return promise.get_future().get();
  }
  HttpReply upgrade(HttpQuery query) {
    std::promise<HttpReply> promise;
    HttpUpgrades upgrades;
    upgrades.send(std::move(query),
                  [&](UpgradeReply answer) { promise.set_value(std::move(answer.reply)); });
    return promise.get_future().get();
  }

  ScriptServer server{[](const auto&) { return Reply{ScriptServer::json("{}")}; }};
};

TEST_F(Senders, WebhooksAndProxies) {
  HttpQuery header{.url = server.url() + "/a", .headers = {{"X-Remote-User", kInjected}}};
  HttpQuery path{.url = server.url() + "/a\r\nX-Remote-User: b"};
  for (const bool stream : {false, true}) {
    header.stream = path.stream = stream;
    EXPECT_EQ(ask(header).failure, "net/http: invalid header field value for \"X-Remote-User\"");
    EXPECT_THAT(ask(path).failure, HasSubstr("invalid control character"));
  }
  EXPECT_EQ(upgrade(header).failure, "net/http: invalid header field value for \"X-Remote-User\"");
  EXPECT_THAT(upgrade(path).failure, HasSubstr("invalid control character"));
  EXPECT_TRUE(server.requests().empty());
  EXPECT_EQ(ask({.url = server.url() + "/a"}).status, 200);
}

TEST_F(Senders, TheControllersClient) {
  const std::unique_ptr<Clock> clock = wall_clock();
  const std::unique_ptr<Entropy> entropy = seeded_entropy(1);
  ClusterConfig config;
  config.server = server.url();
  config.impersonate.user = kInjected;
  const auto client = ApiClient::open(config, *clock, *entropy, {});
  ASSERT_TRUE(client.ok());
  for (const char* method : {"GET", "POST"}) {
    const ApiResult result = (*client)->call({.method = method, .path = "/api"});
    ASSERT_TRUE(result.error.has_value()) << method;
    EXPECT_EQ(result.error->message,
              "net/http: invalid header field value for \"Impersonate-User\"");
    EXPECT_FALSE(result.unknown);
  }
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(Senders, TheVerbsConnection) {
  ClusterConfig config;
  config.server = server.url();
  config.impersonate.user = kInjected;
  const auto connection = Connection::open(config, {});
  ASSERT_TRUE(connection.ok());
  const auto answer = (*connection)->call({.path = "/api"});
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().message,
            "net/http: invalid header field value for \"Impersonate-User\"");
  Result<void> ended;
  bool over = false;
  const auto stream = (*connection)
                          ->stream("/api", {.line = [](std::string_view) {},
                                            .ended =
                                                [&](Result<void> how) {
                                                  ended = std::move(how);
                                                  over = true;
                                                }});
  for (int i = 0; i < 100 && !over; ++i) {
    (*connection)->run(std::chrono::milliseconds(10));
  }
  ASSERT_TRUE(over);
  EXPECT_FALSE(ended.ok());
  EXPECT_TRUE(server.requests().empty());
}

TEST_F(Senders, LinkLocalAddressesAreNotDialled) {
  for (const char* host : {"169.254.169.254", "0xa9.0xfe.1.1", "2852039166", "[fe80::1]",
                           "[::ffff:169.254.169.254]"}) {
    for (const auto& reply :
         {ask({.url = std::string("http://") + host + ":80/"}),
          ask({.url = "http://svc.default.svc/", .connect_to = std::string(host) + ":80"}),
          upgrade({.url = std::string("http://") + host + ":80/"})}) {
      EXPECT_EQ(reply.failure, "link-local addresses (169.254.0.0/16, fe80::/10) are not allowed")
          << host;
    }
  }
}

}  // namespace
}  // namespace athanor::client::header_text_test
