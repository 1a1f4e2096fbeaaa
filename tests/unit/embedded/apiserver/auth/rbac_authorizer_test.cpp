// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/request/authorize.hpp"

#include <gtest/gtest.h>

#include "embedded/apiserver/admission/steps.hpp"
#include "unit/embedded/apiserver/fixture.hpp"

namespace athanor::apiserver::rbac_authorizer_test {
namespace {

using test::World;

constexpr std::string_view kRoles = "roles.rbac.authorization.k8s.io";
constexpr std::string_view kClusterRoles = "clusterroles.rbac.authorization.k8s.io";
constexpr std::string_view kBindings = "rolebindings.rbac.authorization.k8s.io";
constexpr std::string_view kClusterBindings = "clusterrolebindings.rbac.authorization.k8s.io";

class AuthorizeTest : public ::testing::Test {
 protected:
  AuthorizeTest() : authorizer_(make_authorizer(world_.options, world_.dependencies())) {
    world_.put(kRoles, R"({"metadata":{"namespace":"lt","name":"r1"},"rules":[
      {"verbs":["get","list"],"apiGroups":[""],"resources":["pods","pods/log","*/status"]},
      {"verbs":["*"],"apiGroups":["apps"],"resources":["*"]},
      {"verbs":["get","create"],"apiGroups":[""],"resources":["secrets"],"resourceNames":["s1"]}]})");
    world_.put(kBindings, R"({"metadata":{"namespace":"lt","name":"rb1"},
      "roleRef":{"kind":"Role","name":"r1"},"subjects":[{"kind":"User","name":"alice"},
      {"kind":"ServiceAccount","name":"sa","namespace":"other"}]})");
    world_.put(kClusterRoles, R"({"metadata":{"name":"y"},"rules":[
      {"verbs":["get"],"apiGroups":[""],"resources":["nodes"]},
      {"verbs":["get"],"nonResourceURLs":["/healthz","/logs/*"]}]})");
    world_.put(kClusterBindings, R"({"metadata":{"name":"x"},
      "roleRef":{"kind":"ClusterRole","name":"y"},"subjects":[{"kind":"Group","name":"g"}]})");
  }

  static UserInfo user(std::string_view name, std::vector<std::string> groups = {}) {
    UserInfo result;
    result.name = std::string(name);
    result.groups = std::move(groups);
    return result;
  }
  Decision ask(const UserInfo& who, std::string_view verb, std::string_view resource,
               std::string_view ns, std::string_view name = {}) {
    Attributes attributes;
    attributes.user = &who;
    attributes.verb = std::string(verb);
    attributes.ns = std::string(ns);
    attributes.name = std::string(name);
    if (resource.starts_with("/")) {
      attributes.is_resource = false;
      attributes.path = std::string(resource);
      return authorizer_->authorize(attributes);
    }
    const std::size_t slash = resource.find('/');
    const std::string_view whole = resource.substr(0, slash);
    const std::size_t dot = whole.find('.');
    attributes.resource = std::string(whole.substr(0, dot));
    attributes.group = dot == std::string_view::npos ? "" : std::string(whole.substr(dot + 1));
    attributes.subresource =
        slash == std::string_view::npos ? "" : std::string(resource.substr(slash + 1));
    return authorizer_->authorize(attributes);
  }

  World world_{};
  std::unique_ptr<Authorizer> authorizer_;
};

