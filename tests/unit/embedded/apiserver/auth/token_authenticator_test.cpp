// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/request/authenticate.hpp"

#include <gtest/gtest.h>

#include "unit/embedded/apiserver/fixture.hpp"

namespace athanor::apiserver::token_authenticator_test {
namespace {

using test::kNow;
using test::World;

class AuthenticateTest : public ::testing::Test {
 protected:
  AuthenticateTest() {
    world_.options.tokens.push_back(
        {.token = "t0k", .user = "bob", .uid = "42", .groups = {"devs"}});
    world_.put("serviceaccounts", R"({"metadata":{"namespace":"lab","name":"sa","uid":"sa-1"}})");
    world_.put("pods", R"({"metadata":{"namespace":"lab","name":"p","uid":"pod-1"}})");
    authenticator_ = make_authenticator(world_.options, world_.dependencies());
  }

  StatusResult<UserInfo> ask(const Request& request) {
    return authenticator_->authenticate(request, kNow);
  }
  static Request bearer(const std::string& token) {
    Request request;
    request.headers.emplace("authorization", "Bearer " + token);
    return request;
  }
  // A good token's claims with one change.
  static std::string token(const Value& changes) {
    Value claims = test::parse(R"({"iss":"https://lab","sub":"system:serviceaccount:lab:sa",
      "aud":["https://lab"],"exp":1767574800,"iat":1767571200,"nbf":1767571200,"jti":"j1",
      "kubernetes.io":{"namespace":"lab","serviceaccount":{"name":"sa","uid":"sa-1"}}})");
    for (const Member& change : changes.members()) {
      claims.set(change.key(), change.value);
    }
    return "signed:" + json::print(claims);
  }

