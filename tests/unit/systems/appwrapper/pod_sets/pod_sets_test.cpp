// SPDX-License-Identifier: Apache-2.0
// Inference of PodSets, and declared against inferred ones (docs/spec/appwrapper.md 2.3, 2.5, 12.4,
// 12.5, B-6).
#include "systems/appwrapper/pod_sets/pod_sets.hpp"

#include <gtest/gtest.h>

#include "kube/text/yaml.hpp"
#include "systems/appwrapper/model/names.hpp"

namespace athanor::appwrapper::pod_sets_test {
namespace {

constexpr const char* kPod = "{spec: {containers: [{name: c, image: i}]}}";

// "path count, path count", or the error.
std::string inferred(std::string text) {
  for (std::size_t at = text.find("POD"); at != std::string::npos; at = text.find("POD")) {
    text.replace(at, 3, kPod);
  }
  const auto value = yaml::parse(text);
  EXPECT_TRUE(value.ok()) << text;
  const auto found = infer_pod_sets(*value);
  if (!found.ok()) {
    return found.error().message;
  }
  std::string result;
  for (const PodSet& one : found->pod_sets) {
    result += (result.empty() ? "" : ", ") + one.path + " " + std::to_string(one.count());
  }
  return result;
}

struct Case {
  const char* name;
  const char* object;
  const char* expected;
};
class Inference : public testing::TestWithParam<Case> {};
TEST_P(Inference, OfAKind) {
  EXPECT_EQ(inferred(GetParam().object), GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(
    Kinds, Inference,
    testing::Values(
        Case{"Pod", "{apiVersion: v1, kind: Pod, spec: {containers: []}}", "template 1"},
        Case{"Deployment",
             "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3, template: POD}}",
             "template.spec.template 3"},
        Case{"DeploymentOfOne", "{apiVersion: apps/v1, kind: Deployment, spec: {template: POD}}",
             "template.spec.template 1"},
        Case{"DeploymentWithout", "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3}}",
             ""},
        Case{"DeploymentOfText",
             "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: three, template: POD}}",
             "at path position 'template.spec.replicas' non-int value three"},
        Case{"StatefulSet",
             "{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 2, template: POD}}",
             "template.spec.template 2"},
        Case{"Job",
             "{apiVersion: batch/v1, kind: Job, spec: {parallelism: 2, completions: 4, template: "
             "POD}}",
             "template.spec.template 2"},
        Case{"JobCompletions",
             "{apiVersion: batch/v1, kind: Job, spec: {parallelism: 8, completions: 4, template: "
             "POD}}",
             "template.spec.template 4"},
        Case{"JobOfText",
             "{apiVersion: batch/v1, kind: Job, spec: {parallelism: x, completions: y, template: "
             "POD}}",
             "template.spec.template 1"},
        Case{"JobWithout", "{apiVersion: batch/v1, kind: Job, spec: {parallelism: 2}}",
             "template.spec.template does not refer to a v1.PodSpecTemplate: at path position "
             "'template.spec.' missing field 'template'"},
        Case{"JobSet",
             R"({apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, spec: {replicatedJobs: [
               {name: workers, replicas: 2, template: {spec: {parallelism: 2, completions: 2, template: POD}}},
               {name: none}, {name: driver, template: {spec: {parallelism: 1, completions: 1, template: POD}}}]}})",
             "template.spec.replicatedJobs[0].template.spec.template 4, "
             "template.spec.replicatedJobs[2].template.spec.template 1"},
        Case{"PyTorchJob",
             R"({apiVersion: kubeflow.org/v1, kind: PyTorchJob, spec: {pytorchReplicaSpecs: {
               Worker: {replicas: 3, template: POD}, Master: {template: POD}}}})",
             "template.spec.pytorchReplicaSpecs.Master.template 1, "
             "template.spec.pytorchReplicaSpecs.Worker.template 3"},
        Case{"PyTorchWorkers",
             R"({apiVersion: kubeflow.org/v1, kind: PyTorchJob, spec: {pytorchReplicaSpecs: {
               Worker: {replicas: 2, template: POD}}}})",
             "template.spec.pytorchReplicaSpecs.Worker.template 2"},
        Case{
            "RayCluster",
            R"({apiVersion: ray.io/v1, kind: RayCluster, spec: {headGroupSpec: {template: POD},
               workerGroupSpecs: [{replicas: 7, template: POD}]}})",
            "template.spec.headGroupSpec.template 1, template.spec.workerGroupSpecs[0].template 7"},
        Case{
            "RayHosts",
            R"({apiVersion: ray.io/v1, kind: RayCluster, spec: {headGroupSpec: {template: POD},
               workerGroupSpecs: [{replicas: 2, numOfHosts: 4, template: POD}]}})",
            "template.spec.headGroupSpec.template 1, template.spec.workerGroupSpecs[0].template 8"},
        Case{
            "RayJobWithout", "{apiVersion: ray.io/v1, kind: RayJob, spec: {}}",
            "template.spec.rayClusterSpec.headGroupSpec.template does not refer to a "
            "v1.PodSpecTemplate: at path position 'template.spec.' missing field 'rayClusterSpec'"},
        Case{"OtherVersion", "{apiVersion: batch/v1beta1, kind: Job, spec: {template: POD}}", ""},
        Case{"Service", "{apiVersion: v1, kind: Service, spec: {ports: []}}", ""},
        Case{"UnknownMember", "{apiVersion: v1, kind: Pod, spec: {foo: 1}}",
             "template does not refer to a v1.PodSpecTemplate: content at template.spec not "
             "parseable as "
             "a v1.PodSpec: strict decoding error: unknown field \"foo\""},
        Case{"ReplicaSet",
             "{apiVersion: apps/v1, kind: ReplicaSet, spec: {replicas: 2, template: POD}}",
             "template.spec.template 2"},
        Case{"ReplicaSetOfText",
             "{apiVersion: apps/v1, kind: ReplicaSet, spec: {replicas: two, template: POD}}", ""},
        Case{"TFJob", R"({apiVersion: kubeflow.org/v1, kind: TFJob, spec: {tfReplicaSpecs: {
               Worker: {replicas: 4, template: POD}, PS: {replicas: 2, template: POD}, Chief: {template: POD}}}})",
             "template.spec.tfReplicaSpecs.Chief.template 1, "
             "template.spec.tfReplicaSpecs.PS.template 2, "
             "template.spec.tfReplicaSpecs.Worker.template 4"},
        Case{"MPIJob", R"({apiVersion: kubeflow.org/v2beta1, kind: MPIJob, spec: {mpiReplicaSpecs: {
               Worker: {replicas: 4, template: POD}, Launcher: {template: POD}}}})",
             "template.spec.mpiReplicaSpecs.Launcher.template 1, "
             "template.spec.mpiReplicaSpecs.Worker.template 4"},
        Case{"LeaderWorkerSet",
             R"({apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, spec: {replicas: 2,
               leaderWorkerTemplate: {size: 3, leaderTemplate: POD, workerTemplate: POD}}})",
             "template.spec.leaderWorkerTemplate.leaderTemplate 2, "
             "template.spec.leaderWorkerTemplate.workerTemplate 4"},
        Case{"LeaderlessSet",
             R"({apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, spec: {replicas: 2,
               leaderWorkerTemplate: {size: 3, workerTemplate: POD}}})",
             "template.spec.leaderWorkerTemplate.workerTemplate 6"},
        Case{"LeadersAlone",
             R"({apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, spec: {
               leaderWorkerTemplate: {leaderTemplate: POD, workerTemplate: POD}}})",
             "template.spec.leaderWorkerTemplate.leaderTemplate 1"}),
    [](const auto& row) { return row.param.name; });

