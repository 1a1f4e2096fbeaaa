// SPDX-License-Identifier: Apache-2.0
// Users of authenticating proxies and of bootstrap tokens (docs/spec/apiserver.md 16.1).
#include "embedded/apiserver/request/front_proxy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/digest.hpp"
#include "embedded/apiserver/request/authenticate.hpp"
#include "unit/embedded/apiserver/fixture.hpp"

namespace athanor::apiserver::front_proxy_test {
namespace {

using testing::ElementsAre;

Request through_proxy(std::string name = "aggregator") {
  Request request;
  request.credentials.front_proxy = std::move(name);
  request.headers = {{"x-remote-user", "jane"},
                     {"x-remote-uid", "7"},
                     {"x-remote-group", "cn=dev,system:masters"},
                     {"x-remote-group", "ops"},
                     {"x-remote-extra-example.com%2fscope", "a"},
                     {"x-remote-extra-scopes", "b,c"},
                     {"x-remote-extra-scopes", "d"},
                     {"x-remote-extra-100%", "e"}};
  return request;
}

TEST(FrontProxy, SaysForWhomItSpeaks) {
  const auto user = front_proxy_user({}, through_proxy());
  ASSERT_TRUE(user);
  EXPECT_EQ(user->name, "jane");
  EXPECT_EQ(user->uid, "7");
  EXPECT_THAT(user->groups, ElementsAre("cn=dev,system:masters", "ops", "system:authenticated"))
      << "a comma is part of a group's name";
  EXPECT_THAT(user->extra.at("example.com/scope"), ElementsAre("a"));
  EXPECT_THAT(user->extra.at("scopes"), ElementsAre("b,c", "d"));
  EXPECT_THAT(user->extra.at("100%"), ElementsAre("e")) << "a broken escape stays as it is";
}

TEST(FrontProxy, MustBeOneThatMay) {
  const FrontProxy settings{.allowed_names = {"front-proxy-client"}};
  EXPECT_FALSE(front_proxy_user(settings, through_proxy("other")));
  EXPECT_TRUE(front_proxy_user(settings, through_proxy("front-proxy-client")));
  Request nobody = through_proxy();
  nobody.headers.erase("x-remote-user");
  EXPECT_FALSE(front_proxy_user({}, nobody));
  Request client = through_proxy();
  client.credentials.front_proxy.reset();
  EXPECT_FALSE(front_proxy_user({}, client));
}

TEST(FrontProxy, HeadersHaveTheNamesThatAreConfigured) {
  const FrontProxy settings{.username_headers = {"X-First", "X-Second"},
                            .group_headers = {"X-Team"},
                            .extra_prefixes = {}};
  Request request = through_proxy();
  request.headers.emplace("x-second", "joe");
  request.headers.emplace("x-team", "blue");
  const auto user = front_proxy_user(settings, request);
  ASSERT_TRUE(user);
  EXPECT_EQ(user->name, "joe");
  EXPECT_THAT(user->groups, ElementsAre("blue", "system:authenticated"));
  EXPECT_TRUE(user->extra.empty());
}

class BootstrapTokens : public testing::Test {
 protected:
  // The user of a token whose Secret has `more` over a complete one's data.
  std::optional<std::string> user_of(std::string_view more) {
    Value secret = test::parse(R"({"metadata":{"namespace":"kube-system",
        "name":"bootstrap-token-abcdef"},"type":"bootstrap.kubernetes.io/token"})");
    Value data = test::parse(R"({"token-id":"abcdef","token-secret":"0123456789abcdef",
                                 "usage-bootstrap-authentication":"true"})");
    const Value over = test::parse(more);
    for (const Member& member : over.members()) {
      data.set(member.key(), member.value);
    }
    Value encoded = Value::object();
    for (const Member& member : data.members()) {
      encoded.set(member.key(), base64_encode(member.value.as_string()));
    }
    secret.set("data", encoded);
    test::World world;
    world.put("secrets", json::print(secret));
    const auto authenticator = make_authenticator(world.options, world.dependencies());
    Request request;
    request.headers.emplace("authorization", "Bearer abcdef.0123456789abcdef");
    const auto user = authenticator->authenticate(request, test::kNow);
    groups_ = user.ok() ? user->groups : std::vector<std::string>();
    return user.ok() ? std::optional(user->name) : std::nullopt;
  }
  std::vector<std::string> groups_{};
};

TEST_F(BootstrapTokens, LetNewNodesIn) {
  EXPECT_EQ(user_of(R"({"auth-extra-groups":"system:bootstrappers:a"})"),
            "system:bootstrap:abcdef");
  EXPECT_THAT(groups_, ElementsAre("system:bootstrappers", "system:bootstrappers:a",
                                   "system:authenticated"));
  EXPECT_TRUE(user_of(R"({"expiration":"2036-01-01T00:00:00Z"})"));
}

TEST_F(BootstrapTokens, AreRefusedWhenTheirSecretSaysOtherwise) {
  for (const char* more :
       {R"({"token-secret":"ffffffffffffffff"})", R"({"usage-bootstrap-authentication":"false"})",
        R"({"expiration":"2020-01-01T00:00:00Z"})", R"({"expiration":"soon"})",
        R"({"auth-extra-groups":"system:masters"})", R"({"token-id":"zzzzzz"})"}) {
    EXPECT_EQ(user_of(more), std::nullopt) << more;
  }
}

}  // namespace
}  // namespace athanor::apiserver::front_proxy_test
