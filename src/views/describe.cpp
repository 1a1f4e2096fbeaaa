// SPDX-License-Identifier: Apache-2.0
#include "views/describe.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/kueue_configuration.hpp"
#include "api/tekton.hpp"
#include "embedded/kueue/verb.hpp"
#include "kube/text/quantity.hpp"
#include "kube/value/condition.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/appwrapper/model/names.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/verb/gpu_states.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/recurring_messages.hpp"
#include "systems/fournos/schedules/scheduled_job.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/report.hpp"
#include "views/cluster_view.hpp"
#include "views/job_labels.hpp"
#include "views/queue_view.hpp"

namespace athanor::views {
namespace {

constexpr int kNotThere = 404;

std::vector<Object> listed(VerbContext& context, const Kind& kind, const std::string& ns,
                           const std::string& labels = {}) {
  return context.list_labelled(kind, ns, labels).value_or({});
}

// Why the workload of an object waits; empty: it has none, or does not wait.
std::string why_waiting(DescribeSource& source, const std::string& ns, const std::string& name) {
  const auto explained = kueue::explain_named(source.context, {ns, name});
  return explained.ok() && explained->state == "waits" ? explained->text(source.now) : "";
}

void read_events(DescribeSource& source, Description& description) {
  add_events(description, listed(source.context, api::kEvent, description.ns));
}

Result<Description> describe_one_job(DescribeSource& source, const std::string& name) {
  ATHANOR_TRY(const Object job, source.context.get(api::kFournosJob, {source.jobs_ns, name}));
  std::vector<Object> children;
  const std::string selector = fmt::format("{}={}", kJobNameLabel, name);
  for (const Kind* kind :
       {&api::kueue::kWorkload, &api::kPipelineRun, &api::kTaskRun, &api::kPod}) {
    std::ranges::move(listed(source.context, *kind, source.jobs_ns, selector),
                      std::back_inserter(children));
  }
  Description description = describe_job(job, children, source.now);
  description.why = why_waiting(source, source.jobs_ns, name);
  return description;
}

Result<Description> describe_one_cluster(DescribeSource& source, const std::string& name) {
  const auto cluster = source.context.get(api::kFournosCluster, {source.clusters_ns, name});
  const std::vector<Object> jobs = listed(source.context, api::kFournosJob, "");
  const std::vector<Object> queues = listed(source.context, api::kueue::kClusterQueue, "");
  if (cluster.ok()) {
    return describe_cluster(*cluster, jobs, queues);
  }
  const auto flavor = source.context.get(api::kueue::kResourceFlavor, {"", name});
  if (cluster.error().code == kNotThere && flavor.ok() && is_cluster_flavor(*flavor)) {
    return describe_bare_cluster(*flavor, jobs, queues, source.clusters_ns);
  }
  return cluster.error();
}

// A quantity may be written as a number.
std::string quota_text(const Value& written) {
  const auto quantity = Quantity::parse(written);
  return quantity ? quantity->text() : std::string("-");
}

Result<Description> describe_one_queue(DescribeSource& source, const std::string& name) {
  ATHANOR_TRY(const Object queue, source.context.get(api::kueue::kClusterQueue, {"", name}));
  Description description{.kind = std::string(queue.kind()), .name = name};
  add_fact(description, "Cohort", queue.spec()["cohortName"].str());
  add_fact(description, "Strategy", queue.spec()["queueingStrategy"].str());
  for (const Value& group : queue.spec()["resourceGroups"].items()) {
    for (const Value& flavor : group["flavors"].items()) {
      std::string quotas;
      for (const Value& resource : flavor["resources"].items()) {
        quotas += fmt::format("{}{}={}", quotas.empty() ? "" : ", ", resource["name"].as_string(),
                              quota_text(resource["nominalQuota"]));
      }
      add_fact(description, "Flavor " + flavor["name"].str(), quotas);
    }
  }
  const Value& active = find_condition(queue.status()["conditions"], "Active");
  if (active["status"].as_string() == "False") {
    description.why = active["message"].str();
  }
  std::vector<Object> locals = listed(source.context, api::kueue::kLocalQueue, "");
  std::erase_if(locals, [&](const Object& local) {
    return local.spec()["clusterQueue"].as_string() != name;
  });
  for (const Object& local : locals) {
    description.children.push_back({.kind = "LocalQueue", .name = local.key().text()});
  }
  const auto configuration = source.context.get(api::kConfigMap, api::kueue::configuration_map());
  const auto entries =
      queue_entries(listed(source.context, api::kueue::kWorkload, ""),
                    queues_of(listed(source.context, api::kueue::kLocalQueue, ""),
                              listed(source.context, api::kueue::kClusterQueue, ""),
                              configuration.ok() ? configuration->body() : Value()));
  for (const QueueEntry& entry : entries) {
    const bool ours = std::ranges::any_of(locals, [&](const Object& local) {
      return local.ns() == entry.workload.ns() && local.name() == entry.queue;
    });
    if (ours) {
      description.children.push_back(
          {.kind = "Workload",
           .name = entry.workload.key().text(),
           .state = entry.state == QueueState::Waiting
                        ? fmt::format("waits at {}", entry.cluster_position)
                        : queue_word(entry.state),
           .message = entry.reason});
    }
  }
  add_conditions(description, queue);
  finish_timeline(description, std::nullopt);
  return description;
}

Result<Description> describe_one_appwrapper(DescribeSource& source, const std::string& name) {
  ATHANOR_TRY(const Object app,
              source.context.get(appwrapper::kAppWrapper, {source.jobs_ns, name}));
  Description description{.kind = std::string(app.kind()), .ns = source.jobs_ns, .name = name};
  add_fact(description, "Phase", app.status()["phase"].str());
  add_fact(description, "Queue", std::string(app.label(appwrapper::name::kQueueName)));
  if (const std::int64_t retries = app.status()["retries"].as_int(); retries > 0) {
    add_fact(description, "Retries", std::to_string(retries));
  }
  for (const Value& component : app.status()["componentStatus"].items()) {
    description.children.push_back(
        {.kind = component["kind"].str(), .name = component["name"].str()});
  }
  for (const Object& pod : listed(source.context, api::kPod, source.jobs_ns,
                                  fmt::format("{}={}", appwrapper::name::kLabel, name))) {
    // A pod that is a component is one child, with its phase.
    std::erase_if(description.children, [&](const Description::Child& child) {
      return child.kind == pod.kind() && child.name == pod.name();
    });
    add_child(description, pod);
  }
  description.why = why_waiting(source, source.jobs_ns, name);
  add_conditions(description, app);
  finish_timeline(description, std::nullopt);
  return description;
}

Result<Description> describe_workload(DescribeSource& source, const std::string& name) {
  ATHANOR_TRY(const Object workload,
              source.context.get(api::kueue::kWorkload, {source.jobs_ns, name}));
  Description description{.kind = std::string(workload.kind()), .ns = source.jobs_ns, .name = name};
  add_fact(description, "Queue", workload.spec()["queueName"].str());
  add_fact(description, "Priority", std::to_string(workload.spec()["priority"].as_int()));
  if (const auto owner = workload.controller()) {
    add_fact(description, "Owner", owner->kind + "/" + owner->name);
  }
  description.why = why_waiting(source, source.jobs_ns, name);
  add_conditions(description, workload);
  finish_timeline(description, std::nullopt);
  return description;
}

// The GPUs of one node.
Result<Description> describe_slices(DescribeSource& source, const std::string& node) {
  const std::string ns = das::kDefaultNamespace;
  ATHANOR_TRY(const Object accelerator, source.context.get(das::kNodeAccelerator, {ns, node}));
  const std::vector<Object> claims = listed(source.context, das::kAllocationClaim, ns);
  const std::vector<Object> nodes{accelerator};
  Description description{.kind = std::string(accelerator.kind()), .ns = ns, .name = node};
  for (const das::GpuState& gpu : das::gpu_states(nodes, claims).gpus) {
    std::string room;
    for (const auto& [name, count] : gpu.room) {
      room += fmt::format("{}{} {}", room.empty() ? "; fits " : ", ", name, count);
    }
    add_fact(description, fmt::format("GPU {}", gpu.index),
             fmt::format("{} {}, {} of {} {} free{}{}", gpu.name, gpu.sliced() ? "mig" : gpu.mode,
                         gpu.free, gpu.total, gpu.sliced() ? "slots" : "shares", room,
                         gpu.healthy ? "" : ", unhealthy"));
    for (const das::GpuHolder& holder : gpu.holders) {
      description.children.push_back(
          {.kind = "Pod",
           .name = holder.pod.text(),
           .state = holder.state,
           .message = fmt::format("{} on GPU {}, {} {}", holder.profile, gpu.index,
                                  gpu.sliced() ? "slot" : "share", holder.start)});
    }
  }
  add_conditions(description, accelerator);
  finish_timeline(description, std::nullopt);
  return description;
}

Result<Description> describe_zones(DescribeSource& source, const std::string& node) {
  ATHANOR_TRY(const Object topology, source.context.get(numa::kTopologyKind, {"", node}));
  Description description{.kind = std::string(topology.kind()), .name = node};
  for (const Value& policy : topology.body()["topologyPolicies"].items()) {
    add_fact(description, "Policy", policy.str());
  }
  for (const Value& attribute : topology.body()["attributes"].items()) {
    add_fact(description, attribute["name"].str(), attribute["value"].str());
  }
  // NODE, ZONE, RESOURCE, FREE, ALLOCATABLE, as the list prints them.
  const std::vector<numa::Row> rows = numa::overview({&topology, 1});
  for (const Value& zone : topology.body()["zones"].items()) {
    std::string amounts;
    for (const numa::Row& row : rows) {
      if (row.at(1) == zone["name"].as_string()) {
        amounts += fmt::format("{}{} {} of {}", amounts.empty() ? "" : ", ", row.at(2), row.at(3),
                               row.at(4));
      }
    }
    add_fact(description, zone["name"].str(), amounts.empty() ? "nothing" : amounts + " free");
  }
  return description;
}

Result<Description> describe_one_schedule(DescribeSource& source, const std::string& name) {
  const Key key{source.jobs_ns, name};
  const auto job = source.context.get(api::kFournosJob, key);
  const auto found = source.context.get(api::kCronJob, key);
  if (job && is_recurring(*job) && !(found && is_schedule(*found))) {
    const auto runs = listed(source.context, api::kFournosJob, source.jobs_ns,
                             fmt::format("{}={}", fournos::name::kRecurringParent, name));
    return describe_schedule(*job, runs, source.now, source.find_zone);
  }
  ATHANOR_TRY(const Object cron, found);
  if (!is_schedule(cron)) {
    return Error::not_found(
        fmt::format("schedule \"{}\" not found in namespace {}: the CronJob lacks the label {}",
                    name, source.jobs_ns, fournos::kScheduleSelector));
  }
  std::vector<Object> runs = listed(source.context, api::kJob, source.jobs_ns);
  std::erase_if(runs, [&](const Object& job) { return !job.owned_by(cron.uid()); });
  std::ranges::move(listed(source.context, api::kFournosJob, source.jobs_ns,
                           fmt::format("{}={}", fournos::kScheduleName, name)),
                    std::back_inserter(runs));
  return describe_schedule(cron, runs, source.now, source.find_zone);
}

Result<Description> read_description(DescribeSource& source, const SubjectName& subject) {
  switch (subject.kind) {
    case Subject::Job:
      return describe_one_job(source, subject.name);
    case Subject::Cluster:
      return describe_one_cluster(source, subject.name);
    case Subject::Queue:
      return describe_one_queue(source, subject.name);
    case Subject::AppWrapper:
      return describe_one_appwrapper(source, subject.name);
    case Subject::Slices:
      return describe_slices(source, subject.name);
    case Subject::Zones:
      return describe_zones(source, subject.name);
    case Subject::Workload:
      return describe_workload(source, subject.name);
    case Subject::Schedule:
      return describe_one_schedule(source, subject.name);
  }
  return Error::internal("unknown kind of subject");
}

}  // namespace

Result<Description> describe(DescribeSource& source, const SubjectName& subject) {
  ATHANOR_TRY(Description description, read_description(source, subject));
  read_events(source, description);
  return description;
}

}  // namespace athanor::views
