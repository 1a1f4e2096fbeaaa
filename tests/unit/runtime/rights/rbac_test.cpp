// SPDX-License-Identifier: Apache-2.0
// Roles from declarations.
#include "runtime/rights/rbac.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "api/builtin.hpp"

namespace athanor::runtime::rbac_test {
namespace {

constexpr const Kind* kReads[] = {&api::kPod, &api::kNode, &api::kSecret};
constexpr const Kind* kWrites[] = {&api::kPod, &api::kConfigMap};
constexpr Access kAccess[] = {{&api::kPod, "delete get"},
                              {&api::kPod, "patch", "status"},
                              {&api::kPod, "create", "binding"},
                              {&api::kConfigMap, "create"},
                              {&api::kEvent, "create patch"}};

Plan nothing(const View& /*view*/, const Key& /*key*/, Instant /*now*/) {
  return Plan::done();
}

constexpr Operator kExact{.name = "exact",
                          .primary = &api::kPod,
                          .reads = kReads,
                          .writes = kWrites,
                          .reconcile = nothing,
                          .access = kAccess};
constexpr Operator kLoose{.name = "loose",
                          .primary = &api::kPod,
                          .reads = kReads,
                          .writes = kWrites,
                          .reconcile = nothing};

std::vector<std::string> lines(const std::vector<Permission>& permissions) {
  std::vector<std::string> result;
  for (const Permission& one : permissions) {
    std::string line = one.resource + ":";
    for (const std::string& verb : one.verbs) {
      line += " " + verb;
    }
    result.push_back(std::move(line));
  }
  return result;
}

TEST(Rbac, GrantsExactlyDeclaredRights) {
  const Operator* const operators[] = {&kExact};
  EXPECT_EQ(
      lines(permissions_of(operators)),
      (std::vector<std::string>{"configmaps: create", "events: create patch", "nodes: list watch",
                                "pods: get list watch delete", "pods/binding: create",
                                "pods/status: patch", "secrets: list watch"}));
}

TEST(Rbac, GrantsEventsToEveryWriter) {
  Operator silent = kExact;
  constexpr Access kBinding[] = {{&api::kPod, "create", "binding"}};
  silent.access = kBinding;
  const Operator* const operators[] = {&silent};
  EXPECT_EQ(lines(permissions_of(operators))[0], "events: create patch");
  silent.writes = {};
  EXPECT_NE(lines(permissions_of(operators))[0], "events: create patch");
}

TEST(Rbac, WithoutADeclarationEverythingAStepCouldDo) {
  const Operator* const operators[] = {&kLoose};
  EXPECT_EQ(lines(permissions_of(operators)),
            (std::vector<std::string>{
                "configmaps: get create patch update delete", "configmaps/finalizers: update",
                "configmaps/status: patch", "events: create patch", "nodes: list watch",
                "pods: get list watch create patch update delete", "pods/finalizers: update",
                "pods/status: patch", "secrets: list watch"}));
}

// A system that runs alone may have its Lease in a namespace of its own.
TEST(Rbac, PutsTheLeaseWhereTheProcessKeepsIt) {
  const Operator* const operators[] = {&kExact};
  const auto places = [&](const std::string& ns) {
    std::vector<std::string> found;
    for (const Value& object :
         rbac_objects(operators, {.lease = "lock", .lease_namespace = ns, .webhook_secret = "s"})) {
      for (const Value& rule : object["rules"].items()) {
        if (rule["resources"][0].as_string() == "leases") {
          found.push_back(object["metadata"]["namespace"].str() + "/" +
                          object["metadata"]["name"].str());
        }
      }
    }
    return found;
  };
  const std::vector<std::string> own(2, "athanor-system/athanor-own");
  EXPECT_EQ(places(""), own);
  EXPECT_EQ(places("athanor-system"), own);
  EXPECT_EQ(places("fleet"), std::vector<std::string>(2, "fleet/athanor-lease"));
}

// Who creates a role holds what it grants; a ClusterRole's rights in the whole cluster.
TEST(Rbac, HoldsRightsThatOperatorsGrant) {
  const Operator* const operators[] = {&kExact};
  const auto rule = [](const char* resource, std::vector<std::string> names) {
    Value one = Value::object({{"apiGroups", Value::list({""})},
                               {"resources", Value::list({resource})},
                               {"verbs", Value::list({"update", "get"})}});
    for (const std::string& name : names) {
      one.member("resourceNames").push_back(name);
    }
    return one;
  };
  const std::vector<Value> roles{
      Value::object({{"kind", "Role"},
                     {"rules", Value::list({rule("pods", {"a"}), rule("services", {"b"})})}}),
      Value::object({{"kind", "ClusterRole"}, {"rules", Value::list({rule("endpoints", {})})}})};
  std::vector<std::string> granted;
  for (const Permission& one : permissions_of(operators, roles)) {
    if (!one.names.empty() || one.resource == "endpoints") {
      std::string line = one.resource + (one.namespaced ? " inside" : " everywhere");
      for (const std::string& name : one.names) {
        line += " " + name;
      }
      for (const std::string& verb : one.verbs) {
        line += " " + verb;
      }
      granted.push_back(std::move(line));
    }
  }
  // "get pods" is granted for all of them already.
  EXPECT_EQ(granted,
            (std::vector<std::string>{"endpoints everywhere get update", "pods inside a update",
                                      "services inside b get update"}));
  const auto objects = rbac_objects(operators, {.namespaces = {"n"}, .granted_roles = roles});
  for (const Value& object : objects) {
    const bool has_endpoints = std::ranges::any_of(object["rules"].items(), [](const Value& one) {
      return one["resources"][0].as_string() == "endpoints";
    });
    EXPECT_TRUE(!has_endpoints || object["kind"].as_string() == "ClusterRole");
  }
}

std::vector<std::string> names(const std::vector<Value>& objects) {
  std::vector<std::string> result;
  for (const Value& object : objects) {
    result.push_back(object["kind"].str() + " " + object["metadata"]["namespace"].str() + "/" +
                     object["metadata"]["name"].str());
  }
  return result;
}

TEST(Rbac, AWholeClusterNeedsOneClusterRole) {
  const Operator* const operators[] = {&kExact};
  const auto objects = rbac_objects(operators, {});
  EXPECT_EQ(names(objects), (std::vector<std::string>{
                                "ServiceAccount athanor-system/athanor", "ClusterRole /athanor",
                                "ClusterRoleBinding /athanor", "Role athanor-system/athanor-own",
                                "RoleBinding athanor-system/athanor-own"}));
  const Value& own = objects[3]["rules"];
  ASSERT_EQ(own.size(), 2U);
  EXPECT_EQ(own[0]["verbs"], Value::list({"create"}));
  EXPECT_EQ(own[1]["resourceNames"], Value::list({"athanor"}));
  EXPECT_EQ(own[1]["verbs"], Value::list({"get", "update"}));
  EXPECT_EQ(objects[2]["subjects"][0]["namespace"].as_string(), "athanor-system");
  EXPECT_EQ(objects[2]["roleRef"]["kind"].as_string(), "ClusterRole");
}

TEST(Rbac, LimitsClusterRoleToClusterResourcesWithNamespaces) {
  const Operator* const operators[] = {&kExact};
  const auto objects = rbac_objects(operators, {.namespaces = {"a", "b"}, .lease = ""});
  EXPECT_EQ(names(objects),
            (std::vector<std::string>{"ServiceAccount athanor-system/athanor",
                                      "ClusterRole /athanor", "ClusterRoleBinding /athanor",
                                      "Role a/athanor", "RoleBinding a/athanor", "Role b/athanor",
                                      "RoleBinding b/athanor"}));
  EXPECT_EQ(objects[1]["rules"].size(), 1U);
  EXPECT_EQ(objects[1]["rules"][0]["resources"], Value::list({"nodes"}));
}

TEST(Rbac, GrantsWebhooksSecretAndConfigurationsByName) {
  const Operator* const operators[] = {&kExact};
  const auto objects =
      rbac_objects(operators, {.webhook_secret = "certs", .webhook_configurations = {"athanor"}});
  const Value& wide = objects[1]["rules"];
  const Value& hook = wide[wide.size() - 1];
  EXPECT_EQ(hook["resources"],
            Value::list({"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}));
  EXPECT_EQ(hook["resourceNames"], Value::list({"athanor"}));
  EXPECT_EQ(hook["verbs"], Value::list({"update"}));
  EXPECT_EQ(objects[3]["rules"][1]["resourceNames"], Value::list({"certs"}));
}

}  // namespace
}  // namespace athanor::runtime::rbac_test
