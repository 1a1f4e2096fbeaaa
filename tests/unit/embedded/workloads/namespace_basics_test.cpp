// SPDX-License-Identifier: Apache-2.0
// What every namespace gets, and gets back (docs/spec/apiserver.md 16.3), and aggregated roles
// (16.2).
#include "embedded/workloads/namespace_basics.hpp"

#include <gtest/gtest.h>

#include "api/builtin.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "support/fake_world.hpp"

namespace athanor::workloads::namespace_basics_test {
namespace {

using athanor::test::FakeWorld;

Value from_yaml(const std::string& text) {
  return yaml::parse(text).value();
}

class NamespaceBasics : public ::testing::Test {
 protected:
  NamespaceBasics() {
    world.configure("rootCA", Value::object({{"pem", "PEM"}}));
    world.put(from_yaml(
        "{apiVersion: v1, kind: Namespace, metadata: {name: a}, status: {phase: Active}}"));
  }
  void settle() {
    world.settle({&service_account_operator(), &root_ca_operator(), &role_aggregation_operator()});
  }
  FakeWorld world;
};

TEST_F(NamespaceBasics, AreMadeAndMadeAgain) {
  settle();
  EXPECT_TRUE(world.has(api::kServiceAccount, {"a", "default"}));
  EXPECT_EQ(
      world.must(api::kConfigMap, {"a", "kube-root-ca.crt"}).body()["data"]["ca.crt"].as_string(),
      "PEM");
  world.remove(api::kServiceAccount, {"a", "default"});
  world.remove(api::kConfigMap, {"a", "kube-root-ca.crt"});
  settle();
  EXPECT_TRUE(world.has(api::kServiceAccount, {"a", "default"}));
  EXPECT_TRUE(world.has(api::kConfigMap, {"a", "kube-root-ca.crt"}));
}

TEST_F(NamespaceBasics, AChangedCertificateIsPutRight) {
  settle();
  world.update(api::kConfigMap, {"a", "kube-root-ca.crt"},
               [](Value& map) { map.member("data").set("ca.crt", "other"); });
  settle();
  EXPECT_EQ(
      world.must(api::kConfigMap, {"a", "kube-root-ca.crt"}).body()["data"]["ca.crt"].as_string(),
      "PEM");
}

TEST_F(NamespaceBasics, ATerminatingNamespaceGetsNothing) {
  world.put(from_yaml(
      "{apiVersion: v1, kind: Namespace, metadata: {name: b}, status: {phase: Terminating}}"));
  settle();
  EXPECT_FALSE(world.has(api::kServiceAccount, {"b", "default"}));
}

TEST_F(NamespaceBasics, AggregatesRulesOfSelectedRoles) {
  world.put(
      from_yaml("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "
                "all}, aggregationRule: "
                "{clusterRoleSelectors: [{matchLabels: {to: all}}]}, rules: []}"));
  for (const char* name : {"z", "y"}) {
    world.put(from_yaml(
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: part-" +
        std::string(name) + ", labels: {to: all}}, rules: [{apiGroups: [\"\"], resources: [\"" +
        name + "\"], verbs: [get]}]}"));
  }
  settle();
  EXPECT_EQ(
      json::print(world.must(api::kClusterRole, {"", "all"}).body()["rules"]),
      R"([{"apiGroups":[""],"resources":["y"],"verbs":["get"]},{"apiGroups":[""],"resources":["z"],"verbs":["get"]}])");
}

}  // namespace
}  // namespace athanor::workloads::namespace_basics_test
