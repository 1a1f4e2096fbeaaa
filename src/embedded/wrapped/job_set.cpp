// SPDX-License-Identifier: Apache-2.0
// JobSet: child Jobs, names of their pods, success and failure policy, suspend.
#include <fmt/core.h>

#include <algorithm>

#include "api/builtin.hpp"
#include "embedded/wrapped/kinds.hpp"
#include "embedded/wrapped/members.hpp"
#include "embedded/wrapped/operators.hpp"
#include "embedded/wrapped/peers.hpp"
#include "kube/apply/patch.hpp"
#include "kube/value/condition.hpp"

namespace athanor::wrapped {
namespace {

constexpr std::string_view kAttempt = "jobset.sigs.k8s.io/restart-attempt";
constexpr std::string_view kReplicatedJob = "jobset.sigs.k8s.io/replicatedjob-name";
constexpr std::string_view kJobSetName = "jobset.sigs.k8s.io/jobset-name";

bool says(const Object& object, std::string_view type) {
  return condition_is(object.status()["conditions"], type, "True");
}

// Upstream's defaults of spec.network: names of pods are on, and resolve before the pods are ready.
bool network_says(const Object& set, std::string_view field) {
  const Value& said = set.spec()["network"][field];
  return said.is_null() || said.as_bool();
}

// Returns the name of the Service, and so the domain of the pods below that of the namespace.
std::string subdomain_of(const Object& set) {
  const std::string_view said = set.spec()["network"]["subdomain"].as_string();
  return std::string(said.empty() ? set.name() : said);
}

// A Job of completionMode Indexed gives its pods the hostnames JOB-INDEX.
void name_pods(const Object& set, Value& job_spec) {
  if (job_spec["completionMode"].is_null()) {
    job_spec.set("completionMode", "Indexed");
  }
  Value& pod = job_spec.member("template").member("spec");
  if (pod["restartPolicy"].is_null()) {
    pod.set("restartPolicy", "OnFailure");
  }
  if (network_says(set, "enableDNSHostnames")) {
    pod.set("subdomain", subdomain_of(set));
  }
}

void offer_names(const View& view, const Object& set, Plan& plan) {
  if (network_says(set, "enableDNSHostnames")) {
    offer_service(
        view, set,
        headless_service(set, {.name = subdomain_of(set),
                               .selector = {{kJobSetName, std::string(set.name())}},
                               .publish_not_ready = network_says(set, "publishNotReadyAddresses")}),
        plan);
  }
}

Member child_of(const Object& set, const Value& replicated, std::int64_t index,
                std::int64_t attempt) {
  const std::string name =
      fmt::format("{}-{}-{}", set.name(), replicated["name"].as_string(), index);
  const Labels labels{{kJobSetName, std::string(set.name())},
                      {kReplicatedJob, replicated["name"].str()},
                      {"jobset.sigs.k8s.io/replicatedjob-replicas",
                       fmt::format("{}", count_of(replicated["replicas"]))},
                      {"jobset.sigs.k8s.io/job-index", fmt::format("{}", index)},
                      {kAttempt, fmt::format("{}", attempt)}};
  Member job = member_of(api::kJob, set, name, replicated["template"], labels);
  Value& spec = job.object.member("spec");
  spec.set("suspend", set.spec()["suspend"].as_bool());
  for (const auto& [key, value] : labels) {
    spec.member("template").member("metadata").member("labels").set(key, value);
  }
  name_pods(set, spec);
  return job;
}

// Whether the jobs that the success policy names are complete: all of them, or any.
bool succeeded(const Object& set, const std::vector<Object>& jobs, std::size_t wanted) {
  const Value& policy = set.spec()["successPolicy"];
  const Value& targets = policy["targetReplicatedJobs"];
  std::size_t complete = 0;
  std::size_t named = 0;
  for (const Object& job : jobs) {
    const bool counts =
        targets.empty() || std::ranges::any_of(targets.items(), [&](const Value& target) {
          return target.as_string() == job.label(kReplicatedJob);
        });
    named += counts ? 1U : 0U;
    complete += counts && says(job, "Complete") ? 1U : 0U;
  }
  if (policy["operator"].as_string() == "Any") {
    return complete > 0;
  }
  return named > 0 && complete == named && (!targets.empty() || named == wanted);
}

// Puts what places its pods, of the job that is wanted, into the one that is to run: whatever
// suspended the set may have changed that meanwhile. What the server put there stays.
void place_pods(Value& job, const Value& wanted) {
  Value& pod_template = job.member("spec").member("template");
  const Value& from = wanted["spec"]["template"];
  for (const std::string_view field : {"labels", "annotations"}) {
    Value merged = from["metadata"][field].is_object() ? from["metadata"][field] : Value::object();
    for (const athanor::Member& present : pod_template["metadata"][field].members()) {
      const std::string_view name = present.key();
      if (name == "controller-uid" || name == "job-name" ||
          name.starts_with("batch.kubernetes.io/")) {
        merged.set(name, present.value);
      }
    }
    if (!merged.empty() || !pod_template["metadata"][field].is_null()) {
      pod_template.member("metadata").set(field, std::move(merged));
    }
  }
  Value& spec = pod_template.member("spec");
  for (const std::string_view field : {"nodeSelector", "tolerations", "schedulingGates"}) {
    if (!from["spec"][field].is_null()) {
      spec.set(field, from["spec"][field]);
    } else if (spec.contains(field)) {
      spec.erase(field);
    }
  }
}

// status.replicatedJobsStatus: the jobs of this attempt by what became of them.
Value counts_of(const Object& set, const std::vector<Object>& jobs, std::int64_t attempt) {
  Value counts = Value::list();
  for (const Value& replicated : set.spec()["replicatedJobs"].items()) {
    std::int64_t ready = 0;
    std::int64_t succeeded = 0;
    std::int64_t failed = 0;
    std::int64_t active = 0;
    std::int64_t suspended = 0;
    for (const Object& job : jobs) {
      if (job.label(kReplicatedJob) != replicated["name"].as_string() ||
          job.label(kAttempt) != fmt::format("{}", attempt)) {
        continue;
      }
      const Value& status = job.status();
      const std::int64_t parallelism = count_of(job.spec()["parallelism"]);
      const std::int64_t pods =
          std::min(parallelism, count_of(job.spec()["completions"], parallelism));
      succeeded += says(job, "Complete") ? 1 : 0;
      failed += says(job, "Failed") ? 1 : 0;
      suspended += job.spec()["suspend"].as_bool() ? 1 : 0;
      active += status["active"].as_int() > 0 ? 1 : 0;
      ready += !says(job, "Complete") && !says(job, "Failed") && pods > 0 &&
                       status["ready"].as_int() + status["succeeded"].as_int() >= pods
                   ? 1
                   : 0;
    }
    counts.push_back(Value::object({{"name", replicated["name"]},
                                    {"ready", ready},
                                    {"succeeded", succeeded},
                                    {"failed", failed},
                                    {"active", active},
                                    {"suspended", suspended}}));
  }
  return counts;
}

// Suspends or resumes a job as its set says.
void follow_suspend(const Object& job, bool suspend, const Value& wanted, Plan& plan) {
  Value changed = job.body();
  changed.member("spec").set("suspend", suspend);
  if (!suspend) {
    place_pods(changed, wanted);
    if (!job.status()["startTime"].is_null()) {  // else its pods' placement could not change
      plan.then(Status{.target = {&api::kJob, job.key()},
                       .status = Value::object({{"startTime", nullptr}}),
                       .guard = {.uid = std::string(job.uid())}});
    }
  }
  plan.then(Patch{.target = {&api::kJob, job.key()},
                  .merge = make_merge_patch(job.body(), changed),
                  .guard = {.uid = std::string(job.uid())}});
}

Plan reconcile_job_set(const View& view, const Key& key, Instant now) {
  const auto set = view.get(kJobSet, key);
  if (!set || set->deleting()) {
    return Plan::done();
  }
  const std::vector<Object> jobs = present(view, api::kJob, *set);
  Plan plan;
  if (says(*set, "Completed") || says(*set, "Failed")) {
    for (const Object& job : jobs) {
      if (!says(job, "Complete") && !says(job, "Failed") && !job.deleting()) {
        plan.then(
            Delete{.target = {&api::kJob, job.key()}, .guard = {.uid = std::string(job.uid())}});
      }
    }
    return plan;
  }
  const std::int64_t attempt = set->status()["restarts"].as_int();
  std::vector<Member> wanted;
  for (const Value& replicated : set->spec()["replicatedJobs"].items()) {
    for (std::int64_t i = 0; i < count_of(replicated["replicas"]); ++i) {
      wanted.push_back(child_of(*set, replicated, i, attempt));
    }
  }
  if (succeeded(*set, jobs, wanted.size())) {
    write_status(kJobSet, *set,
                 {{.type = "Completed",
                   .reason = "AllJobsCompleted",
                   .message = "jobset completed successfully"}},
                 Value::object({{"terminalState", "Completed"}}), now, plan);
    return plan;
  }
  const auto failed = std::ranges::find_if(jobs, [&](const Object& job) {
    return says(job, "Failed") && job.label(kAttempt) == fmt::format("{}", attempt);
  });
  if (failed != jobs.end()) {
    if (attempt < count_of(set->spec()["failurePolicy"]["maxRestarts"], 0)) {
      write_status(kJobSet, *set, {}, Value::object({{"restarts", attempt + 1}}), now, plan);
    } else {
      write_status(kJobSet, *set,
                   {{.type = "Failed",
                     .reason = "FailedJobs",
                     .message = fmt::format("jobset failed due to one or more job failures (first "
                                            "failed job: {})",
                                            failed->name())}},
                   Value::object({{"terminalState", "Failed"}}), now, plan);
    }
    return plan;
  }
  // Jobs of an earlier attempt go before those of this one can come.
  for (const Object& job : jobs) {
    if (job.label(kAttempt) != fmt::format("{}", attempt) && !job.deleting()) {
      plan.then(
          Delete{.target = {&api::kJob, job.key()}, .guard = {.uid = std::string(job.uid())}});
    }
  }
  write_status(kJobSet, *set, {},
               Value::object({{"replicatedJobsStatus", counts_of(*set, jobs, attempt)}}), now,
               plan);
  offer_names(view, *set, plan);
  keep(view, api::kJob, *set, wanted, jobs, plan);
  for (const Object& job : jobs) {
    const bool suspend = set->spec()["suspend"].as_bool();
    const auto member = std::ranges::find(wanted, job.name(), &Member::name);
    if (member != wanted.end() && job.spec()["suspend"].as_bool() != suspend && !job.deleting()) {
      follow_suspend(job, suspend, member->object, plan);
    }
  }
  return plan;
}

}  // namespace

const Operator& job_set_operator() {
  static const Kind* const kReads[] = {&kJobSet, &api::kJob, &api::kService};
  static const Kind* const kWrites[] = {&kJobSet, &api::kJob, &api::kService, &api::kEvent};
  static const Access kAccess[] = {
      {&kJobSet, "patch", "status"},       {&kJobSet, "update", "finalizers"},
      {&api::kJob, "create patch delete"}, {&api::kJob, "patch", "status"},
      {&api::kService, "create"},          {&api::kEvent, "create patch"}};
  static const Operator kOperator{.name = "wrapped-jobset",
                                  .primary = &kJobSet,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_job_set,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::wrapped
