// SPDX-License-Identifier: Apache-2.0
// What a kubelet is answered about a ResourceClaim (docs/spec/das.md 15.1).
#include "systems/das/agent/claim_devices.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::das::prepared_test {
namespace {

Object object(const std::string& text) {
  return Object(yaml::parse(text).value());
}

Object claim_of(const std::string& results) {
  return object(
      "{metadata: {name: both, namespace: ns, uid: u}, status: {allocation: {devices: {results: [" +
      results + "]}}}}");
}

const char* const kTwo =
    "{request: a, driver: das.inference.redhat.com, pool: n, device: gpu-0-mig-1},"
    "{request: b/first, driver: das.inference.redhat.com, pool: n, device: gpu-0-mig-2},"
    "{request: c, driver: other.example.com, pool: n, device: x},"
    "{request: d, driver: das.inference.redhat.com, pool: n, device: gpu-1, adminAccess: true}";

Object pod_with(const std::string& containers, const std::string& more = {}) {
  return object(
      "{metadata: {name: p, namespace: ns, uid: pu}, spec: {resourceClaims: "
      "[{name: one, resourceClaimName: both}, {name: two, resourceClaimName: more}], containers: "
      "[" +
      containers + "]}" + more + "}");
}

// "a+b", "a b", or the error.
std::string groups(const Object& claim, const std::vector<Object>& pods) {
  const auto found = groups_of(claim, pods, {"both", "more"});
  if (!found.ok()) {
    return found.error().message;
  }
  std::string text;
  for (const RequestGroup& group : *found) {
    text += text.empty() ? "" : " ";
    for (const std::string& request : group) {
      text += (text.empty() || text.back() == ' ' ? "" : "+") + request;
    }
  }
  return text;
}

TEST(Prepared, DevicesOfThisDriver) {
  const auto devices = allocated_devices(claim_of(kTwo));
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[1].request, "b");
  EXPECT_EQ(devices[1].device, "gpu-0-mig-2");
  EXPECT_TRUE(allocated_devices(object("{status: {allocation: 7}}")).empty());
}

TEST(Prepared, RequestsThatContainersSeeTogether) {
  const Object claim = claim_of(kTwo);
  const std::string all = "{name: c1, resources: {claims: [{name: one}]}}";
  EXPECT_EQ(groups(claim, {}), "a b");
  EXPECT_EQ(groups(claim, {pod_with(all)}), "a+b");
  EXPECT_EQ(groups(claim, {pod_with("{name: c1, resources: {claims: [{name: one, request: a}]}},"
                                    "{name: c2, resources: {claims: [{name: one, request: b}]}}")}),
            "a b");
  EXPECT_EQ(groups(claim, {pod_with("{name: c1, resources: {claims: [{name: one, request: b}]}}")}),
            "b a");
  EXPECT_EQ(
      groups(claim,
             {pod_with(all + ", {name: c2, resources: {claims: [{name: one, request: a}]}}")}),
      "resourceclaim \"both\": container \"c2\" shares some of its requests with another "
      "container, and not all: use one claim for each");
  EXPECT_EQ(
      groups(claim, {pod_with("{name: c1, resources: {claims: [{name: one}, {name: two}]}}")}),
      "resourceclaim \"both\": container \"c1\" also uses resourceclaim \"more\": put its "
      "requests into one claim");
  EXPECT_EQ(
      groups(claim, {pod_with("{name: c1}",
                              ", status: {extendedResourceClaimStatus: {resourceClaimName: both, "
                              "requestMappings: [{containerName: c1, requestName: a}]}}")}),
      "a b");
}

TEST(Prepared, TheFileListsAGroupsSlices) {
  const Object claim = claim_of(kTwo);
  const std::string text =
      claim_cdi(claim, {{"a", "b"}}, {{"gpu-0-mig-1", "MIG-1"}, {"gpu-0-mig-2", "MIG-2"}}, "index");
  const Value file = json::parse(text).value();
  EXPECT_EQ(file["kind"].str(), "k8s.das.inference.redhat.com/claim");
  ASSERT_EQ(file["devices"].size(), 1U);
  EXPECT_EQ(file["devices"][0]["name"].str(), "u-a");
  EXPECT_EQ(file["devices"][0]["containerEdits"]["env"][0].str(),
            "NVIDIA_VISIBLE_DEVICES=MIG-1,MIG-2");
  EXPECT_EQ(file["devices"][0]["containerEdits"]["env"][1].str(), "CUDA_VISIBLE_DEVICES=0,1");
  EXPECT_EQ(claim_device("u", {"a", "b"}), "k8s.das.inference.redhat.com/claim=u-a");
}

TEST(Prepared, FilesHaveTheClaimsName) {
  EXPECT_EQ(claim_of_file(claim_file("u-1")), "u-1");
  for (const char* other : {"k8s.das.inference.redhat.com-claim_.json", "c1g.5gb_x.cdi.json",
                            "spec.k8s.das.inference.redhat.com-claim_u.json.tmp", ""}) {
    EXPECT_EQ(claim_of_file(other), "") << other;
  }
}

}  // namespace
}  // namespace athanor::das::prepared_test
