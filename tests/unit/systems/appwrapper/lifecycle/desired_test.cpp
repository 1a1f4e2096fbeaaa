// SPDX-License-Identifier: Apache-2.0
// Created objects (docs/spec/appwrapper.md 5.4, 5.5, 7.2).
#include "systems/appwrapper/lifecycle/desired.hpp"

#include <gtest/gtest.h>

#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "systems/appwrapper/pod_sets/pod_sets.hpp"

namespace athanor::appwrapper::desired_test {
namespace {

Value parsed(const std::string& text) {
  const auto value = yaml::parse(text);
  EXPECT_TRUE(value.ok()) << text;
  return value.value_or(Value());
}

Result<Value> made(const std::string& component, const char* config = "{}") {
  const AppWrapper app = api::read<AppWrapper>(
      Object(parsed("{metadata: {name: aw, namespace: team, uid: u1}, spec: {components: [" +
                    component + "]}}")));
  return desired_object(app, 0, definitive_pod_sets(app.spec.components[0]),
                        *read_settings(*yaml::parse(config)));
}

std::string pod(const std::string& metadata, const std::string& spec = "containers: []") {
  return "{apiVersion: v1, kind: Pod, metadata: {name: p" + metadata + "}, spec: {" + spec + "}}";
}

TEST(DesiredObject, CarriesNamesLabelsAndAdmissionInfo) {
  const auto object = made(
      R"({template: )" + pod(", labels: {a: b}", "nodeSelector: {x: v}, tolerations: [{key: t}]") +
          R"(, podSetInfos: [{nodeSelector: {gpu: a100}, labels: {l: m}, annotations: {an: o},
                              tolerations: [{key: s}], schedulingGates: [{name: g}]}]})",
      "{schedulerName: topo}");
  ASSERT_TRUE(object.ok()) << object.error().message;
  EXPECT_EQ(*object, parsed(R"({apiVersion: v1, kind: Pod, metadata: {name: p, namespace: team,
    labels: {a: b, l: m, workload.codeflare.dev/appwrapper: aw}, annotations: {an: o},
    ownerReferences: [{apiVersion: workload.codeflare.dev/v1beta2, kind: AppWrapper, name: aw, uid: u1,
      controller: true, blockOwnerDeletion: true}]},
    spec: {nodeSelector: {x: v, gpu: a100}, tolerations: [{key: t}, {key: s}], schedulingGates: [{name: g}],
      schedulerName: topo}})"))
      << json::print(*object);
}

TEST(DesiredObject, RefusesConflicts) {
  const auto error = [](const std::string& component) { return made(component).error().message; };
  EXPECT_EQ(error("{template: " + pod(", namespace: other") + "}"),
            "component namespace \"other\" is different from appwrapper namespace \"team\"");
  EXPECT_EQ(
      error("{template: " + pod(", labels: {workload.codeflare.dev/appwrapper: other}") + "}"),
      "conflict updating labels: conflict for key=workload.codeflare.dev/appwrapper, "
      "value1=other, value2=aw");
  EXPECT_EQ(error("{template: " + pod("", "nodeSelector: {x: v}") +
                  ", podSetInfos: [{nodeSelector: {x: w}}]}"),
            "conflict updating nodeSelector: conflict for key=x, value1=v, value2=w");
  EXPECT_EQ(error("{template: " + pod(", annotations: {x: v}") +
                  ", podSetInfos: [{annotations: {x: w}}]}"),
            "conflict updating annotations: conflict for key=x, value1=v, value2=w");
  EXPECT_FALSE(made("{template: " +
                    pod(", ownerReferences: [{apiVersion: v1, kind: Pod, name: o, uid: u, "
                        "controller: true}]") +
                    "}")
                   .ok());
}

TEST(DesiredObject, KeepsAwayFromUnhealthyGpus) {
  const std::string gpu = "containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]";
  const auto object = made("{template: " + pod("", gpu) + "}");
  ASSERT_TRUE(object.ok());
  EXPECT_EQ((*object)["spec"]["affinity"], parsed(R"({nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [
      {key: autopilot.ibm.com/gpuhealth, operator: NotIn, values: [TESTING, EVICT]}]}]},
    preferredDuringSchedulingIgnoredDuringExecution: [{weight: 50, preference: {matchExpressions: [
      {key: autopilot.ibm.com/gpuhealth, operator: NotIn, values: [WARN]}]}}]}})"));
  const std::string terms =
      gpu + R"(, affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution:
    {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}, {matchFields: []}]}}})";
  const auto merged = made("{template: " + pod("", terms) + "}");
  ASSERT_TRUE(merged.ok());
  const Value& list =
      merged->at({"spec", "affinity", "nodeAffinity",
                  "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"});
  EXPECT_EQ(list[0]["matchExpressions"].size(), 2U);
  EXPECT_EQ(list[1]["matchExpressions"].size(), 1U);
  EXPECT_FALSE((*made("{template: " + pod("") + "}"))["spec"].contains("affinity"));
  EXPECT_FALSE((*made("{template: " + pod("", gpu) + "}", "{autopilot: null}"))["spec"].contains(
      "affinity"));
}

}  // namespace
}  // namespace athanor::appwrapper::desired_test