  World world_{};
  std::unique_ptr<Authenticator> authenticator_{};
};

TEST_F(AuthenticateTest, TreatsMissingCredentialsAsAnonymous) {
  const auto user = ask({});
  ASSERT_TRUE(user.ok());
  EXPECT_EQ(user->name, "system:anonymous");
  EXPECT_EQ(user->groups, std::vector<std::string>{"system:unauthenticated"});
}

TEST_F(AuthenticateTest, BasicAuthenticationIsNoCredential) {
  Request request;
  request.headers.emplace("authorization", "Basic Ym9iOmJvYg==");
  EXPECT_EQ(ask(request)->name, "system:anonymous");
}

TEST_F(AuthenticateTest, TakesTokensOfWebSocketSubprotocols) {
  const auto asked = [&](const std::string& protocols) {
    Request request;
    request.headers.emplace("upgrade", "websocket");
    request.headers.emplace("sec-websocket-protocol", protocols);
    return ask(request);
  };
  const std::string token = "base64url.bearer.authorization.k8s.io.dDBr";  // t0k
  const auto user = asked(token + ", v4.channel.k8s.io");
  ASSERT_TRUE(user.ok());
  EXPECT_EQ(user->name, "bob");
  EXPECT_FALSE(asked(token).ok());
  EXPECT_FALSE(asked(token + "," + token + ", v4.channel.k8s.io").ok());
  EXPECT_FALSE(asked("base64url.bearer.authorization.k8s.io.!, v4.channel.k8s.io").ok());
  EXPECT_EQ(asked("v4.channel.k8s.io")->name, "system:anonymous");
}

TEST_F(AuthenticateTest, CertificateNamesUserAndGroups) {
  Request request = bearer("nonsense");
  request.credentials.certificate =
      Credentials::Certificate{.common_name = "jane", .organizations = {"ops"}, .sha256_hex = "ab"};
  const auto user = ask(request);
  ASSERT_TRUE(user.ok()) << "an invalid token beside a valid certificate does not matter";
  EXPECT_EQ(json::print(user->to_value()),
            R"({"username":"jane","groups":["ops","system:authenticated"],)"
            R"("extra":{"authentication.kubernetes.io/credential-id":["X509SHA256=ab"]}})");
}

TEST_F(AuthenticateTest, ValidTokenRescuesBadCertificate) {
  Request request = bearer("t0k");
  request.credentials.certificate_rejected = true;
  const auto user = ask(request);
  ASSERT_TRUE(user.ok());
  EXPECT_EQ(json::print(user->to_value()),
            R"({"username":"bob","uid":"42","groups":["devs","system:authenticated"]})");
}

TEST_F(AuthenticateTest, BadCredentialsAreRefused) {
  Request rejected;
  rejected.credentials.certificate_rejected = true;
  for (const Request& request : {rejected, bearer("nonsense")}) {
    const auto user = ask(request);
    ASSERT_FALSE(user.ok());
    EXPECT_EQ(user.error().code, 401);
    EXPECT_EQ(user.error().message, "Unauthorized");
  }
}

TEST_F(AuthenticateTest, ServiceAccountTokenCarriesItsIdentity) {
  const auto user = ask(bearer(token(test::parse(
      R"({"kubernetes.io":{"namespace":"lab","serviceaccount":{"name":"sa","uid":"sa-1"},)"
      R"("pod":{"name":"p","uid":"pod-1"},"node":{"name":"n1","uid":"n-1"}}})"))));
  ASSERT_TRUE(user.ok());
  EXPECT_EQ(user->name, "system:serviceaccount:lab:sa");
  EXPECT_EQ(user->uid, "sa-1");
  EXPECT_EQ(user->groups,
            (std::vector<std::string>{"system:serviceaccounts", "system:serviceaccounts:lab",
                                      "system:authenticated"}));
  EXPECT_EQ(user->extra.at("authentication.kubernetes.io/credential-id").front(), "JTI=j1");
  EXPECT_EQ(user->extra.at("authentication.kubernetes.io/pod-name").front(), "p");
  EXPECT_EQ(user->extra.at("authentication.kubernetes.io/node-name").front(), "n1");
}

TEST_F(AuthenticateTest, ServiceAccountTokensAreRejected) {
  EXPECT_TRUE(ask(bearer(token(Value::object()))).ok());
  const std::vector<std::pair<std::string_view, std::string_view>> changes = {
      {"expired", R"({"exp":1767571200})"},
      {"not yet", R"({"nbf":1767571201})"},
      {"no expiry", R"({"exp":null})"},
      {"wrong audience", R"({"aud":["vault"]})"},
      {"wrong issuer", R"({"iss":"https://other"})"},
      {"other subject", R"({"sub":"system:serviceaccount:lab:admin"})"},
      {"unknown account",
       R"({"sub":"system:serviceaccount:lab:zz","kubernetes.io":{"namespace":"lab",)"
       R"("serviceaccount":{"name":"zz","uid":"sa-1"}}})"},
      {"account made anew",
       R"({"kubernetes.io":{"namespace":"lab","serviceaccount":{"name":"sa","uid":"sa-2"}}})"},
      {"pod gone",
       R"({"kubernetes.io":{"namespace":"lab","serviceaccount":{"name":"sa","uid":"sa-1"},)"
       R"("pod":{"name":"p","uid":"pod-2"}}})"},
      {"secret gone",
       R"({"kubernetes.io":{"namespace":"lab","serviceaccount":{"name":"sa","uid":"sa-1"},)"
       R"("secret":{"name":"s","uid":"x"}}})"},
      {"node gone",
       R"({"kubernetes.io":{"namespace":"lab","serviceaccount":{"name":"sa","uid":"sa-1"},)"
       R"("node":{"name":"n","uid":"x"}}})"},
  };
  for (const auto& [what, change] : changes) {
    const auto user = ask(bearer(token(test::parse(change))));
    EXPECT_FALSE(user.ok()) << what;
  }
  world_.remove("serviceaccounts", {"lab", "sa"});
  EXPECT_FALSE(ask(bearer(token(Value::object()))).ok()) << "its account was deleted";
}

TEST_F(AuthenticateTest, InProcessUsersGetTheirGroups) {
  EXPECT_EQ(
      internal_user("system:serviceaccount:kube-system:job-controller").groups,
      (std::vector<std::string>{"system:serviceaccounts", "system:serviceaccounts:kube-system",
                                "system:authenticated"}));
  Request request;
  request.credentials.internal_user = "system:apiserver";
  EXPECT_TRUE(ask(request)->in_group("system:masters"));
  EXPECT_FALSE(internal_user("system:apiserver").in_group("system:masters"))
      << "who may impersonate a name does not become a master";
  request.credentials.internal_user = "system:node:n1";
  EXPECT_TRUE(ask(request)->in_group("system:nodes"));
  EXPECT_EQ(internal_user("jane").groups, std::vector<std::string>{"system:authenticated"});
}

}  // namespace
}  // namespace athanor::apiserver::token_authenticator_test
