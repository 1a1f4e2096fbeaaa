// SPDX-License-Identifier: Apache-2.0
// One job: how many pods it should have, whether it is over, and its status.
#include "embedded/workloads/jobs/job.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "api/builtin.hpp"
#include "embedded/workloads/closing.hpp"
#include "embedded/workloads/controlled_pods.hpp"
#include "embedded/workloads/jobs/job_facts.hpp"
#include "embedded/workloads/jobs/job_pods.hpp"
#include "embedded/workloads/jobs/job_policies.hpp"
#include "kube/names/selector.hpp"
#include "kube/value/condition.hpp"
#include "runtime/view/failures.hpp"

namespace athanor::workloads {
namespace {

constexpr std::string_view kIndex = "job";  // pods by the name of the job that controls them
constexpr std::string_view kController = "kubernetes.io/job-controller";
// Of each kind in one plan; pods that change run the job again for the rest.
constexpr std::int64_t kMostChanges = 100;

constexpr std::string_view kJobNameLabel = "batch.kubernetes.io/job-name";
constexpr std::string_view kOldJobNameLabel = "job-name";

// The Job that a pod belongs to or once belonged to: its controller's name, else its label's while
// it bears the finalizer or has no controller.
std::vector<std::string> job_of(const Object& pod) {
  const auto owner = pod.controller();
  if (owner && owner->kind == "Job" && owner->api_version.starts_with("batch/")) {
    return {owner->name};
  }
  std::string_view name = pod.label(kJobNameLabel);
  name = name.empty() ? pod.label(kOldJobNameLabel) : name;
  const bool concerns = !owner || pod.has_finalizer(kTrackingFinalizer);
  return concerns && !name.empty() ? std::vector{std::string(name)} : std::vector<std::string>{};
}

// A pod without a controller that the job's selector matches: the job takes it back.
bool is_adoptable(const Object& job, const Object& pod) {
  if (pod.controller() || pod.deleting() || job.deleting() || is_finished(job)) {
    return false;
  }
  const auto selector = LabelSelector::from_value(job.spec()["selector"]);
  return selector.ok() && !selector->empty() && selector->matches(pod.metadata()["labels"]);
}

// Guarded by the version: another controller may be adopting it at the same time.
Step adopt(const Object& pod, const Object& job) {
  Value owners = pod.metadata()["ownerReferences"];
  owners = owners.is_list() ? owners : Value::list();
  owners.push_back(controller_reference(job, api::kJob));
  return Patch{.target = {&api::kPod, pod.key()},
               .merge = Value::object(
                   {{"metadata", Value::object({{"ownerReferences", std::move(owners)}})}}),
               .guard = {.uid = std::string(pod.uid()),
                         .resource_version = std::string(pod.resource_version())}};
}

Ref ref_of(const Object& pod) {
  return {&api::kPod, pod.key()};
}

void release_all(const std::vector<Object>& pods, Plan& plan) {
  std::int64_t count = 0;
  for (const Object& pod : pods) {
    if (pod.has_finalizer(kTrackingFinalizer) && count++ < kMostChanges) {
      plan.then(untracked(pod));
    }
  }
}

struct Verdict {
  std::string reason{};
  std::string message{};
};

class JobRun {
 public:
  JobRun(const View& view, JobFacts facts, Instant now)
      : view_(view),
        facts_(std::move(facts)),
        now_(now),
        conditions_(facts_.job.status()["conditions"]),
        started_(parse_time(facts_.job.status()["startTime"].as_string())),
        active_(static_cast<std::int64_t>(facts_.active.size())) {}

  Plan run() {
    if (!started_ && !facts_.suspended) {
      started_ = now_;
    }
    decide();
    if (failing() || succeeding()) {
      end_active();
    } else {
      suspend_or_resume();
      manage();
    }
    finish();
    write_status();
    closing_.tell(plan_);
    std::int64_t released = 0;
    for (const Object& pod : facts_.to_release) {
      if (released++ < kMostChanges) {
        plan_.then(untracked(pod));
      }
    }
    closing_.finish(plan_);
    return std::move(plan_);
  }

