// SPDX-License-Identifier: Apache-2.0
// What a write needs beside its own verb, and whom a request acts as, over a server with RBAC
// (docs/spec/apiserver.md 16.1, 16.2).
#include <gmock/gmock.h>

#include "unit/embedded/apiserver/fixture.hpp"

namespace athanor::apiserver::write_permissions_test {
namespace {

using test::World;

constexpr std::string_view kMaps = "/api/v1/namespaces/lab/configmaps/";
constexpr std::string_view kEndpoints = "/api/v1/namespaces/lab/endpoints/";

class WritePermissions : public ::testing::Test {
 protected:
  WritePermissions() : server_(*Server::create({}, world_.dependencies())) {
    world_.put("namespaces", R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"lab"},
                                 "status":{"phase":"Active"}})");
  }

  // Lets "jane" do `verbs` to the writable kinds of the test.
  void grant(std::string_view verbs) {
    world_.put("clusterroles.rbac.authorization.k8s.io",
               R"({"metadata":{"name":"w"},"rules":[{"verbs":)" + std::string(verbs) +
                   R"(,"apiGroups":[""],"resources":["configmaps","endpoints"]}]})");
    world_.put("clusterrolebindings.rbac.authorization.k8s.io",
               R"({"metadata":{"name":"w"},"roleRef":{"kind":"ClusterRole","name":"w"},
                   "subjects":[{"kind":"User","name":"jane"}]})");
  }
  Response send(std::string_view method, std::string path, std::string body,
                std::string_view type = "application/json",
                std::vector<std::pair<std::string, std::string>> headers = {}) {
    Request request;
    request.method = std::string(method);
    request.path = std::move(path);
    request.body = std::move(body);
    request.headers.emplace("content-type", type);
    request.headers.insert(headers.begin(), headers.end());
    request.credentials.certificate =
        Credentials::Certificate{.common_name = "jane", .organizations = {}, .sha256_hex = "ab"};
    return server_->handle(std::move(request), test::kNow);
  }
  Response apply(std::string_view name) {
    Request request;
    request.method = "PATCH";
    request.path = std::string(kMaps) + std::string(name);
    request.query = {{"fieldManager", "m"}};
    request.body = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" +
                   std::string(name) + R"("},"data":{"a":"b"}})";
    request.headers.emplace("content-type", "application/apply-patch+yaml");
    request.credentials.certificate =
        Credentials::Certificate{.common_name = "jane", .organizations = {}, .sha256_hex = "ab"};
    return server_->handle(std::move(request), test::kNow);
  }
  Response put_endpoints(std::string_view name) {
    return send("PUT", std::string(kEndpoints) + std::string(name),
                R"({"apiVersion":"v1","kind":"Endpoints","metadata":{"name":")" +
                    std::string(name) + R"(","namespace":"lab"}})");
  }
  static Value body_of(const Response& response) {
    return response.value ? *response.value : test::parse(response.body);
  }
  static std::string message(const Response& response) {
    return body_of(response)["message"].str();
  }

  World world_{};
  std::unique_ptr<Server> server_;
};

TEST_F(WritePermissions, AnApplyThatCreatesNeedsCreate) {
  grant(R"(["patch"])");
  const Response refused = apply("a");
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(message(refused), "configmaps \"a\" is forbidden: ");
  EXPECT_EQ(world_.store->get("configmaps", {"lab", "a"}), nullptr);

  grant(R"(["patch","create"])");
  EXPECT_EQ(apply("a").status, 201);
  grant(R"(["patch"])");
  EXPECT_EQ(apply("a").status, 200) << "an object that exists needs patch alone";
}

TEST_F(WritePermissions, APutThatCreatesNeedsCreate) {
  grant(R"(["update"])");
  const Response refused = put_endpoints("a");
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(message(refused), "endpoints \"a\" is forbidden: ");
  grant(R"(["update","create"])");
  EXPECT_EQ(put_endpoints("a").status, 201);
  grant(R"(["update"])");
  EXPECT_EQ(put_endpoints("a").status, 200);
}

TEST_F(WritePermissions, KeepsCommaInNameOfImpersonatedGroup) {
  world_.put("clusterroles.rbac.authorization.k8s.io",
             R"({"metadata":{"name":"i"},"rules":[
                 {"verbs":["impersonate"],"apiGroups":[""],"resources":["users","groups"]},
                 {"verbs":["impersonate"],"apiGroups":["authentication.k8s.io"],
                  "resources":["userextras/example.com/scope"]}]})");
  world_.put("clusterrolebindings.rbac.authorization.k8s.io",
             R"({"metadata":{"name":"i"},"roleRef":{"kind":"ClusterRole","name":"i"},
                 "subjects":[{"kind":"User","name":"jane"}]})");
  const Response review = send(
      "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews",
      R"({"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"})", "application/json",
      {{"impersonate-user", "joe"},
       {"impersonate-group", "cn=dev,system:masters"},
       {"impersonate-group", "ops"},
       {"impersonate-extra-example.com%2fscope", "a,b"},
       {"impersonate-extra-example.com%2fscope", "c"}});
  ASSERT_EQ(review.status, 201) << message(review);
  const Value user = body_of(review)["status"]["userInfo"];
  EXPECT_EQ(json::print(user["groups"]),
            R"(["cn=dev,system:masters","ops","system:authenticated"])");
  EXPECT_EQ(json::print(user["extra"]), R"({"example.com/scope":["a,b","c"]})");
}

}  // namespace
}  // namespace athanor::apiserver::write_permissions_test