TEST_F(AuthorizeTest, RulesMatchVerbGroupResourceAndName) {
  const UserInfo alice = user("alice");
  struct Row {
    std::string_view verb{}, resource{}, ns{}, name{};
    bool allowed = false;
  };
  const std::vector<Row> rows = {
      {"get", "pods", "lt", "p", true},
      {"list", "pods", "lt", "", true},
      {"watch", "pods", "lt", "", false},
      {"get", "pods", "elsewhere", "p", false},
      {"get", "pods", "", "", false},
      {"get", "pods/log", "lt", "p", true},
      {"get", "pods/exec", "lt", "p", false},
      {"get", "services/status", "lt", "s", true},
      {"get", "services", "lt", "s", false},
      {"delete", "deployments.apps", "lt", "d", true},
      {"update", "deployments.apps/scale", "lt", "d", true},
      {"get", "jobs.batch", "lt", "j", false},
      {"get", "secrets", "lt", "s1", true},
      {"get", "secrets", "lt", "s2", false},
      {"create", "secrets", "lt", "", false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(ask(alice, row.verb, row.resource, row.ns, row.name).allowed, row.allowed)
        << row.verb << " " << row.resource << " " << row.ns << " " << row.name;
  }
}

TEST_F(AuthorizeTest, DecisionsSayWhy) {
  EXPECT_EQ(ask(user("alice"), "get", "pods", "lt").reason,
            R"(RBAC: allowed by RoleBinding "rb1/lt" of Role "r1" to User "alice")");
  EXPECT_EQ(ask(user("carol", {"g"}), "get", "nodes", "").reason,
            R"(RBAC: allowed by ClusterRoleBinding "x" of ClusterRole "y" to Group "g")");
  EXPECT_EQ(ask(user("system:serviceaccount:other:sa"), "get", "pods", "lt").reason,
            R"(RBAC: allowed by RoleBinding "rb1/lt" of Role "r1" to ServiceAccount "sa/other")");
  EXPECT_EQ(ask(user("dave"), "get", "pods", "lt").reason, "");
  world_.remove(kRoles, {"lt", "r1"});
  EXPECT_EQ(ask(user("alice"), "get", "pods", "lt").reason,
            R"(RBAC: role.rbac.authorization.k8s.io "r1" not found)");
}

TEST_F(AuthorizeTest, PathsMatchExactlyOrByPrefix) {
  const UserInfo carol = user("carol", {"g"});
  EXPECT_TRUE(ask(carol, "get", "/healthz", "").allowed);
  EXPECT_FALSE(ask(carol, "get", "/healthz/ping", "").allowed);
  EXPECT_FALSE(ask(carol, "post", "/healthz", "").allowed);
  EXPECT_TRUE(ask(carol, "get", "/logs/a/b", "").allowed);
  EXPECT_FALSE(ask(user("bob"), "get", "/healthz", "").allowed);
}

TEST_F(AuthorizeTest, MastersMayEverything) {
  EXPECT_TRUE(ask(user("root", {"system:masters"}), "delete", "namespaces", "", "a").allowed);
}

TEST_F(AuthorizeTest, ChangesAreSeenByTheNextRequest) {
  const UserInfo bob = user("bob");
  EXPECT_FALSE(ask(bob, "get", "pods", "lt").allowed);
  world_.put(kBindings, R"({"metadata":{"namespace":"lt","name":"rb1"},
    "roleRef":{"kind":"Role","name":"r1"},"subjects":[{"kind":"User","name":"bob"}]})");
  EXPECT_TRUE(ask(bob, "get", "pods", "lt").allowed);
  EXPECT_FALSE(ask(user("alice"), "get", "pods", "lt").allowed);
  world_.remove(kBindings, {"lt", "rb1"});
  EXPECT_FALSE(ask(bob, "get", "pods", "lt").allowed);
}