 private:
  [[nodiscard]] bool failing() const { return condition_is(conditions_, "FailureTarget", "True"); }
  [[nodiscard]] bool succeeding() const {
    return condition_is(conditions_, "SuccessCriteriaMet", "True");
  }

  void set(const char* type, const char* status, const Verdict& verdict) {
    const std::string_view before = find_condition(conditions_, type)["status"].as_string();
    const bool changes = before != status;
    set_condition(
        conditions_,
        {.type = type, .status = status, .reason = verdict.reason, .message = verdict.message},
        now_);
    for (std::size_t i = 0; changes && i < conditions_.size(); ++i) {
      if (conditions_[i]["type"].as_string() == type) {
        conditions_.item(i).set("lastProbeTime", format_time(now_));
      }
    }
  }

  // Restarts of containers inside pods that go on count towards the limit, too.
  [[nodiscard]] bool restarted_too_often() const {
    if (facts_.job.spec().at({"template", "spec", "restartPolicy"}).as_string() != "OnFailure") {
      return false;
    }
    std::int64_t restarts = 0;
    for (const Object& pod : facts_.active) {
      for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
        for (const Value& status : pod.status()[list].items()) {
          restarts += status["restartCount"].as_int();
        }
      }
    }
    return facts_.backoff_limit == 0 ? restarts > 0 : restarts >= facts_.backoff_limit;
  }

  [[nodiscard]] std::optional<Instant> deadline() const {
    const Value& seconds = facts_.job.spec()["activeDeadlineSeconds"];
    return seconds.is_integer() && started_ && !facts_.suspended
               ? std::optional(*started_ + std::chrono::seconds(seconds.as_int()))
               : std::nullopt;
  }

  void decide() {
    if (failing() || succeeding()) {
      return;
    }
    const auto end = deadline();
    const auto met = facts_.indexed ? success_rule_met(facts_.job, facts_.completed) : std::nullopt;
    if (!facts_.failure_policy_says.empty()) {
      set("FailureTarget", "True", {"PodFailurePolicy", facts_.failure_policy_says});
    } else if (facts_.failed() > facts_.backoff_limit || restarted_too_often()) {
      set("FailureTarget", "True",
          {"BackoffLimitExceeded", "Job has reached the specified backoff limit"});
    } else if (end && *end <= now_) {
      set("FailureTarget", "True",
          {"DeadlineExceeded", "Job was active longer than specified deadline"});
    } else if (too_many_failed_indexes()) {
      set("FailureTarget", "True",
          {"MaxFailedIndexesExceeded",
           "Job has exceeded the specified maximal number of failed indexes"});
    } else if (met) {
      set("SuccessCriteriaMet", "True", {"SuccessPolicy", *met});
    } else if (every_index_ended_some_failed()) {
      set("FailureTarget", "True", {"FailedIndexes", "Job has failed indexes"});
    } else if (reached_completions()) {
      set("SuccessCriteriaMet", "True",
          {"CompletionsReached", "Reached expected number of succeeded pods"});
    } else if (end) {
      plan_.wake_at(*end);
    }
  }

  [[nodiscard]] bool too_many_failed_indexes() const {
    const Value& most = facts_.job.spec()["maxFailedIndexes"];
    return facts_.per_index && most.is_integer() &&
           static_cast<std::int64_t>(facts_.failed_indexes.size()) > most.as_int();
  }
  [[nodiscard]] bool every_index_ended_some_failed() const {
    return !facts_.failed_indexes.empty() &&
           static_cast<std::int64_t>(facts_.failed_indexes.size() + facts_.completed.size()) >=
               facts_.completions.value_or(0);
  }

  [[nodiscard]] bool reached_completions() const {
    if (!facts_.completions) {
      return facts_.succeeded() > 0 && facts_.active.empty();
    }
    return facts_.succeeded() >= *facts_.completions;
  }

  // Their finalizers stay: pods that a failed job takes down count as failed.
  void end_active() {
    if (succeeding()) {
      remove_uncounted(facts_.active);  // enough has succeeded: these are no failures
      return;
    }
    std::int64_t count = 0;
    for (const Object& pod : facts_.active) {
      if (count++ < kMostChanges) {
        remove(pod);
      }
    }
  }

