// SPDX-License-Identifier: Apache-2.0
// PyTorchJob: pods of a master and workers with a Service each and the variables of torchrun,
// suspend, and their outcome.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "api/builtin.hpp"
#include "embedded/wrapped/kinds.hpp"
#include "embedded/wrapped/members.hpp"
#include "embedded/wrapped/operators.hpp"
#include "embedded/wrapped/peers.hpp"
#include "kube/value/condition.hpp"

namespace athanor::wrapped {
namespace {

constexpr std::pair<std::string_view, std::string_view> kTypes[] = {{"Master", "master"},
                                                                    {"Worker", "worker"}};

constexpr std::string_view kPortName = "pytorchjob-port";
constexpr std::int64_t kDefaultPort = 23456;

const Value& replica_of(const Object& job, std::string_view type) {
  return job.spec()["pytorchReplicaSpecs"][type];
}

// Returns the port of this name in the container `pytorch`, else upstream's default.
std::int64_t port_of(const Value& replica) {
  for (const Value& container : replica["template"]["spec"]["containers"].items()) {
    for (const Value& port : container["ports"].items()) {
      if (container["name"].as_string() == "pytorch" && port["name"].as_string() == kPortName) {
        return count_of(port["containerPort"], kDefaultPort);
      }
    }
  }
  return kDefaultPort;
}

std::int64_t members_of(const Object& job) {
  std::int64_t sum = 0;
  for (const auto& [type, lower] : kTypes) {
    sum += replica_of(job, type).is_object() ? count_of(replica_of(job, type)["replicas"]) : 0;
  }
  return sum;
}

// Returns spec.nprocPerNode as a number; words such as auto count as one process, as upstream.
std::int64_t processes_of(const Object& job) {
  const std::string_view said = job.spec()["nprocPerNode"].as_string();
  std::int64_t number = 1;
  const auto [end, error] = std::from_chars(said.data(), said.data() + said.size(), number);
  return error == std::errc() && end == said.data() + said.size() ? number : 1;
}

Variables variables_of(const Object& job, std::int64_t rank) {
  const std::string_view processes = job.spec()["nprocPerNode"].as_string();
  const std::string members = fmt::format("{}", members_of(job));
  Variables variables{{"PYTHONUNBUFFERED", "1"}};
  if (const Value& master = replica_of(job, "Master"); master.is_object()) {
    const std::string port = fmt::format("{}", port_of(master));
    const std::string address = fmt::format("{}-master-0", job.name());
    const std::string number = fmt::format("{}", rank);
    const Variables more{{"PET_MASTER_PORT", port},
                         {"MASTER_PORT", port},
                         {"PET_MASTER_ADDR", address},
                         {"MASTER_ADDR", address},
                         {"WORLD_SIZE", fmt::format("{}", members_of(job) * processes_of(job))},
                         {"RANK", number},
                         {"PET_NODE_RANK", number}};
    variables.insert(variables.end(), more.begin(), more.end());
  }
  variables.emplace_back("PET_NPROC_PER_NODE", processes.empty() ? "auto" : processes);
  variables.emplace_back("PET_NNODES", members);
  return variables;
}

// Objects that a job should have: each pod has a Service of its name.
struct Gang {
  std::vector<Member> pods{};
  std::vector<Member> services{};
};

Gang wanted_gang(const Object& job) {
  Gang gang;
  for (const auto& [type, lower] : kTypes) {
    const Value& replica = replica_of(job, type);
    if (!replica.is_object()) {
      continue;
    }
    const std::string restart = replica["restartPolicy"].str();
    for (std::int64_t i = 0; i < count_of(replica["replicas"]); ++i) {
      const std::string name = fmt::format("{}-{}-{}", job.name(), lower, i);
      const Labels labels{{"training.kubeflow.org/job-name", std::string(job.name())},
                          {"training.kubeflow.org/replica-type", std::string(lower)},
                          {"training.kubeflow.org/replica-index", fmt::format("{}", i)}};
      Member pod = member_of(api::kPod, job, name, replica["template"], labels);
      Value& spec = pod.object.member("spec");
      // ExitCode is decided on by the operator, not by the kubelet.
      spec.set("restartPolicy", restart.empty() || restart == "ExitCode" ? "Never" : restart);
      set_variables(spec, variables_of(job, lower == "worker" ? i + 1 : i), Place::Last);
      gang.pods.push_back(std::move(pod));
      gang.services.push_back(headless_service(job, {.name = name,
                                                     .selector = labels,
                                                     .publish_not_ready = false,
                                                     .port_name = std::string(kPortName),
                                                     .port = port_of(replica)}));
    }
  }
  return gang;
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
  const Gang wanted = suspended ? Gang{} : wanted_gang(*job);
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
  } else if (job_succeeded(*job, pods, wanted.pods.size())) {
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
  keep(view, api::kService, *job, wanted.services, present(view, api::kService, *job), plan);
  keep(view, api::kPod, *job, wanted.pods, pods, plan);
  return plan;
}

}  // namespace

const Operator& pytorch_job_operator() {
  static const Kind* const kReads[] = {&kPyTorchJob, &api::kPod, &api::kService};
  static const Kind* const kWrites[] = {&kPyTorchJob, &api::kPod, &api::kService, &api::kEvent};
  static const Access kAccess[] = {{&kPyTorchJob, "patch", "status"},
                                   {&kPyTorchJob, "update", "finalizers"},
                                   {&api::kPod, "create delete"},
                                   {&api::kService, "create delete"},
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
