// SPDX-License-Identifier: Apache-2.0
// Inference of PodSets, kind by kind.
#include "systems/appwrapper/pod_sets/pod_sets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "kube/text/json.hpp"
#include "systems/appwrapper/model/names.hpp"
#include "systems/appwrapper/pod_sets/template_path.hpp"

namespace athanor::appwrapper {
namespace {

using Annotations = std::map<std::string, std::string>;

constexpr std::string_view kCompletionIndex = "batch.kubernetes.io/job-completion-index";
constexpr std::string_view kJobIndex = "jobset.sigs.k8s.io/job-index";
constexpr std::string_view kReplicaIndex = "training.kubeflow.org/replica-index";

Error wrong(std::string message) {
  return {.code = 422, .reason = "Invalid", .message = std::move(message)};
}

// Replicas are an int32; products are cut there.
std::int32_t clamped(std::int64_t count) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(
      count, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()));
}

PodSet pod_set(std::string path, std::int64_t replicas, Annotations annotations = {}) {
  return {.path = std::move(path),
          .replicas = clamped(replicas),
          .annotations = std::move(annotations)};
}

// A count that must be an integer where it is present; absent: 1.
Result<std::int64_t> strict_count(const Value& value, const std::string& path) {
  if (value.is_null()) {
    return 1;
  }
  if (!value.is_integer()) {
    return wrong(fmt::format("at path position '{}' non-int value {}", path,
                             value.is_string() ? value.str() : json::print(value)));
  }
  return value.as_int();
}

// A count of which anything but an integer counts as absent.
std::int64_t loose_count(const Value& value, std::int64_t absent = 1) {
  return value.is_integer() ? value.as_int() : absent;
}

// Pods of a Job at a time: never more than it has to complete.
std::int64_t job_pods(const Value& job_spec) {
  const std::int64_t parallelism = loose_count(job_spec["parallelism"]);
  return std::min(parallelism, loose_count(job_spec["completions"], parallelism));
}

Result<Inferred> of_pod(const Value& /*object*/) {
  return Inferred{.pod_sets = {pod_set("template", 1)}};
}

Result<Inferred> of_deployment(const Value& object) {
  Inferred inferred;
  if (object["spec"].contains("template")) {
    ATHANOR_TRY(const std::int64_t replicas,
                strict_count(object["spec"]["replicas"], "template.spec.replicas"));
    inferred.pod_sets.push_back(pod_set("template.spec.template", replicas));
  }
  return inferred;
}

Result<Inferred> of_job(const Value& object) {
  return Inferred{
      .pod_sets = {pod_set("template.spec.template", job_pods(object["spec"]),
                           {{std::string(name::kPodIndexLabel), std::string(kCompletionIndex)}})}};
}

Result<Inferred> of_job_set(const Value& object) {
  Inferred inferred;
  const Value& jobs = object["spec"]["replicatedJobs"];
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!jobs[i].contains("template")) {
      continue;
    }
    const std::int64_t replicas = loose_count(jobs[i]["replicas"]);
    inferred.pod_sets.push_back(
        pod_set(fmt::format("template.spec.replicatedJobs[{}].template.spec.template", i),
                replicas * job_pods(jobs[i]["template"]["spec"]),
                {{std::string(name::kPodIndexLabel), std::string(kCompletionIndex)},
                 {std::string(name::kSubGroupIndexLabel), std::string(kJobIndex)},
                 {std::string(name::kSubGroupCount), fmt::format("{}", replicas)}}));
  }
  return inferred;
}

// Jobs of the training operator: one map of replica types, in the API's order.
Result<Inferred> of_training(const Value& object, std::string_view specs,
                             std::initializer_list<std::string_view> types,
                             const Annotations& annotations) {
  Inferred inferred;
  for (const std::string_view type : types) {
    const Value& replica = object["spec"][specs][type];
    if (!replica.contains("template")) {
      continue;
    }
    const std::string base = fmt::format("template.spec.{}.{}", specs, type);
    ATHANOR_TRY(const std::int64_t replicas, strict_count(replica["replicas"], base + ".replicas"));
    inferred.pod_sets.push_back(pod_set(base + ".template", replicas, annotations));
  }
  return inferred;
}

