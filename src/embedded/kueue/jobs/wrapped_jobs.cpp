// SPDX-License-Identifier: Apache-2.0
// JobSet, PyTorchJob, RayCluster and RayJob, as the lab's controllers run them.
#include <fmt/core.h>

#include <algorithm>

#include "api/builtin.hpp"
#include "embedded/kueue/jobs/adapter.hpp"
#include "embedded/kueue/jobs/names.hpp"
#include "kube/value/condition.hpp"

namespace athanor::kueue::jobs {
namespace {

std::int64_t number(const Value& value, std::int64_t absent = 1) {
  return value.is_integer() ? value.as_int() : absent;
}

Select of_owner(const Object& owner) {
  return {.index = "owner", .index_value = std::string(owner.uid())};
}

std::optional<Outcome> by_conditions(const Object& job, std::string_view success) {
  for (const auto& [type, succeeded] : {std::pair{success, true}, {"Failed", false}}) {
    const Value& condition = find_condition(job.status()["conditions"], type);
    if (condition["status"].as_string() == "True") {
      return Outcome{.succeeded = succeeded, .message = condition["message"].str()};
    }
  }
  return std::nullopt;
}

bool has_finished(const Object& pod) {
  const std::string_view phase = pod.status()["phase"].as_string();
  return phase == "Succeeded" || phase == "Failed";
}

bool has_living_pods(const View& view, const Object& job) {
  const std::vector<Object> pods = view.list(api::kPod, of_owner(job));
  return !std::ranges::all_of(pods, has_finished);
}

bool pods_are_ready(const View& view, const Object& job, std::int64_t wanted) {
  const std::vector<Object> pods = view.list(api::kPod, of_owner(job));
  return std::ranges::count_if(pods, [](const Object& pod) {
           return pod.status()["phase"].as_string() == "Succeeded" ||
                  condition_is(pod.status()["conditions"], "Ready", "True");
         }) >= wanted;
}

std::int64_t pods_in(const std::vector<PodSetPlace>& places) {
  std::int64_t count = 0;
  for (const PodSetPlace& place : places) {
    count += place.count;
  }
  return count;
}

// JobSet: a pod set for each replicated job.
std::vector<PodSetPlace> job_set_pods(const Object& set) {
  std::vector<PodSetPlace> places;
  const Value& jobs = set.spec()["replicatedJobs"];
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Value& spec = jobs[i]["template"]["spec"];
    const std::int64_t parallelism = number(spec["parallelism"]);
    const std::int64_t each = std::min(parallelism, number(spec["completions"], parallelism));
    places.push_back({.name = jobs[i]["name"].str(),
                      .pod_template = {"spec", "replicatedJobs", fmt::format("{}", i), "template",
                                       "spec", "template"},
                      .count = number(jobs[i]["replicas"]) * each});
  }
  return places;
}
// Returns the pods of complete replicas.
Value job_set_reclaimable(const Object& set) {
  Value list = Value::list();
  const std::vector<PodSetPlace> places = job_set_pods(set);
  const Value& replicated = set.spec()["replicatedJobs"];
  for (const Value& status : set.status()["replicatedJobsStatus"].items()) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::int64_t replicas = number(replicated[i]["replicas"]);
      const std::int64_t succeeded = status["succeeded"].as_int();
      if (status["name"].as_string() == places[i].name && succeeded > 0 && succeeded <= replicas) {
        list.push_back(Value::object(
            {{"name", places[i].name}, {"count", succeeded * (places[i].count / replicas)}}));
      }
    }
  }
  return list.empty() ? Value() : list;
}
std::optional<Outcome> job_set_outcome(const Object& set) {
  return by_conditions(set, "Completed");
}
bool job_set_active(const View& view, const Object& set) {
  const std::vector<Object> jobs = view.list(api::kJob, of_owner(set));
  return std::ranges::any_of(jobs, [](const Object& job) {
    return job.status()["active"].as_int() > 0 || job.status()["terminating"].as_int() > 0;
  });
}
bool job_set_ready(const View& view, const Object& set) {
  const std::vector<Object> jobs = view.list(api::kJob, of_owner(set));
  std::int64_t ready = 0;
  for (const Object& job : jobs) {
    ready += job.status()["ready"].as_int() + job.status()["succeeded"].as_int();
  }
  return ready >= pods_in(job_set_pods(set));
}

// PyTorchJob: a pod set for the master and one for the workers.
std::vector<PodSetPlace> pytorch_pods(const Object& job) {
  std::vector<PodSetPlace> places;
  for (const auto& [type, lower] : {std::pair{"Master", "master"}, {"Worker", "worker"}}) {
    const Value& replica = job.spec()["pytorchReplicaSpecs"][std::string_view(type)];
    if (replica.is_object()) {
      places.push_back({.name = lower,
                        .pod_template = {"spec", "pytorchReplicaSpecs", type, "template"},
                        .count = number(replica["replicas"])});
    }
  }
  return places;
}
std::optional<Outcome> pytorch_outcome(const Object& job) {
  return by_conditions(job, "Succeeded");
}
bool pytorch_ready(const View& view, const Object& job) {
  return pods_are_ready(view, job, pods_in(pytorch_pods(job)));
}

