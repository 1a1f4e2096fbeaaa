// SPDX-License-Identifier: Apache-2.0
// Tokens and reviews through the whole server, with RBAC deciding (docs/spec/apiserver.md 16.3,
// 16.4).
#include <gtest/gtest.h>

#include "embedded/apiserver/read/encode.hpp"
#include "unit/embedded/apiserver/fixture.hpp"

namespace athanor::apiserver::reviews_test {
namespace {

using test::parse;

class ReviewsTest : public ::testing::Test {
 protected:
  ReviewsTest() {
    auto made = Server::create(world_.options, world_.dependencies());
    EXPECT_TRUE(made.ok());
    server_ = *std::move(made);
    send("POST", "/api/v1/namespaces", R"({"metadata":{"name":"lab"}})");
    send("POST", "/api/v1/namespaces/lab/serviceaccounts", R"({"metadata":{"name":"sa"}})");
    send("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/lab/roles",
         R"({"metadata":{"name":"reader"},"rules":[{"verbs":["get","list"],"apiGroups":[""],
           "resources":["pods"]}]})");
    send("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/lab/rolebindings",
         R"({"metadata":{"name":"bob"},"roleRef":{"kind":"Role","name":"reader"},
           "subjects":[{"kind":"User","name":"bob"},{"kind":"ServiceAccount","name":"sa",
           "namespace":"lab"}]})");
  }

  struct Reply {
    int status = 0;
    Value value{};
    [[nodiscard]] std::string message() const { return value["message"].str(); }
  };
  Reply handle(Request request) {
    Response response = server_->handle(request, test::kNow);
    encode(request, response);
    return {response.status, json::parse(response.body).value_or(Value())};
  }
  // As `user`; the administrator unless told.
  Reply send(const std::string& method, const std::string& path, const std::string& body,
             const std::string& user = "") {
    Request request;
    request.method = method;
    request.path = path;
    request.body = body;
    request.credentials.certificate = Credentials::Certificate{
        .common_name = user.empty() ? "admin" : user,
        .organizations =
            user.empty() ? std::vector<std::string>{"system:masters"} : std::vector<std::string>{},
        .sha256_hex = ""};
    return handle(std::move(request));
  }
  Reply bearer(const std::string& path, const std::string& token) {
    Request request;
    request.method = "GET";
    request.path = path;
    request.headers.emplace("authorization", "Bearer " + token);
    return handle(std::move(request));
  }
  Reply token(const std::string& spec) {
    return send("POST", "/api/v1/namespaces/lab/serviceaccounts/sa/token",
                R"({"spec":)" + spec + "}");
  }

  test::World world_{};
  std::unique_ptr<Server> server_{};
};

TEST_F(ReviewsTest, TokensOfServiceAccountsWork) {
  const Reply made = token("{}");
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_EQ(json::print(made.value["spec"]["audiences"]), R"(["https://lab"])");
  EXPECT_EQ(made.value["spec"]["expirationSeconds"], Value(3600));
  EXPECT_EQ(made.value["status"]["expirationTimestamp"].as_string(), "2026-01-05T01:00:00Z");
  const std::string text = made.value["status"]["token"].str();
  EXPECT_EQ(bearer("/api/v1/namespaces/lab/pods", text).status, 200);
  const Reply refused = bearer("/api/v1/namespaces/lab/secrets", text);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.message(),
            "secrets is forbidden: User \"system:serviceaccount:lab:sa\" cannot list resource "
            "\"secrets\" in API group \"\" in the namespace \"lab\"");
  send("DELETE", "/api/v1/namespaces/lab/serviceaccounts/sa", "");
  EXPECT_EQ(bearer("/api/v1/namespaces/lab/pods", text).status, 401);
}

TEST_F(ReviewsTest, TokenRequestsAreChecked) {
  const Reply brief = token(R"({"expirationSeconds":6})");
  EXPECT_EQ(brief.status, 422);
  EXPECT_EQ(brief.message(),
            "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid "
            "value: 6: may not specify a duration less than 10 minutes");
  EXPECT_EQ(token(R"({"expirationSeconds":4294967297})").status, 422);
  EXPECT_EQ(token(R"({"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"zz"}})").message(),
            "pods \"zz\" not found");
  const Reply missing =
      send("POST", "/api/v1/namespaces/lab/serviceaccounts/zz/token", R"({"spec":{}})");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.message(), "serviceaccounts \"zz\" not found");
}

TEST_F(ReviewsTest, TokensOfPodsEndWithThem) {
  ASSERT_EQ(send("POST", "/api/v1/namespaces/lab/pods",
                 R"({"metadata":{"name":"p"},"spec":{"serviceAccountName":"sa","nodeName":"n1",
                   "containers":[{"name":"c","image":"a"}]}})")
                .status,
            201);
  const Reply made = token(R"({"expirationSeconds":3607,
    "boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"p"}})");
  ASSERT_EQ(made.status, 201) << made.message();
  const std::string text = made.value["status"]["token"].str();
  const Value claims = parse(text.substr(7));
  EXPECT_EQ(claims["kubernetes.io"]["pod"]["name"].as_string(), "p");
  EXPECT_EQ(claims["kubernetes.io"]["node"]["name"].as_string(), "n1");
  EXPECT_EQ(claims["exp"].as_int() - claims["iat"].as_int(), 365 * 24 * 3600)
      << "a kubelet's token lives on";
  EXPECT_EQ(claims["kubernetes.io"]["warnafter"].as_int() - claims["iat"].as_int(), 3607);
  EXPECT_EQ(bearer("/api/v1/namespaces/lab/pods", text).status, 200);
  send("DELETE", "/api/v1/namespaces/lab/pods/p?gracePeriodSeconds=0", "");
  Request request;
  request.method = "DELETE";
  request.path = "/api/v1/namespaces/lab/pods/p";
  request.query = {{"gracePeriodSeconds", "0"}};
  request.credentials.internal_user = "system:apiserver";
  EXPECT_EQ(server_->handle(std::move(request), test::kNow).status, 200);
  EXPECT_EQ(bearer("/api/v1/namespaces/lab/pods", text).status, 401);
}