Result<Inferred> of_pytorch(const Value& object) {
  return of_training(object, "pytorchReplicaSpecs", {"Master", "Worker"},
                     {{std::string(name::kPodIndexLabel), std::string(kReplicaIndex)}});
}

// A Ray cluster's spec below `base`.
Result<Inferred> of_ray(const Value& spec, const std::string& base) {
  Inferred inferred;
  inferred.pod_sets.push_back(pod_set(base + ".headGroupSpec.template", 1));
  inferred.other_counts.push_back(1);
  const Value& groups = spec["workerGroupSpecs"];
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (!groups[i].contains("template")) {
      continue;
    }
    const std::string group = fmt::format("{}.workerGroupSpecs[{}]", base, i);
    ATHANOR_TRY(const std::int64_t replicas,
                strict_count(groups[i]["replicas"], group + ".replicas"));
    const std::int64_t hosts = std::max<std::int64_t>(1, loose_count(groups[i]["numOfHosts"]));
    inferred.pod_sets.push_back(pod_set(group + ".template", replicas * hosts));
    inferred.other_counts.push_back(replicas);
  }
  return inferred;
}

Result<Inferred> of_ray_cluster(const Value& object) {
  return of_ray(object["spec"], "template.spec");
}

Result<Inferred> of_ray_job(const Value& object) {
  return of_ray(object["spec"]["rayClusterSpec"], "template.spec.rayClusterSpec");
}

// ---- B-6: further kinds

Result<Inferred> of_tensorflow(const Value& object) {
  return of_training(object, "tfReplicaSpecs", {"Chief", "Master", "PS", "Worker", "Evaluator"},
                     {});
}
Result<Inferred> of_xgboost(const Value& object) {
  return of_training(object, "xgbReplicaSpecs", {"Master", "Worker"}, {});
}
Result<Inferred> of_paddle(const Value& object) {
  return of_training(object, "paddleReplicaSpecs", {"Master", "Worker"}, {});
}
Result<Inferred> of_jax(const Value& object) {
  return of_training(object, "jaxReplicaSpecs", {"Worker"}, {});
}
Result<Inferred> of_mpi(const Value& object) {
  return of_training(object, "mpiReplicaSpecs", {"Launcher", "Worker"}, {});
}

// Leaders and workers of each replica; a leader without a template of its own is a worker.
Result<Inferred> of_leader_worker_set(const Value& object) {
  const Value& spec = object["spec"];
  const Value& group = spec["leaderWorkerTemplate"];
  const std::int64_t replicas = loose_count(spec["replicas"]);
  const std::int64_t size = loose_count(group["size"]);
  const std::string base = "template.spec.leaderWorkerTemplate";
  Inferred inferred;
  const bool leads = group.contains("leaderTemplate");
  if (leads) {
    inferred.pod_sets.push_back(pod_set(base + ".leaderTemplate", replicas));
  }
  const std::int64_t workers = replicas * (leads ? size - 1 : size);
  if (group.contains("workerTemplate") && workers > 0) {
    inferred.pod_sets.push_back(pod_set(base + ".workerTemplate", workers));
  }
  return inferred;
}

struct Rule {
  std::string_view api_version{}, kind{};
  Result<Inferred> (*infer)(const Value& object) = nullptr;
  bool extended = false;  // B-6
};
constexpr Rule kRules[] = {
    {"v1", "Pod", of_pod},
    {"apps/v1", "Deployment", of_deployment},
    {"apps/v1", "StatefulSet", of_deployment},
    {"batch/v1", "Job", of_job},
    {"jobset.x-k8s.io/v1alpha2", "JobSet", of_job_set},
    {"kubeflow.org/v1", "PyTorchJob", of_pytorch},
    {"ray.io/v1", "RayCluster", of_ray_cluster},
    {"ray.io/v1", "RayJob", of_ray_job},
    {"apps/v1", "ReplicaSet", of_deployment, true},
    {"kubeflow.org/v1", "TFJob", of_tensorflow, true},
    {"kubeflow.org/v1", "XGBoostJob", of_xgboost, true},
    {"kubeflow.org/v1", "PaddleJob", of_paddle, true},
    {"kubeflow.org/v1", "JAXJob", of_jax, true},
    {"kubeflow.org/v2beta1", "MPIJob", of_mpi, true},
    {"leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", of_leader_worker_set, true},
};

