// SPDX-License-Identifier: Apache-2.0
// RayCluster: a head and groups of workers. RayJob: a RayCluster and the Job that submits to it.
#include <fmt/core.h>

#include "api/builtin.hpp"
#include "embedded/wrapped/kinds.hpp"
#include "embedded/wrapped/members.hpp"
#include "embedded/wrapped/operators.hpp"
#include "kube/value/condition.hpp"

namespace athanor::wrapped {
namespace {

Member ray_pod(const Object& cluster, const std::string& name, const Value& from, const char* type,
               const std::string& group) {
  return member_of(api::kPod, cluster, name, from,
                   {{"ray.io/cluster", std::string(cluster.name())},
                    {"ray.io/node-type", type},
                    {"ray.io/group", group}});
}

std::vector<Member> wanted_ray_pods(const Object& cluster) {
  std::vector<Member> pods{ray_pod(cluster, fmt::format("{}-head", cluster.name()),
                                   cluster.spec()["headGroupSpec"]["template"], "head",
                                   "headgroup")};
  for (const Value& group : cluster.spec()["workerGroupSpecs"].items()) {
    const std::string name = group["groupName"].str();
    const std::int64_t count = count_of(group["replicas"]) * count_of(group["numOfHosts"]);
    for (std::int64_t i = 0; i < count; ++i) {
      pods.push_back(ray_pod(cluster, fmt::format("{}-{}-worker-{}", cluster.name(), name, i),
                             group["template"], "worker", name));
    }
  }
  return pods;
}

Plan reconcile_cluster(const View& view, const Key& key, Instant now) {
  const auto cluster = view.get(kRayCluster, key);
  if (!cluster || cluster->deleting()) {
    return Plan::done();
  }
  const std::vector<Object> pods = present(view, api::kPod, *cluster);
  const bool suspended = cluster->spec()["suspend"].as_bool();
  const std::vector<Member> wanted = suspended ? std::vector<Member>{} : wanted_ray_pods(*cluster);
  const bool ready = tally(pods).running >= static_cast<std::int64_t>(wanted.size());
  Plan plan;
  Value status = Value::object({{"desiredWorkerReplicas", wanted.empty() ? 0 : wanted.size() - 1}});
  status.set("state", suspended ? Value("suspended") : ready ? Value("ready") : Value());
  write_status(kRayCluster, *cluster, {}, std::move(status), now, plan);
  keep(view, api::kPod, *cluster, wanted, pods, plan);
  return plan;
}

// Returns the pod of a job without one of its own. The entry point runs as the head does: by a
// command where the head has one, otherwise as its image decides, which may be to take time only.
Value default_submitter(const Object& job) {
  const Value& head =
      job.spec()["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["containers"][0];
  Value container = Value::object({{"name", "ray-job-submitter"}, {"image", head["image"]}});
  container.set(head.contains("command") ? "command" : "args",
                Value::list({"sh", "-c", job.spec()["entrypoint"]}));
  return Value::object(
      {{"spec", Value::object({{"restartPolicy", "Never"},
                               {"containers", Value::list({std::move(container)})}})}});
}

Member submitter(const Object& job) {
  Value from = job.spec()["submitterPodTemplate"];
  if (!from.is_object()) {
    from = default_submitter(job);
  }
  const Value spec = Value::object({{"backoffLimit", 2}, {"template", std::move(from)}});
  return member_of(api::kJob, job, std::string(job.name()), Value::object({{"spec", spec}}),
                   {{"ray.io/originated-from-cr-name", std::string(job.name())}});
}

Plan reconcile_job(const View& view, const Key& key, Instant now) {
  const auto job = view.get(kRayJob, key);
  if (!job || job->deleting()) {
    return Plan::done();
  }
  const std::string_view deployment = job->status()["jobDeploymentStatus"].as_string();
  const std::vector<Object> clusters = present(view, kRayCluster, *job);
  const std::vector<Object> jobs = present(view, api::kJob, *job);
  Plan plan;
  if (deployment == "Complete" || deployment == "Failed") {
    if (job->spec()["shutdownAfterJobFinishes"].as_bool()) {
      keep(view, kRayCluster, *job, {}, clusters, plan);
    }
    return plan;
  }
  if (job->spec()["suspend"].as_bool()) {
    write_status(kRayJob, *job, {}, Value::object({{"jobDeploymentStatus", "Suspended"}}), now,
                 plan);
    keep(view, kRayCluster, *job, {}, clusters, plan);
    keep(view, api::kJob, *job, {}, jobs, plan);
    return plan;
  }
  const Member cluster = member_of(kRayCluster, *job, fmt::format("{}-raycluster", job->name()),
                                   Value::object({{"spec", job->spec()["rayClusterSpec"]}}), {});
  keep(view, kRayCluster, *job, {cluster}, clusters, plan);
  const bool ready = !clusters.empty() && clusters.front().status()["state"].as_string() == "ready";
  Value status =
      Value::object({{"rayClusterName", cluster.name}, {"jobDeploymentStatus", "Initializing"}});
  if (ready || !jobs.empty()) {
    keep(view, api::kJob, *job, {submitter(*job)}, jobs, plan);
    status.set("jobDeploymentStatus", "Running");
    status.set("jobStatus", "RUNNING");
  }
  for (const Object& one : jobs) {
    const Value& conditions = one.status()["conditions"];
    if (condition_is(conditions, "Complete", "True")) {
      status.set("jobDeploymentStatus", "Complete");
      status.set("jobStatus", "SUCCEEDED");
    } else if (condition_is(conditions, "Failed", "True")) {
      status.set("jobDeploymentStatus", "Failed");
      status.set("jobStatus", "FAILED");
    }
  }
  write_status(kRayJob, *job, {}, std::move(status), now, plan);
  return plan;
}

}  // namespace

const Operator& ray_cluster_operator() {
  static const Kind* const kReads[] = {&kRayCluster, &api::kPod};
  static const Kind* const kWrites[] = {&kRayCluster, &api::kPod, &api::kEvent};
  static const Access kAccess[] = {{&kRayCluster, "patch", "status"},
                                   {&kRayCluster, "update", "finalizers"},
                                   {&api::kPod, "create delete"},
                                   {&api::kEvent, "create patch"}};
  static const Operator kOperator{.name = "wrapped-raycluster",
                                  .primary = &kRayCluster,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_cluster,
                                  .access = kAccess};
  return kOperator;
}

const Operator& ray_job_operator() {
  static const Kind* const kReads[] = {&kRayJob, &kRayCluster, &api::kJob};
  static const Kind* const kWrites[] = {&kRayJob, &kRayCluster, &api::kJob, &api::kEvent};
  static const Access kAccess[] = {{&kRayJob, "patch", "status"},
                                   {&kRayJob, "update", "finalizers"},
                                   {&kRayCluster, "create delete"},
                                   {&api::kJob, "create delete"},
                                   {&api::kEvent, "create patch"}};
  static const Operator kOperator{.name = "wrapped-rayjob",
                                  .primary = &kRayJob,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_job,
                                  .access = kAccess};
  return kOperator;
}

std::span<const Operator* const> operators() {
  static const Operator* const kAll[] = {&job_set_operator(), &pytorch_job_operator(),
                                         &ray_cluster_operator(), &ray_job_operator(),
                                         &leader_worker_set_operator()};
  return kAll;
}

}  // namespace athanor::wrapped
