// SPDX-License-Identifier: Apache-2.0
// AppWrappers as the console lists them (docs/spec/dashboard.md B4.6).
#include "console/data/appwrapper_rows.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "api/kueue.hpp"
#include "kube/text/yaml.hpp"
#include "systems/appwrapper/model/kinds.hpp"

namespace athanor::console::appwrapper_rows_test {
namespace {

Object object(const std::string& text) {
  return Object(yaml::parse(text).value());
}

Object app(const std::string& phase) {
  return object(
      "{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, metadata: {name: a, "
      "namespace: n, uid: u}, spec: {components: [{template: {kind: PyTorchJob, metadata: {name: "
      "t}}, podSetInfos: [{labels: {kueue.x-k8s.io/podset: a-0}}, {labels: "
      "{kueue.x-k8s.io/podset: a-1}}]}]}, status: {phase: " +
      phase +
      ", componentStatus: [{kind: PyTorchJob, name: t, apiVersion: kubeflow.org/v1, podSets: "
      "[{path: a, replicas: 1}, {path: b, replicas: 3}]}]}}");
}

Object pod(const std::string& name, const std::string& set) {
  return object("{kind: Pod, metadata: {name: " + name +
                ", namespace: n, labels: {kueue.x-k8s.io/podset: " + set +
                "}, ownerReferences: [{kind: PyTorchJob, name: t, uid: t1, controller: true}]}}");
}

TEST(AppWrapperRows, SayWhyOneWaits) {
  const auto shared = [](std::vector<Object> objects) {
    return std::make_shared<const KindObjects>(
        KindObjects{.objects = std::move(objects), .synced = true});
  };
  const Object workload = object(
      "{metadata: {name: w, namespace: n, ownerReferences: [{kind: AppWrapper, name: a, uid: u, "
      "controller: true}]}, status: {conditions: [{type: QuotaReserved, status: 'False', message: "
      "no room}]}}");
  const Facts facts({{&appwrapper::kAppWrapper, shared({app("Suspended")})},
                     {&api::kueue::kWorkload, shared({workload})}},
                    1);
  EXPECT_EQ(appwrapper_rows(facts)[0]["text"].str(), "no room");
}

TEST(AppWrapperTree, CountsPodsOfEachSet) {
  const views::AppWrapperFacts facts{
      .app = app("Running"),
      .pods = {pod("p0", "a-0"), pod("p1", "a-1"), pod("p2", "a-1")},
      .owners = {object("{kind: PyTorchJob, metadata: {name: t, namespace: n, uid: t1, "
                        "ownerReferences: [{kind: AppWrapper, name: a, uid: u, controller: "
                        "true}]}}")}};
  const Value component = appwrapper_tree(facts, {})["tree"]["children"][0];
  EXPECT_EQ(component["podSets"], *yaml::parse("[{expected: 1, seen: 1, name: a-0}, "
                                               "{expected: 3, seen: 2, name: a-1}]"));
  EXPECT_EQ(component["uid"].str(), "t1");
  EXPECT_EQ(component["children"].size(), 3U);
}

}  // namespace
}  // namespace athanor::console::appwrapper_rows_test
