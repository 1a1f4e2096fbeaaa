// SPDX-License-Identifier: Apache-2.0
// What a kubelet may read and write (docs/spec/apiserver.md 16.2).
#include "embedded/apiserver/auth/node_authorizer.hpp"

#include <gtest/gtest.h>

#include "unit/embedded/apiserver/fixture.hpp"

namespace athanor::apiserver::node_authorizer_test {
namespace {

using test::World;

constexpr std::string_view kUnrelated = "no relationship found between node 'n1' and this object";

class NodeAuthorizerTest : public ::testing::Test {
 protected:
  NodeAuthorizerTest() {
    world_.put("clusterroles.rbac.authorization.k8s.io",
               R"({"metadata":{"name":"system:node"},"rules":[
      {"verbs":["get","list","watch"],"apiGroups":[""],"resources":["services"]},
      {"verbs":["get","list","watch","delete","create"],"apiGroups":[""],"resources":["pods"]},
      {"verbs":["get","list","watch","create"],"apiGroups":[""],
       "resources":["secrets","configmaps","persistentvolumeclaims","persistentvolumes","nodes"]},
      {"verbs":["create"],"apiGroups":[""],"resources":["serviceaccounts/token"]},
      {"verbs":["get","update"],"apiGroups":["coordination.k8s.io"],"resources":["leases"]}]})");
    put_pod("mine", "n1", "-1");
    put_pod("theirs", "n2", "-2");
    put_pod("unbound", "", "-3");
    world_.put("persistentvolumeclaims", R"({"metadata":{"namespace":"a","name":"claim-1"},
        "spec":{"volumeName":"pv-1"}})");
    world_.put("persistentvolumes", R"({"metadata":{"name":"pv-1"},"spec":{
        "claimRef":{"namespace":"a","name":"claim-1"},
        "csi":{"nodePublishSecretRef":{"name":"csi-1"}}}})");
    world_.put("persistentvolumes", R"({"metadata":{"name":"pv-2"},"spec":{
        "claimRef":{"namespace":"a","name":"claim-2"}}})");
    world_.put("volumeattachments.storage.k8s.io",
               R"({"metadata":{"name":"va-1"},"spec":{"nodeName":"n1"}})");
    world_.put("volumeattachments.storage.k8s.io",
               R"({"metadata":{"name":"va-2"},"spec":{"nodeName":"n2"}})");
    authorizer_ = make_authorizer(world_.options, world_.dependencies());
  }

  void put_pod(const std::string& name, const std::string& node, const std::string& end,
               const std::string& annotations = "{}") {
    world_.put("pods", R"({"metadata":{"namespace":"a","name":")" + name + R"(","annotations":)" +
                           annotations + R"(},"spec":{"nodeName":")" + node +
                           R"(","serviceAccountName":"sa)" + end +
                           R"(","imagePullSecrets":[{"name":"pull)" + end +
                           R"("}],"containers":[{"name":"c","env":[{"name":"A","valueFrom":
            {"secretKeyRef":{"name":"env)" +
                           end + R"(","key":"k"}}}],"envFrom":[{"configMapRef":{"name":"map)" +
                           end + R"("}}]}],"volumes":[{"name":"v","secret":{"secretName":"vol)" +
                           end +
                           R"("}},{"name":"p","projected":{"sources":[{"secret":{"name":"proj)" +
                           end + R"("}},{"configMap":{"name":"pmap)" + end +
                           R"("}}]}},{"name":"c","persistentVolumeClaim":{"claimName":"claim)" +
                           end + R"("}},{"name":"e","ephemeral":{}}],
            "resourceClaims":[{"name":"d","resourceClaimName":"dev)" +
                           end + R"("}]}})");
  }

  Decision ask(std::string_view verb, std::string_view resource, std::string_view ns,
               std::string_view name, std::string_view fields = {}) {
    UserInfo who;
    who.name = user_;
    who.groups = groups_;
    Attributes attributes;
    attributes.user = &who;
    attributes.verb = std::string(verb);
    const std::size_t slash = std::min(resource.find('/'), resource.size());
    const std::string_view whole = resource.substr(0, slash);
    const std::size_t dot = std::min(whole.find('.'), whole.size());
    attributes.resource = std::string(whole.substr(0, dot));
    attributes.group = dot == whole.size() ? "" : std::string(whole.substr(dot + 1));
    attributes.subresource =
        slash == resource.size() ? "" : std::string(resource.substr(slash + 1));
    attributes.ns = std::string(ns);
    attributes.name = std::string(name);
    attributes.field_selector = std::string(fields);
    return authorizer_->authorize(attributes);
  }
  bool may(std::string_view verb, std::string_view resource, std::string_view ns,
           std::string_view name, std::string_view fields = {}) {
    return ask(verb, resource, ns, name, fields).allowed;
  }

  World world_{};
  std::string user_ = "system:node:n1";
  std::vector<std::string> groups_{"system:nodes", "system:authenticated"};
  std::unique_ptr<Authorizer> authorizer_{};
};

TEST_F(NodeAuthorizerTest, ReadsObjectsThatItsPodsReference) {
  for (const char* secret : {"pull", "env", "vol", "proj"}) {
    for (const char* verb : {"get", "list", "watch"}) {
      EXPECT_TRUE(may(verb, "secrets", "a", secret + std::string("-1"))) << secret;
    }
    for (const char* end : {"-2", "-3"}) {
      const Decision refused = ask("get", "secrets", "a", secret + std::string(end));
      EXPECT_FALSE(refused.allowed) << secret << end;
      EXPECT_EQ(refused.reason, kUnrelated);
    }
    EXPECT_FALSE(may("get", "secrets", "b", secret + std::string("-1")));
  }
  EXPECT_TRUE(may("get", "secrets", "a", "csi-1"));
  for (const char* map : {"map", "pmap"}) {
    EXPECT_TRUE(may("get", "configmaps", "a", map + std::string("-1")));
    EXPECT_FALSE(may("get", "configmaps", "a", map + std::string("-2")));
  }
  EXPECT_EQ(ask("list", "secrets", "a", "").reason, "No Object name found");
  EXPECT_EQ(ask("list", "secrets", "", "").reason, "can only read namespaced object of this type");
  EXPECT_EQ(ask("create", "secrets", "a", "x").reason, "can only read resources of this type");
}