TEST(Inference, AddsTopologyHintsOfJobSets) {
  const auto found = infer_pod_sets(*yaml::parse(
      R"({apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, spec: {replicatedJobs: [{replicas: 2,
          template: {spec: {template: {spec: {containers: []}}}}}]}})"));
  ASSERT_TRUE(found.ok());
  const auto& annotations = found->pod_sets.at(0).annotations;
  EXPECT_EQ(annotations.at(std::string(name::kPodIndexLabel)),
            "batch.kubernetes.io/job-completion-index");
  EXPECT_EQ(annotations.at(std::string(name::kSubGroupIndexLabel)), "jobset.sigs.k8s.io/job-index");
  EXPECT_EQ(annotations.at(std::string(name::kSubGroupCount)), "2");
}

std::string compared(const char* object, std::vector<PodSet> declared) {
  std::string text = object;
  for (std::size_t at = text.find("POD"); at != std::string::npos; at = text.find("POD")) {
    text.replace(at, 3, kPod);
  }
  const auto found = infer_pod_sets(*yaml::parse(text));
  EXPECT_TRUE(found.ok());
  const auto same = compare_pod_sets(declared, *found);
  return same.ok() ? "" : same.error().message;
}
constexpr const char* kDeployment =
    "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2, template: POD}}";

TEST(Declared, MustMatchInferredOnes) {
  const PodSet good{.path = "template.spec.template", .replicas = 2};
  const PodSet other{.path = "template.spec.other", .replicas = 2};
  EXPECT_EQ(compared(kDeployment, {good}), "");
  EXPECT_EQ(compared(kDeployment, {good, good}),
            "multiple DeclaredPodSets with path 'template.spec.template'");
  EXPECT_EQ(compared(kDeployment, {good, other}),
            "DeclaredPodSet count 2 differs from inferred count 1");
  EXPECT_EQ(compared(kDeployment, {other}), "PodSet with path 'template.spec.template' is missing");
  EXPECT_EQ(compared(kDeployment, {{.path = good.path, .replicas = 3}}),
            "replica count 3 differs from inferred count 2 for PodSet at path position "
            "'template.spec.template'");
  EXPECT_EQ(compared(kDeployment, {{.path = good.path}}),
            "replica count 1 differs from inferred count 2 for PodSet at path position "
            "'template.spec.template'");
}

TEST(Declared, AreTakenUnchangedWhereInferenceIsAnExtension) {
  EXPECT_EQ(compared("{apiVersion: apps/v1, kind: ReplicaSet, spec: {replicas: 2, template: POD}}",
                     {{.path = "template.spec.template", .replicas = 5}}),
            "");
  const char* ray =
      R"({apiVersion: ray.io/v1, kind: RayCluster, spec: {headGroupSpec: {template: POD},
      workerGroupSpecs: [{replicas: 2, numOfHosts: 4, template: POD}]}})";
  const PodSet head{.path = "template.spec.headGroupSpec.template"};
  const std::string worker = "template.spec.workerGroupSpecs[0].template";
  EXPECT_EQ(compared(ray, {head, {.path = worker, .replicas = 2}}), "");
  EXPECT_EQ(compared(ray, {head, {.path = worker, .replicas = 8}}), "");
  EXPECT_NE(compared(ray, {head, {.path = worker, .replicas = 4}}), "");
}

}  // namespace
}  // namespace athanor::appwrapper::pod_sets_test
