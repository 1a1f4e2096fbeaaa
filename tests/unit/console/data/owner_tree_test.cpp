// SPDX-License-Identifier: Apache-2.0
// Objects with their owners and what they own (docs/spec/dashboard.md G7).
#include "console/data/owner_tree.hpp"

#include <gtest/gtest.h>

#include <string>

#include "kube/text/yaml.hpp"

namespace athanor::console::owner_tree_test {
namespace {

Object object(const std::string& text) {
  return Object(*yaml::parse(text));
}

// "FournosJob/j(Workload/w*,Pod/p)": the subject with a star.
std::string text_of(const Value& tree) {
  std::string text = tree["kind"].str() + "/" + tree["name"].str();
  text += tree["current"].as_bool() ? "*" : "";
  std::string children;
  for (const Value& child : tree["children"].items()) {
    children += (children.empty() ? "" : ",") + text_of(child);
  }
  return children.empty() ? text : text + "(" + children + ")";
}

const Object kJob = object(
    "{kind: FournosJob, metadata: {name: j, namespace: n, uid: u1}, status: {phase: Running}}");
const Object kWorkload = object(
    "{kind: Workload, metadata: {name: w, namespace: n, uid: u2, ownerReferences: [{uid: u1}]}, "
    "status: {conditions: [{type: Admitted, status: 'True', reason: Admitted}]}}");
const Object kSecret = object(
    "{kind: Secret, metadata: {name: s, namespace: n, uid: u3, labels: {fournos.dev/job-name: "
    "j}}}");
const Object kPod = object(
    "{kind: Pod, metadata: {name: p, namespace: n, uid: u4, ownerReferences: [{uid: u1}]}, "
    "spec: {nodeName: node-1}, status: {phase: Pending}}");
const Object kElsewhere = object(
    "{kind: Secret, metadata: {name: t, namespace: m, uid: u5, labels: {fournos.dev/job-name: "
    "j}}}");
const Object kNode = object("{kind: Node, metadata: {name: node-1, uid: u6}}");

TEST(OwnerTree, GrowsFromTheTopmostOwner) {
  const std::vector<Object> all{kJob, kWorkload, kSecret, kPod, kElsewhere};
  EXPECT_EQ(text_of(owner_tree(kJob, all)), "FournosJob/j*(Workload/w,Pod/p,Secret/s)");
  const Value tree = owner_tree(kWorkload, all);
  EXPECT_EQ(text_of(tree), "FournosJob/j(Workload/w*,Pod/p,Secret/s)");
  EXPECT_EQ(tree["state"].as_string(), "Running");
  EXPECT_EQ(tree["children"][0]["state"].as_string(), "Admitted");
}

TEST(OwnerTree, ShowsObjectsOfNode) {
  const Object claim = object(
      "{kind: AllocationClaim, metadata: {name: c, namespace: d, uid: u7}, spec: {nodename: "
      "node-1}, status: {state: inUse}}");
  const Object other =
      object("{kind: Pod, metadata: {name: q, namespace: n, uid: u8}, spec: {nodeName: node-2}}");
  const Object topology = object("{kind: NodeResourceTopology, metadata: {name: node-1, uid: u9}}");
  const Value tree = owner_tree(kNode, {kPod, claim, other, topology});
  EXPECT_EQ(text_of(tree), "Node/node-1*(Pod/p,AllocationClaim/c,NodeResourceTopology/node-1)");
  EXPECT_EQ(tree["children"][1]["state"].as_string(), "inUse");
}

TEST(OwnerTree, EndsWhereOwnersFormARing) {
  const Object one =
      object("{kind: Pod, metadata: {name: a, namespace: n, uid: x, ownerReferences: [{uid: y}]}}");
  const Object two =
      object("{kind: Pod, metadata: {name: b, namespace: n, uid: y, ownerReferences: [{uid: x}]}}");
  EXPECT_EQ(text_of(owner_tree(one, {one, two})).find("Pod/"), 0U);
  EXPECT_LT(text_of(owner_tree(two, {one, two})).size(), 20U);
}

}  // namespace
}  // namespace athanor::console::owner_tree_test