  void remove(const Object& pod) {
    plan_.then(Delete{.target = ref_of(pod), .guard = {.uid = std::string(pod.uid())}});
    closing_.emit("Normal", "SuccessfulDelete", fmt::format("Deleted pod: {}", pod.name()));
    --active_;
  }

  void remove_uncounted(const std::vector<Object>& pods) {
    std::int64_t count = 0;
    for (const Object& pod : pods) {
      if (count++ >= kMostChanges) {
        break;
      }
      if (pod.has_finalizer(kTrackingFinalizer)) {
        plan_.then(untracked(pod));
      }
      remove(pod);
    }
  }

  void suspend_or_resume() {
    const bool was = condition_is(conditions_, "Suspended", "True");
    if (facts_.suspended && !was) {
      set("Suspended", "True", {"JobSuspended", "Job suspended"});
      closing_.emit("Normal", "Suspended", "Job suspended");
    } else if (!facts_.suspended && was) {
      set("Suspended", "False", {"JobResumed", "Job resumed"});
      closing_.emit("Normal", "Resumed", "Job resumed");
      started_ = now_;
    }
    if (facts_.suspended) {
      started_.reset();
    }
  }

  [[nodiscard]] std::int64_t wanted() const {
    if (!facts_.completions) {
      return facts_.succeeded() > 0 ? std::min(active_, facts_.parallelism) : facts_.parallelism;
    }
    const auto failed = static_cast<std::int64_t>(facts_.failed_indexes.size());
    return std::clamp<std::int64_t>(*facts_.completions - facts_.succeeded() - failed, 0,
                                    facts_.parallelism);
  }

  void manage() {
    if (facts_.suspended) {
      remove_uncounted(facts_.active);
      return;
    }
    const std::int64_t want = wanted();
    std::int64_t excess = active_ - want;
    if (facts_.indexed) {
      excess = std::max(excess, static_cast<std::int64_t>(superfluous_pods(facts_).size()));
    }
    if (excess > 0) {
      remove_uncounted(excess_pods(facts_, excess));
      return;
    }
    std::int64_t missing = want - active_;
    if (facts_.replace_failed_only) {
      missing -= static_cast<std::int64_t>(facts_.terminating.size());
    }
    if (missing > 0) {
      create(std::min(missing, kMostChanges));
    }
  }

  // Indexes whose next try is not due yet.
  Indexes waiting_indexes() {
    Indexes waiting;
    for (std::int64_t index = 0; facts_.per_index && index < facts_.completions.value_or(0);
         ++index) {
      const auto held = index_held_back_until(facts_, index);
      if (held && *held > now_) {
        waiting.insert(index);
        plan_.wake_at(*held);
      }
    }
    return waiting;
  }

  void create(std::int64_t count) {
    const auto held = facts_.per_index ? std::nullopt : held_back_until(facts_);
    if (held && *held > now_) {
      plan_.wake_at(*held);
      return;
    }
    for (Value& pod : facts_.indexed ? new_indexed_pods(facts_, count, waiting_indexes())
                                     : new_pods(facts_, count)) {
      const std::string name = pod["metadata"]["name"].str();
      Step step = Create{.target = {&api::kPod, {std::string(facts_.job.ns()), name}},
                         .object = std::move(pod)};
      if (const auto error = refused(view_, step)) {
        closing_.emit("Warning", "FailedCreate", fmt::format("Error creating: {}", error->message));
        closing_.retry_last(std::move(step));
        return;
      }
      plan_.then(std::move(step));
      closing_.emit("Normal", "SuccessfulCreate", fmt::format("Created pod: {}", name));
      ++active_;
    }
  }

  // The end is written when nothing runs and everything is counted.
  void finish() {
    const bool settled = facts_.active.empty() && facts_.terminating.empty() &&
                         facts_.to_release.empty() && facts_.uncounted_failed.empty() &&
                         facts_.uncounted_succeeded.empty();
    if (!settled) {
      return;
    }
    const auto verdict = [&](const char* type) {
      const Value& condition = find_condition(conditions_, type);
      return Verdict{condition["reason"].str(), condition["message"].str()};
    };
    if (failing()) {
      const Verdict why = verdict("FailureTarget");
      set("Failed", "True", why);
      closing_.emit("Warning", why.reason, why.message);
    } else if (succeeding()) {
      set("Complete", "True", verdict("SuccessCriteriaMet"));
      closing_.emit("Normal", "Completed", "Job completed");
      completed_ = true;
    }
  }