// A RayCluster's pods, of an object that has its spec at `root`.
std::vector<PodSetPlace> ray_pods(const Value& spec, const Place& root) {
  const auto below = [&](std::initializer_list<std::string> more) {
    Place place = root;
    place.insert(place.end(), more);
    return place;
  };
  std::vector<PodSetPlace> places{
      {.name = "head", .pod_template = below({"headGroupSpec", "template"}), .count = 1}};
  const Value& groups = spec["workerGroupSpecs"];
  for (std::size_t i = 0; i < groups.size(); ++i) {
    places.push_back({.name = groups[i]["groupName"].str(),
                      .pod_template = below({"workerGroupSpecs", fmt::format("{}", i), "template"}),
                      .count = number(groups[i]["replicas"]) * number(groups[i]["numOfHosts"])});
  }
  return places;
}
std::vector<PodSetPlace> ray_cluster_pods(const Object& cluster) {
  return ray_pods(cluster.spec(), {"spec"});
}
// It runs until it is deleted.
std::optional<Outcome> never(const Object& /*job*/) {
  return std::nullopt;
}
bool ray_cluster_ready(const View& /*view*/, const Object& cluster) {
  return cluster.status()["state"].as_string() == "ready";
}

std::vector<PodSetPlace> ray_job_pods(const Object& job) {
  std::vector<PodSetPlace> places =
      ray_pods(job.spec()["rayClusterSpec"], {"spec", "rayClusterSpec"});
  if (job.spec()["submitterPodTemplate"].is_object()) {
    places.push_back(
        {.name = "submitter", .pod_template = {"spec", "submitterPodTemplate"}, .count = 1});
  }
  return places;
}
std::optional<Outcome> ray_job_outcome(const Object& job) {
  const std::string_view state = job.status()["jobDeploymentStatus"].as_string();
  if (state != "Complete" && state != "Failed") {
    return std::nullopt;
  }
  return Outcome{.succeeded = job.status()["jobStatus"].as_string() == "SUCCEEDED",
                 .message = job.status()["message"].str()};
}
bool ray_job_active(const View& view, const Object& job) {
  const auto some = [&](const Kind& kind) { return !view.list(kind, of_owner(job)).empty(); };
  return some(kRayCluster) || some(api::kJob);
}
bool ray_job_ready(const View& view, const Object& job) {
  const std::vector<Object> clusters = view.list(kRayCluster, of_owner(job));
  return !clusters.empty() && clusters.front().status()["state"].as_string() == "ready";
}

constexpr std::string_view kSuspend[] = {"spec", "suspend"};
constexpr std::string_view kRunPolicy[] = {"spec", "runPolicy", "suspend"};
constexpr const Kind* kReadsJobs[] = {&api::kJob};
constexpr const Kind* kReadsPods[] = {&api::kPod};
constexpr const Kind* kReadsClusters[] = {&kRayCluster, &api::kJob};

}  // namespace

const Adapter& job_set() {
  static constexpr Adapter kAdapter{.kind = &kJobSet,
                                    .operator_name = "kueue-jobset",
                                    .framework = "jobset.x-k8s.io/jobset",
                                    .suspend = kSuspend,
                                    .pod_sets = job_set_pods,
                                    .outcome = job_set_outcome,
                                    .active = job_set_active,
                                    .ready = job_set_ready,
                                    .reclaimable = job_set_reclaimable,
                                    .reads = kReadsJobs};
  return kAdapter;
}

const Adapter& pytorch_job() {
  static constexpr Adapter kAdapter{.kind = &kPyTorchJob,
                                    .operator_name = "kueue-pytorchjob",
                                    .framework = "kubeflow.org/pytorchjob",
                                    .suspend = kRunPolicy,
                                    .pod_sets = pytorch_pods,
                                    .outcome = pytorch_outcome,
                                    .active = has_living_pods,
                                    .ready = pytorch_ready,
                                    .reads = kReadsPods};
  return kAdapter;
}

const Adapter& ray_cluster() {
  static constexpr Adapter kAdapter{.kind = &kRayCluster,
                                    .operator_name = "kueue-raycluster",
                                    .framework = "ray.io/raycluster",
                                    .suspend = kSuspend,
                                    .pod_sets = ray_cluster_pods,
                                    .outcome = never,
                                    .active = has_living_pods,
                                    .ready = ray_cluster_ready,
                                    .reads = kReadsPods};
  return kAdapter;
}

const Adapter& ray_job() {
  static constexpr Adapter kAdapter{.kind = &kRayJob,
                                    .operator_name = "kueue-rayjob",
                                    .framework = "ray.io/rayjob",
                                    .suspend = kSuspend,
                                    .pod_sets = ray_job_pods,
                                    .outcome = ray_job_outcome,
                                    .active = ray_job_active,
                                    .ready = ray_job_ready,
                                    .reads = kReadsClusters};
  return kAdapter;
}

std::span<const Adapter* const> adapters() {
  static const Adapter* const kAll[] = {&batch_job(), &job_set(), &pytorch_job(), &ray_cluster(),
                                        &ray_job()};
  return kAll;
}

}  // namespace athanor::kueue::jobs
