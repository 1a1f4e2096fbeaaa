// SPDX-License-Identifier: Apache-2.0
// Pods from the template.
#include "embedded/workloads/jobs/job_pods.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "api/builtin.hpp"
#include "embedded/workloads/controlled_pods.hpp"
#include "embedded/workloads/jobs/job_policies.hpp"

namespace athanor::workloads {
namespace {

Value make_job_pod(const Object& job, const std::string& name, const std::string& prefix) {
  Value pod = make_pod(job, api::kJob, job.spec()["template"], name, prefix);
  pod.member("metadata").member("finalizers").push_back(kTrackingFinalizer);
  return pod;
}

// A container learns its index from a variable; a variable of the template wins.
void tell_index(Value& container) {
  constexpr const char* kVariable = "JOB_COMPLETION_INDEX";
  for (const Value& variable : container["env"].items()) {
    if (variable["name"].as_string() == kVariable) {
      return;
    }
  }
  container.member("env").push_back(Value::object(
      {{"name", kVariable},
       {"valueFrom",
        Value::object(
            {{"fieldRef", Value::object({{"apiVersion", "v1"},
                                         {"fieldPath",
                                          fmt::format("metadata.labels['{}']", kIndexKey)}})}})}}));
}

void set_index(Value& pod, const Object& job, std::int64_t index) {
  const std::string text = fmt::format("{}", index);
  pod.set_path({"metadata", "annotations", kIndexKey}, text);
  pod.set_path({"metadata", "labels", kIndexKey}, text);
  Value& spec = pod.member("spec");
  spec.set("hostname", fmt::format("{}-{}", job.name(), index));
  for (const char* list : {"containers", "initContainers"}) {
    for (std::size_t i = 0; i < spec[list].size(); ++i) {
      tell_index(spec.member(list).item(i));
    }
  }
}

// A pod knows how often its index has failed before it.
void count_failures(Value& pod, const JobFacts& facts, std::int64_t index) {
  std::int64_t failures = 0;
  std::int64_t ignored = 0;
  for (const Object& before : facts.pods) {
    if (index_of(before) != index || !pod_failed(before)) {
      continue;
    }
    const bool ignore = judge_failure(facts.job, before).action == FailureAction::Ignore;
    failures = std::max(failures, failures_before(before) + (ignore ? 0 : 1));
    ignored = std::max(ignored, ignored_before(before) + (ignore ? 1 : 0));
  }
  pod.set_path({"metadata", "annotations", kFailureCountKey}, fmt::format("{}", failures));
  if (ignored > 0) {
    pod.set_path({"metadata", "annotations", kIgnoredCountKey}, fmt::format("{}", ignored));
  }
}

}  // namespace

std::vector<Value> new_pods(const JobFacts& facts, std::int64_t count) {
  const Object& job = facts.job;
  std::set<std::string> taken = names_of(facts.pods);
  std::vector<Value> pods;
  const std::string prefix = fmt::format("{}-", job.name());
  // As many as have ended were made before: names are looked for from there on.
  for (std::int64_t ordinal = facts.succeeded() + facts.failed();
       static_cast<std::int64_t>(pods.size()) < count; ++ordinal) {
    const std::string name = hashed_name(prefix, fmt::format("{}/{}", job.uid(), ordinal));
    if (taken.insert(name).second) {
      pods.push_back(make_job_pod(job, name, prefix));
    }
  }
  return pods;
}

std::vector<Value> new_indexed_pods(const JobFacts& facts, std::int64_t count,
                                    const Indexes& waiting) {
  const Object& job = facts.job;
  Indexes busy = facts.completed;
  busy.insert(facts.failed_indexes.begin(), facts.failed_indexes.end());
  busy.insert(waiting.begin(), waiting.end());
  for (const Object& pod : facts.active) {
    busy.insert(index_of(pod));
  }
  if (facts.replace_failed_only) {
    for (const Object& pod : facts.terminating) {
      busy.insert(index_of(pod));
    }
  }
  std::set<std::string> taken = names_of(facts.pods);
  std::vector<Value> pods;
  for (std::int64_t index = 0;
       index < facts.completions.value_or(0) && static_cast<std::int64_t>(pods.size()) < count;
       ++index) {
    if (busy.contains(index)) {
      continue;
    }
    const std::string prefix = fmt::format("{}-{}-", job.name(), index);
    std::string name;
    for (int attempt = 0; name.empty() || !taken.insert(name).second; ++attempt) {
      name = hashed_name(prefix, fmt::format("{}/{}/{}", job.uid(), index, attempt));
    }
    Value pod = make_job_pod(job, name, prefix);
    set_index(pod, job, index);
    if (facts.per_index) {
      count_failures(pod, facts, index);
    }
    pods.push_back(std::move(pod));
  }
  return pods;
}

std::vector<Object> superfluous_pods(const JobFacts& facts) {
  std::vector<Object> worst_last = facts.active;
  by_removal_order(worst_last);
  std::ranges::reverse(worst_last);
  Indexes seen;
  std::vector<Object> superfluous;
  for (const Object& pod : worst_last) {
    const std::int64_t index = index_of(pod);
    const bool wanted = index >= 0 && index < facts.completions.value_or(0) &&
                        !facts.completed.contains(index) && !facts.failed_indexes.contains(index) &&
                        seen.insert(index).second;
    if (!wanted) {
      superfluous.push_back(pod);
    }
  }
  return superfluous;
}

std::vector<Object> excess_pods(const JobFacts& facts, std::int64_t count) {
  std::vector<Object> pods = facts.active;
  by_removal_order(pods);
  if (facts.indexed) {
    std::set<std::string> first = names_of(superfluous_pods(facts));
    std::ranges::stable_partition(
        pods, [&](const Object& pod) { return first.contains(std::string(pod.name())); });
  }
  pods.resize(std::min(pods.size(), static_cast<std::size_t>(std::max<std::int64_t>(count, 0))));
  return pods;
}

Step untracked(const Object& pod) {
  Value finalizers = Value::list();
  for (const Value& finalizer : pod.metadata()["finalizers"].items()) {
    if (finalizer.as_string() != kTrackingFinalizer) {
      finalizers.push_back(finalizer);
    }
  }
  return Patch{.target = {&api::kPod, pod.key()},
               .merge = Value::object(
                   {{"metadata",
                     Value::object({{"finalizers", finalizers.empty() ? Value() : finalizers}})}}),
               .guard = {.uid = std::string(pod.uid()),
                         .resource_version = std::string(pod.resource_version())}};
}

}  // namespace athanor::workloads
