// SPDX-License-Identifier: Apache-2.0
// PyTorchJob: pods of a master and workers, suspend, and their outcome.
#include <fmt/core.h>

#include <algorithm>

#include "api/builtin.hpp"
#include "embedded/wrapped/kinds.hpp"
#include "embedded/wrapped/members.hpp"
#include "embedded/wrapped/operators.hpp"
#include "kube/value/condition.hpp"

namespace athanor::wrapped {
namespace {

constexpr std::pair<std::string_view, std::string_view> kTypes[] = {{"Master", "master"},
                                                                    {"Worker", "worker"}};

std::vector<Member> wanted_pods(const Object& job) {
  std::vector<Member> pods;
  for (const auto& [type, lower] : kTypes) {
    const Value& replica = job.spec()["pytorchReplicaSpecs"][type];
    if (!replica.is_object()) {
      continue;
    }
    const std::string restart = replica["restartPolicy"].str();
    for (std::int64_t i = 0; i < count_of(replica["replicas"]); ++i) {
      Member pod = member_of(api::kPod, job, fmt::format("{}-{}-{}", job.name(), lower, i),
                             replica["template"],
                             {{"training.kubeflow.org/job-name", std::string(job.name())},
                              {"training.kubeflow.org/replica-type", std::string(lower)},
                              {"training.kubeflow.org/replica-index", fmt::format("{}", i)}});
      // ExitCode is decided on by the operator, not by the kubelet.
      pod.object.member("spec").set("restartPolicy",
                                    restart.empty() || restart == "ExitCode" ? "Never" : restart);
      pods.push_back(std::move(pod));
    }
  }
  return pods;
}

// The master decides; without one all workers.
bool job_succeeded(const Object& job, const std::vector<Object>& pods, std::size_t wanted) {
  if (job.spec()["pytorchReplicaSpecs"]["Master"].is_object()) {
    return std::ranges::any_of(pods, [](const Object& pod) {
      return pod.label("training.kubeflow.org/replica-type") == "master" &&
             pod.status()["phase"].as_string() == "Succeeded";
    });
  }
  return wanted > 0 && tally(pods).succeeded >= static_cast<std::int64_t>(wanted);
}

Plan reconcile_pytorch_job(const View& view, const Key& key, Instant now) {
  const auto job = view.get(kPyTorchJob, key);
  const auto says = [&](std::string_view type) {
    return condition_is(job->status()["conditions"], type, "True");
  };
  if (!job || job->deleting() || says("Succeeded") || says("Failed")) {
    return Plan::done();
  }
  const std::vector<Object> pods = present(view, api::kPod, *job);
  const bool suspended = job->spec()["runPolicy"]["suspend"].as_bool();
  const std::vector<Member> wanted = suspended ? std::vector<Member>{} : wanted_pods(*job);
  Plan plan;
  std::vector<Mark> marks{{.type = "Created",
                           .reason = "PyTorchJobCreated",
                           .message = fmt::format("PyTorchJob {} is created.", job->name())}};
  const Tally counts = tally(pods);
  if (suspended) {
    marks.push_back({.type = "Suspended", .reason = "PyTorchJobSuspended"});
    marks.push_back({.type = "Running", .reason = "PyTorchJobSuspended", .truth = false});
  } else if (counts.failed > 0) {
    marks.push_back({.type = "Running", .reason = "PyTorchJobFailed", .truth = false});
    marks.push_back({.type = "Failed",
                     .reason = "PyTorchJobFailed",
                     .message = fmt::format("PyTorchJob {} is failed because {} replica(s) failed.",
                                            job->name(), counts.failed)});
  } else if (job_succeeded(*job, pods, wanted.size())) {
    marks.push_back({.type = "Running", .reason = "PyTorchJobSucceeded", .truth = false});
    marks.push_back(
        {.type = "Succeeded",
         .reason = "PyTorchJobSucceeded",
         .message = fmt::format("PyTorchJob {} is successfully completed.", job->name())});
  } else if (counts.running > 0) {
    marks.push_back({.type = "Suspended", .reason = "PyTorchJobResumed", .truth = false});
    marks.push_back({.type = "Running",
                     .reason = "PyTorchJobRunning",
                     .message = fmt::format("PyTorchJob {} is running.", job->name())});
  }
  write_status(kPyTorchJob, *job, marks, Value::object(), now, plan);
  keep(view, api::kPod, *job, wanted, pods, plan);
  return plan;
}

}  // namespace

const Operator& pytorch_job_operator() {
  static const Kind* const kReads[] = {&kPyTorchJob, &api::kPod};
  static const Kind* const kWrites[] = {&kPyTorchJob, &api::kPod, &api::kEvent};
  static const Access kAccess[] = {{&kPyTorchJob, "patch", "status"},
                                   {&kPyTorchJob, "update", "finalizers"},
                                   {&api::kPod, "create delete"},
                                   {&api::kEvent, "create patch"}};
  static const Operator kOperator{.name = "wrapped-pytorchjob",
                                  .primary = &kPyTorchJob,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_pytorch_job,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::wrapped