TEST_F(ReviewsTest, TokenReview) {
  const std::string path = "/apis/authentication.k8s.io/v1/tokenreviews";
  const std::string good = token("{}").value["status"]["token"].str();
  const Reply reviewed = send("POST", path, R"({"spec":{"token":)" + json::quote(good) + "}}");
  ASSERT_EQ(reviewed.status, 201) << reviewed.message();
  const Value& status = reviewed.value["status"];
  EXPECT_TRUE(status["authenticated"].as_bool());
  EXPECT_EQ(status["user"]["username"].as_string(), "system:serviceaccount:lab:sa");
  EXPECT_EQ(json::print(status["audiences"]), R"(["https://lab"])");
  const Reply bad = send("POST", path, R"({"spec":{"token":"zz"}})");
  EXPECT_EQ(bad.status, 201);
  EXPECT_EQ(json::print(bad.value["status"]), R"({"user":{},"error":"invalid bearer token"})");
  const Reply elsewhere =
      send("POST", path, R"({"spec":{"audiences":["vault"],"token":)" + json::quote(good) + "}}");
  EXPECT_FALSE(elsewhere.value["status"]["authenticated"].as_bool());
}

TEST_F(ReviewsTest, SubjectAccessReview) {
  const std::string path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
  const Reply yes = send("POST", path,
                         R"({"spec":{"user":"bob","resourceAttributes":{"namespace":"lab",
                           "verb":"get","resource":"pods"}}})");
  ASSERT_EQ(yes.status, 201) << yes.message();
  EXPECT_EQ(json::print(yes.value["status"]),
            R"({"allowed":true,"reason":"RBAC: allowed by RoleBinding \"bob/lab\" of Role )"
            R"(\"reader\" to User \"bob\""})");
  const Reply no = send("POST", path,
                        R"({"spec":{"user":"bob","nonResourceAttributes":{"verb":"get",
                          "path":"/metrics"}}})");
  EXPECT_EQ(json::print(no.value["status"]), R"({"allowed":false})");
  const Reply empty = send("POST", path, R"({"spec":{}})");
  EXPECT_EQ(empty.status, 422);
  EXPECT_EQ(empty.message(),
            "SubjectAccessReview.authorization.k8s.io \"\" is invalid: [spec.resourceAttributes: "
            "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must "
            "be specified, spec.user: Invalid value: \"\": at least one of user or group must be "
            "specified]");
}

TEST_F(ReviewsTest, LocalSubjectAccessReviewStaysInItsNamespace) {
  const std::string path = "/apis/authorization.k8s.io/v1/namespaces/lab/localsubjectaccessreviews";
  const Reply yes = send("POST", path,
                         R"({"spec":{"user":"bob","resourceAttributes":{"namespace":"lab",
                           "verb":"list","resource":"pods"}}})");
  EXPECT_TRUE(yes.value["status"]["allowed"].as_bool());
  const Reply other = send("POST", path,
                           R"({"spec":{"user":"bob","resourceAttributes":{"namespace":"tst",
                             "verb":"list","resource":"pods"}}})");
  EXPECT_EQ(other.status, 400);
}

TEST_F(ReviewsTest, SelfReviewsSpeakOfTheCaller) {
  const Reply access = send("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                            R"({"spec":{"resourceAttributes":{"namespace":"lab","verb":"list",
                              "resource":"pods"}}})",
                            "bob");
  ASSERT_EQ(access.status, 201) << access.message();
  EXPECT_TRUE(access.value["status"]["allowed"].as_bool());
  const Reply rules = send("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
                           R"({"spec":{"namespace":"lab"}})", "bob");
  ASSERT_EQ(rules.status, 201) << rules.message();
  bool found = false;
  for (const Value& rule : rules.value["status"]["resourceRules"].items()) {
    found = found || rule == parse(R"({"verbs":["get","list"],"apiGroups":[""],
      "resources":["pods"]})");
  }
  EXPECT_TRUE(found);
  EXPECT_FALSE(rules.value["status"]["incomplete"].as_bool(true));
  EXPECT_EQ(
      send("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", R"({"spec":{}})", "bob")
          .status,
      400);
  const Reply self = send("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}", "bob");
  EXPECT_EQ(json::print(self.value["status"]["userInfo"]),
            R"({"username":"bob","groups":["system:authenticated"]})");
}

TEST_F(ReviewsTest, AnonymousReadsHealthAndVersionAlone) {
  for (const char* path : {"/healthz", "/livez", "/readyz", "/version"}) {
    Request request;
    request.method = "GET";
    request.path = path;
    EXPECT_EQ(server_->handle(std::move(request), test::kNow).status, 200) << path;
  }
  Request request;
  request.method = "GET";
  request.path = "/api/v1/namespaces";
  const Reply refused = handle(std::move(request));
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.message(),
            "namespaces is forbidden: User \"system:anonymous\" cannot list resource "
            "\"namespaces\" in API group \"\" at the cluster scope");
}

}  // namespace
}  // namespace athanor::apiserver::reviews_test