  void write_status() {
    const auto count = [](std::int64_t number) { return number == 0 ? Value() : Value(number); };
    const auto uids = [](const std::vector<std::string>& list) {
      Value values = Value::list();
      for (const std::string& uid : list) {
        values.push_back(uid);
      }
      return values;
    };
    Value uncounted = Value::object();
    if (!facts_.uncounted_succeeded.empty()) {
      uncounted.set("succeeded", uids(facts_.uncounted_succeeded));
    }
    if (!facts_.uncounted_failed.empty()) {
      uncounted.set("failed", uids(facts_.uncounted_failed));
    }
    Value status = Value::object(
        {{"active", count(active_)},
         {"ready", std::min(facts_.ready, active_)},
         {"terminating", static_cast<std::int64_t>(facts_.terminating.size())},
         {"succeeded", count(facts_.indexed ? facts_.succeeded() : facts_.counted_succeeded)},
         {"failed", count(facts_.counted_failed)},
         {"uncountedTerminatedPods", uncounted},
         {"startTime", started_ ? Value(format_time(*started_)) : Value()}});
    if (!conditions_.is_null()) {
      status.set("conditions", conditions_);
    }
    if (facts_.indexed) {
      const std::string indexes = format_indexes(facts_.completed);
      status.set("completedIndexes", indexes.empty() ? Value() : Value(indexes));
    }
    if (facts_.per_index) {
      status.set("failedIndexes", format_indexes(facts_.failed_indexes));
    }
    if (completed_) {
      status.set("completionTime", format_time(now_));
    }
    plan_.then(Status{.target = {&api::kJob, facts_.job.key()},
                      .status = std::move(status),
                      .guard = {.uid = std::string(facts_.job.uid())}});
  }

  const View& view_;
  JobFacts facts_;
  Instant now_;
  Value conditions_;
  std::optional<Instant> started_;
  std::int64_t active_;
  bool completed_ = false;
  Closing closing_{api::kJob, facts_.job};
  Plan plan_{};
};

Plan reconcile_job(const View& view, const Key& key, Instant now) {
  const auto job = view.get(api::kJob, key);
  std::vector<Object> mine;
  std::vector<Object> orphans;
  std::vector<Object> adopted;
  for (const Object& pod : view.list(
           api::kPod, {.ns = key.ns, .index = std::string(kIndex), .index_value = key.name})) {
    const auto owner = pod.controller();
    if (job && is_adoptable(*job, pod)) {
      adopted.push_back(pod);
      continue;
    }
    (job && owner && owner->uid == job->uid() ? mine : orphans).push_back(pod);
  }
  Plan plan;
  release_all(orphans, plan);
  if (!job) {
    return plan;
  }
  const std::string_view manager = job->spec()["managedBy"].as_string();
  if (!manager.empty() && manager != kController) {
    return Plan::done();
  }
  if (!adopted.empty()) {  // what they count for is decided once they belong to the job
    for (const Object& pod : adopted) {
      plan.then(adopt(pod, *job));
    }
    return plan;
  }
  if (job->deleting() || is_finished(*job)) {
    release_all(mine, plan);
  } else {
    plan.merge(JobRun(view, gather(*job, std::move(mine)), now).run());
  }
  return plan;
}

}  // namespace

const Operator& job_operator() {
  static const Kind* const kReads[] = {&api::kJob, &api::kPod};
  static const Kind* const kWrites[] = {&api::kJob, &api::kPod, &api::kEvent};
  static const athanor::Index kIndexes[] = {{&api::kPod, kIndex, job_of}};
  static const Operator kOperator{.name = "job-controller",
                                  .primary = &api::kJob,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .indexes = kIndexes,
                                  .reconcile = reconcile_job};
  return kOperator;
}

}  // namespace athanor::workloads
