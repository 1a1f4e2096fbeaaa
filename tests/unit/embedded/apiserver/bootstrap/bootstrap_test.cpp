// SPDX-License-Identifier: Apache-2.0
// What a fresh server has (docs/spec/apiserver.md 14.5, Appendix R).
#include "embedded/apiserver/bootstrap/bootstrap.hpp"

#include <gtest/gtest.h>

#include "embedded/apiserver/bootstrap/rbac_objects.hpp"
#include "embedded/apiserver/request/authenticate.hpp"
#include "embedded/apiserver/request/authorize.hpp"
#include "kube/schema/data.hpp"
#include "unit/embedded/apiserver/fixture.hpp"

namespace athanor::apiserver::bootstrap_test {
namespace {

using test::kNow;
using test::World;

class BootstrapTest : public ::testing::Test {
 protected:
  BootstrapTest() {
    world_.options.advertise_host = "10.1.2.3";
    world_.options.advertise_port = 6443;
    world_.options.ca_certificate_pem = "PEM";
    install();
  }
  void install() {
    const auto done = install_bootstrap_objects({.store = *world_.store,
                                                 .table = table_,
                                                 .options = world_.options,
                                                 .entropy = *world_.entropy,
                                                 .now = kNow});
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  Value get(std::string_view resource, const Key& key) {
    const auto stored = world_.store->get(resource, key);
    EXPECT_NE(stored, nullptr) << resource << " " << key.text();
    return stored == nullptr ? Value() : stored->body;
  }
  bool may(std::string_view user, std::string_view verb, std::string_view resource,
           std::string_view ns = "", std::string_view group = "") {
    const auto authorizer = make_authorizer(world_.options, world_.dependencies());
    const UserInfo who = internal_user(user);
    Attributes attributes;
    attributes.user = &who;
    attributes.verb = std::string(verb);
    attributes.ns = std::string(ns);
    attributes.group = std::string(group);
    if (resource.starts_with("/")) {
      attributes.is_resource = false;
      attributes.path = std::string(resource);
    } else {
      attributes.resource = std::string(resource);
    }
    return authorizer->authorize(attributes).allowed;
  }

  World world_{};
  ResourceTable table_{built_in_resources()};
};

TEST_F(BootstrapTest, NamespacesAndPriorities) {
  for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
    const Value ns = get("namespaces", {"", name});
    EXPECT_EQ(ns["status"]["phase"].as_string(), "Active");
    EXPECT_EQ(ns["metadata"]["labels"]["kubernetes.io/metadata.name"].as_string(), name);
    EXPECT_EQ(ns["metadata"]["uid"].as_string().size(), 36U);
  }
  EXPECT_EQ(get("priorityclasses.scheduling.k8s.io", {"", "system-node-critical"})["value"],
            Value(2'000'001'000));
}

TEST_F(BootstrapTest, ServiceOfTheServer) {
  const Value service = get("services", {"default", "kubernetes"});
  EXPECT_EQ(service["spec"]["clusterIP"].as_string(), "10.96.0.1");
  EXPECT_EQ(service["spec"]["ports"][0]["targetPort"], Value(6443));
  EXPECT_EQ(service["spec"]["internalTrafficPolicy"].as_string(), "Cluster");
  const Value endpoints = get("endpoints", {"default", "kubernetes"});
  EXPECT_EQ(endpoints["subsets"][0]["addresses"][0]["ip"].as_string(), "10.1.2.3");
  get("endpointslices.discovery.k8s.io", {"default", "kubernetes"});
}

TEST_F(BootstrapTest, LoopbackHasNoEndpoints) {
  World other;
  other.options.advertise_port = 6443;
  ASSERT_TRUE(install_bootstrap_objects({.store = *other.store,
                                         .table = table_,
                                         .options = other.options,
                                         .entropy = *other.entropy,
                                         .now = kNow})
                  .ok());
  EXPECT_EQ(other.store->get("endpoints", {"default", "kubernetes"}), nullptr);
}

TEST_F(BootstrapTest, ConfigurationAndApiServices) {
  EXPECT_EQ(get("configmaps",
                {"kube-system", "extension-apiserver-authentication"})["data"]["client-ca-file"]
                .as_string(),
            "PEM");
  const Value service = get("apiservices.apiregistration.k8s.io", {"", "v1.apps"});
  EXPECT_EQ(service["status"]["conditions"][0]["message"].as_string(),
            "Local APIServices are always available");
  get("apiservices.apiregistration.k8s.io", {"", "v1."});
}

TEST_F(BootstrapTest, FlowSchemasAndTheirPriorityLevels) {
  const std::string group = ".flowcontrol.apiserver.k8s.io";
  for (const char* name :
       {"exempt", "probes", "system-leader-election", "system-node-high", "system-nodes",
        "kube-controller-manager", "kube-scheduler", "kube-system-service-accounts",
        "service-accounts", "global-default", "catch-all"}) {
    const Value schema = get("flowschemas" + group, {"", name});
    const Value level = get("prioritylevelconfigurations" + group,
                            {"", schema["spec"]["priorityLevelConfiguration"]["name"].str()});
    EXPECT_FALSE(level["spec"]["type"].as_string().empty()) << name;
    EXPECT_EQ(schema["status"]["conditions"][0]["status"].as_string(), "False") << name;
    EXPECT_FALSE(schema["spec"]["rules"][0]["subjects"].empty()) << name;
  }
  for (const char* name : {"exempt", "system", "node-high", "leader-election", "workload-high",
                           "workload-low", "global-default", "catch-all"}) {
    get("prioritylevelconfigurations" + group, {"", name});
  }
}

TEST_F(BootstrapTest, EveryLineOfAppendixRIsThere) {
  const auto objects = parse_rbac(data::rbac_text());
  ASSERT_TRUE(objects.ok());
  EXPECT_GT(objects->size(), 120U);
  for (const BootstrapObject& entry : *objects) {
    const Value& metadata = entry.object["metadata"];
    const Value stored = get(entry.storage, {metadata["namespace"].str(), metadata["name"].str()});
    EXPECT_EQ(stored["rules"], entry.object["rules"]) << json::print(metadata);
    for (const Value& subject : stored["subjects"].items()) {
      EXPECT_FALSE(subject["name"].as_string().empty()) << json::print(metadata);
    }
    EXPECT_EQ(stored["metadata"]["labels"]["kubernetes.io/bootstrapping"].as_string(),
              "rbac-defaults");
  }
}

TEST_F(BootstrapTest, AggregatedRolesHaveTheRulesOfTheSelected) {
  const auto may_admin = [&](std::string_view verb, std::string_view resource) {
    world_.put("rolebindings.rbac.authorization.k8s.io",
               R"({"metadata":{"namespace":"lab","name":"x"},
                 "roleRef":{"kind":"ClusterRole","name":"admin"},
                 "subjects":[{"kind":"User","name":"ann"}]})");
    return may("ann", verb, resource, "lab");
  };
  EXPECT_TRUE(may_admin("get", "pods"));           // view's
  EXPECT_TRUE(may_admin("delete", "configmaps"));  // edit's
  EXPECT_FALSE(may_admin("get", "nodes"));
}

TEST_F(BootstrapTest, UsersOfTheSystemMayDoTheirWork) {
  EXPECT_TRUE(may("system:kube-scheduler", "list", "nodes"));
  EXPECT_TRUE(
      may("system:serviceaccount:kube-system:job-controller", "update", "jobs", "", "batch"));
  EXPECT_TRUE(may("system:serviceaccount:kube-system:garbage-collector-controller", "delete",
                  "configmaps", "lab"));
  EXPECT_FALSE(may("bob", "list", "nodes"));
  EXPECT_TRUE(may("bob", "get", "/api"));
  EXPECT_TRUE(may("bob", "create", "selfsubjectaccessreviews", "", "authorization.k8s.io"));
}

TEST_F(BootstrapTest, SecondInstallationWritesNothing) {
  const auto before = world_.store->revision();
  install();
  EXPECT_EQ(world_.store->revision(), before);
}

TEST_F(BootstrapTest, MissingPartsComeBack) {
  constexpr std::string_view kRoles = "clusterroles.rbac.authorization.k8s.io";
  constexpr std::string_view kBindings = "clusterrolebindings.rbac.authorization.k8s.io";
  Value role = get(kRoles, {"", "system:basic-user"});
  role.set("rules", Value::list({role["rules"][0]}));
  role.member("rules").push_back(
      test::parse(R"({"verbs":["get"],"apiGroups":["x"],"resources":["y"]})"));
  world_.put_value(kRoles, role);
  Value binding = get(kBindings, {"", "system:basic-user"});
  binding.erase("subjects");
  world_.put_value(kBindings, binding);
  world_.remove("namespaces", {"", "kube-public"});
  install();
  role = get(kRoles, {"", "system:basic-user"});
  EXPECT_EQ(role["rules"].size(), 3U) << "the added rule stays, the lost one is back";
  const Value restored = get(kBindings, {"", "system:basic-user"});
  EXPECT_EQ(restored["subjects"].size(), 1U) << json::print(restored);
  get("namespaces", {"", "kube-public"});

  binding.set_path({"metadata", "annotations", "rbac.authorization.kubernetes.io/autoupdate"},
                   "false");
  world_.put_value(kBindings, binding);
  install();
  EXPECT_TRUE(get(kBindings, {"", "system:basic-user"})["subjects"].empty());
}

TEST(RbacText, RefusesUnreadableText) {
  EXPECT_FALSE(parse_rbac("R a\n  what is this\n").ok());
  EXPECT_FALSE(parse_rbac("  \"\" : pods : get\n").ok());
  EXPECT_FALSE(parse_rbac("B x y z\n").ok());
}

}  // namespace
}  // namespace athanor::apiserver::bootstrap_test