TEST_F(AuthorizeTest, RulesOfAUser) {
  const auto rules = authorizer_->rules_for(user("alice", {"g"}), "lt");
  ASSERT_EQ(rules.size(), 5U);
  EXPECT_EQ(json::print(rules[1]), R"({"verbs":["get"],"nonResourceURLs":["/healthz","/logs/*"]})");
  EXPECT_TRUE(authorizer_->rules_for(user("bob"), "lt").empty());
}

class EscalationTest : public AuthorizeTest {
 protected:
  // Empty when allowed, else the message.
  std::string write(const UserInfo& who, std::string_view plural, std::string_view text) {
    ResourceInfo resource;
    resource.group = "rbac.authorization.k8s.io";
    resource.plural = std::string(plural);
    const Value object = test::parse(text);
    AdmissionAttributes request;
    request.resource = &resource;
    request.key = {object["metadata"]["namespace"].str(), object["metadata"]["name"].str()};
    request.object = object;
    request.user = &who;
    const ResourceTable table({});
    const AdmissionContext context{.store = *world_.store,
                                   .table = table,
                                   .authorizer = *authorizer_,
                                   .options = world_.options,
                                   .entropy = *world_.entropy,
                                   .now = test::kNow};
    const auto result = escalation_step().validate(request, context);
    return result.ok() ? "" : result.error().message;
  }
};

TEST_F(EscalationTest, RolesGrantOnlyRightsOfTheWriter) {
  const UserInfo alice = user("alice", {"devs", "system:authenticated"});
  constexpr std::string_view kHeld = R"({"metadata":{"namespace":"lt","name":"e"},"rules":[
    {"verbs":["get","list"],"apiGroups":[""],"resources":["pods"]},
    {"verbs":["*"],"apiGroups":["apps"],"resources":["deployments"]}]})";
  EXPECT_EQ(write(alice, "roles", kHeld), "");
  constexpr std::string_view kMore = R"({"metadata":{"namespace":"lt","name":"e"},"rules":[
    {"verbs":["*"],"apiGroups":[""],"resources":["secrets"]},
    {"verbs":["get","delete","watch"],"apiGroups":[""],"resources":["pods"]}]})";
  EXPECT_EQ(write(alice, "roles", kMore),
            "roles.rbac.authorization.k8s.io \"e\" is forbidden: user \"alice\" "
            "(groups=[\"devs\" \"system:authenticated\"]) is attempting to grant RBAC permissions "
            "not currently held:\n"
            "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\" \"watch\"]}\n"
            "{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"*\"]}");
  EXPECT_EQ(write(user("root", {"system:masters"}), "roles", kMore), "");
  world_.put(kClusterRoles, R"({"metadata":{"name":"esc"},"rules":[{"verbs":["escalate"],
    "apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"]}]})");
  world_.put(kBindings, R"({"metadata":{"namespace":"lt","name":"esc"},
    "roleRef":{"kind":"ClusterRole","name":"esc"},"subjects":[{"kind":"User","name":"alice"}]})");
  EXPECT_EQ(write(alice, "roles", kMore), "");
}

TEST_F(EscalationTest, BindingsNeedTheRolesPermissionsOrBind) {
  constexpr std::string_view kBinding = R"({"metadata":{"namespace":"lt","name":"b"},
    "roleRef":{"kind":"ClusterRole","name":"y"},"subjects":[{"kind":"User","name":"eve"}]})";
  const UserInfo alice = user("alice");
  EXPECT_NE(write(alice, "rolebindings", kBinding), "");
  EXPECT_EQ(write(user("carol", {"g"}), "rolebindings", kBinding), "");
  constexpr std::string_view kUnknown = R"({"metadata":{"namespace":"lt","name":"b"},
    "roleRef":{"kind":"Role","name":"zz"}})";
  EXPECT_EQ(write(alice, "rolebindings", kUnknown),
            R"(roles.rbac.authorization.k8s.io "zz" not found)");
  world_.put(kRoles, R"({"metadata":{"namespace":"lt","name":"binder"},"rules":[{"verbs":["bind"],
    "apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterroles"],"resourceNames":["y"]}]})");
  world_.put(kBindings, R"({"metadata":{"namespace":"lt","name":"binder"},
    "roleRef":{"kind":"Role","name":"binder"},"subjects":[{"kind":"User","name":"alice"}]})");
  EXPECT_EQ(write(alice, "rolebindings", kBinding), "");
}

TEST_F(EscalationTest, AggregationNeedsEverything) {
  constexpr std::string_view kRole = R"({"metadata":{"name":"agg"},"aggregationRule":
    {"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]}})";
  EXPECT_EQ(write(user("alice"), "clusterroles", kRole),
            "clusterroles.rbac.authorization.k8s.io \"agg\" is forbidden: must have cluster-admin "
            "privileges to use an aggregationRule");
}

}  // namespace
}  // namespace athanor::apiserver::rbac_authorizer_test