TEST_F(NodeAuthorizerTest, ClaimsVolumesAndTokensOfItsPods) {
  EXPECT_TRUE(may("get", "persistentvolumeclaims", "a", "claim-1"));
  EXPECT_TRUE(may("get", "persistentvolumeclaims", "a", "mine-e"));
  EXPECT_FALSE(may("get", "persistentvolumeclaims", "a", "claim-2"));
  EXPECT_TRUE(may("patch", "persistentvolumeclaims/status", "a", "claim-1"));
  EXPECT_EQ(ask("list", "persistentvolumeclaims", "a", "").reason,
            "can only get individual resources of this type");
  EXPECT_TRUE(may("get", "persistentvolumes", "", "pv-1"));
  EXPECT_FALSE(may("get", "persistentvolumes", "", "pv-2"));
  EXPECT_TRUE(may("get", "volumeattachments.storage.k8s.io", "", "va-1"));
  EXPECT_FALSE(may("get", "volumeattachments.storage.k8s.io", "", "va-2"));
  EXPECT_TRUE(may("get", "resourceclaims.resource.k8s.io", "a", "dev-1"));
  EXPECT_FALSE(may("get", "resourceclaims.resource.k8s.io", "a", "dev-2"));
  EXPECT_TRUE(may("create", "serviceaccounts/token", "a", "sa-1"));
  EXPECT_FALSE(may("create", "serviceaccounts/token", "a", "sa-2"));
  EXPECT_EQ(ask("get", "serviceaccounts", "a", "sa-1").reason,
            "can only create tokens for individual service accounts");
}

TEST_F(NodeAuthorizerTest, ItsOwnNodeLeaseAndPods) {
  EXPECT_TRUE(may("get", "nodes", "", "n1"));
  EXPECT_EQ(ask("get", "nodes", "", "n2").reason,
            "node 'n1' cannot read 'n2', only its own Node object");
  EXPECT_TRUE(may("patch", "nodes/status", "", "n1"));
  EXPECT_FALSE(may("delete", "nodes", "", "n1"));
  EXPECT_TRUE(may("update", "leases.coordination.k8s.io", "kube-node-lease", "n1"));
  EXPECT_FALSE(may("update", "leases.coordination.k8s.io", "kube-node-lease", "n2"));
  EXPECT_FALSE(may("update", "leases.coordination.k8s.io", "kube-system", "n1"));
  EXPECT_TRUE(may("get", "csinodes.storage.k8s.io", "", "n1"));
  EXPECT_FALSE(may("get", "csinodes.storage.k8s.io", "", "n2"));
  EXPECT_TRUE(may("get", "pods", "a", "mine"));
  EXPECT_FALSE(may("get", "pods", "a", "theirs"));
  EXPECT_TRUE(may("watch", "pods", "", "", "spec.nodeName=n1"));
  EXPECT_FALSE(may("watch", "pods", "", "", "spec.nodeName!=n1"));
  EXPECT_FALSE(may("list", "pods", "", "", "spec.nodeName=n2"));
  EXPECT_FALSE(may("list", "pods", "", ""));
  EXPECT_TRUE(may("delete", "pods", "a", "mine"));  // whose, says NodeRestriction
  EXPECT_TRUE(may("list", "services", "", ""));
  EXPECT_FALSE(may("create", "services", "a", ""));
}

TEST_F(NodeAuthorizerTest, FollowsThePods) {
  EXPECT_FALSE(may("get", "secrets", "a", "env-3"));
  put_pod("unbound", "n1", "-3");
  EXPECT_TRUE(may("get", "secrets", "a", "env-3"));
  world_.remove("pods", {"a", "unbound"});
  EXPECT_FALSE(may("get", "secrets", "a", "env-3"));
  put_pod("mirror", "n1", "-4", R"({"kubernetes.io/config.mirror":"x"})");
  EXPECT_FALSE(may("get", "secrets", "a", "env-4"));
  EXPECT_TRUE(may("get", "pods", "a", "mirror"));
}

TEST_F(NodeAuthorizerTest, OnlyNodesAreNodes) {
  groups_ = {"system:nodes"};
  user_ = "somebody";
  EXPECT_FALSE(may("get", "secrets", "a", "env-1"));
  EXPECT_FALSE(may("list", "services", "", ""));
  user_ = "system:node:";
  EXPECT_FALSE(may("list", "services", "", ""));
  user_ = "system:node:n1";
  groups_ = {"system:authenticated"};
  EXPECT_FALSE(may("get", "nodes", "", "n1"));
  // What RBAC gives besides stays.
  world_.put("clusterrolebindings.rbac.authorization.k8s.io",
             R"({"metadata":{"name":"all"},"roleRef":{"kind":"ClusterRole","name":"system:node"},
        "subjects":[{"kind":"User","name":"system:node:n1"}]})");
  groups_ = {"system:nodes"};
  EXPECT_TRUE(may("get", "secrets", "a", "env-2"));
}

}  // namespace
}  // namespace athanor::apiserver::node_authorizer_test