Result<void> check_paths(const Value& object, const Inferred& inferred) {
  for (const PodSet& one : inferred.pod_sets) {
    const auto found = pod_template_at(object, one.path);
    if (!found.ok()) {
      return wrong(fmt::format("{} does not refer to a v1.PodSpecTemplate: {}", one.path,
                               found.error().message));
    }
  }
  return {};
}

}  // namespace

Result<Inferred> infer_pod_sets(const Value& component_template) {
  const auto* const rule = std::ranges::find_if(kRules, [&](const Rule& one) {
    return component_template["apiVersion"].as_string() == one.api_version &&
           component_template["kind"].as_string() == one.kind;
  });
  if (rule == std::end(kRules)) {
    return Inferred{};
  }
  auto inferred = rule->infer(component_template);
  if (!rule->extended) {
    if (inferred.ok()) {
      ATHANOR_TRY_VOID(check_paths(component_template, *inferred));
    }
    return inferred;
  }
  // Extended inference fills gaps and rejects nothing.
  if (!inferred.ok() || !check_paths(component_template, *inferred).ok()) {
    return Inferred{.binding = false};
  }
  inferred->binding = false;
  return inferred;
}

Result<void> compare_pod_sets(const std::vector<PodSet>& declared, const Inferred& inferred) {
  std::set<std::string_view> paths;
  for (const PodSet& one : declared) {
    if (!paths.insert(one.path).second) {
      return wrong(fmt::format("multiple DeclaredPodSets with path '{}'", one.path));
    }
  }
  if (!inferred.binding || inferred.pod_sets.empty()) {
    return {};
  }
  if (declared.size() != inferred.pod_sets.size()) {
    return wrong(fmt::format("DeclaredPodSet count {} differs from inferred count {}",
                             declared.size(), inferred.pod_sets.size()));
  }
  for (std::size_t i = 0; i < inferred.pod_sets.size(); ++i) {
    const PodSet& wanted = inferred.pod_sets[i];
    const auto found = std::ranges::find(declared, wanted.path, &PodSet::path);
    if (found == declared.end()) {
      return wrong(fmt::format("PodSet with path '{}' is missing", wanted.path));
    }
    const bool accepted =
        found->count() == wanted.count() ||
        (i < inferred.other_counts.size() && found->count() == inferred.other_counts[i]);
    if (!accepted) {
      return wrong(fmt::format(
          "replica count {} differs from inferred count {} for PodSet at path position '{}'",
          found->count(), wanted.count(), wanted.path));
    }
  }
  return {};
}

std::vector<PodSet> definitive_pod_sets(const Component& component) {
  if (!component.pod_sets.empty()) {
    return component.pod_sets;
  }
  auto inferred = infer_pod_sets(component.template_value);
  return inferred.ok() ? std::move(inferred->pod_sets) : std::vector<PodSet>{};
}

std::vector<std::vector<PodSet>> pod_sets_of(const AppWrapper& app) {
  std::vector<std::vector<PodSet>> all;
  const bool known = app.status.component_status.size() == app.spec.components.size();
  for (std::size_t i = 0; i < app.spec.components.size(); ++i) {
    all.push_back(known ? app.status.component_status[i].pod_sets
                        : definitive_pod_sets(app.spec.components[i]));
  }
  return all;
}

std::int64_t expected_pods(const std::vector<std::vector<PodSet>>& pod_sets) {
  std::int64_t expected = 0;
  for (const auto& component : pod_sets) {
    for (const PodSet& one : component) {
      expected += one.count();
    }
  }
  return expected;
}

}  // namespace athanor::appwrapper
