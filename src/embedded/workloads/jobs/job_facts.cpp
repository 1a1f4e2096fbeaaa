// SPDX-License-Identifier: Apache-2.0
// Counting pods.
#include "embedded/workloads/jobs/job_facts.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "embedded/workloads/jobs/job_policies.hpp"
#include "kube/value/condition.hpp"

namespace athanor::workloads {
namespace {

constexpr Duration kFirstBackoff = std::chrono::seconds(10);
constexpr Duration kMostBackoff = std::chrono::minutes(10);

bool being_deleted_counts(const Object& pod, const JobFacts& facts) {
  return pod.deleting() && !facts.replace_failed_only;
}

// Every pod of a job that has failed counts as failed, whatever it was doing.
bool fails_as_a_whole(const Object& job) {
  return condition_is(job.status()["conditions"], "FailureTarget", "True");
}

void read_spec(JobFacts& facts) {
  const Value& spec = facts.job.spec();
  facts.indexed = spec["completionMode"].as_string() == "Indexed";
  facts.suspended = spec["suspend"].as_bool();
  facts.replace_failed_only = spec["podReplacementPolicy"].as_string() == "Failed";
  facts.parallelism = spec["parallelism"].as_int(1);
  facts.backoff_limit = spec["backoffLimit"].as_int(6);
  facts.per_index = facts.indexed && spec.contains("backoffLimitPerIndex");
  if (spec.contains("completions")) {
    facts.completions = spec["completions"].as_int();
  }
}

class Tracker {
 public:
  explicit Tracker(JobFacts& facts) : facts_(facts) {
    const Value& uncounted = facts.job.status()["uncountedTerminatedPods"];
    for (const Value& uid : uncounted["succeeded"].items()) {
      known_succeeded_.insert(uid.str());
    }
    for (const Value& uid : uncounted["failed"].items()) {
      known_failed_.insert(uid.str());
    }
    facts.counted_succeeded = facts.job.status()["succeeded"].as_int();
    facts.counted_failed = facts.job.status()["failed"].as_int();
    if (facts.indexed) {
      facts.completed = parse_indexes(facts.job.status()["completedIndexes"].as_string(),
                                      facts.completions.value_or(0));
    }
    if (facts.per_index) {
      facts.failed_indexes = parse_indexes(facts.job.status()["failedIndexes"].as_string(),
                                           facts.completions.value_or(0));
    }
  }

  void take(const Object& pod) {
    if (!pod.has_finalizer(kTrackingFinalizer)) {
      return;
    }
    const std::string uid(pod.uid());
    const bool known = known_succeeded_.contains(uid) || known_failed_.contains(uid);
    const bool succeeded = known ? known_succeeded_.erase(uid) > 0 : pod_succeeded(pod);
    const bool failed = known ? known_failed_.erase(uid) > 0
                              : pod_failed(pod) || being_deleted_counts(pod, facts_) ||
                                    fails_as_a_whole(facts_.job);
    if (failed && !known && judge_failure(facts_.job, pod).action == FailureAction::Ignore) {
      facts_.to_release.push_back(pod);  // as if it had never been
      return;
    }
    if (succeeded && facts_.indexed && !known) {
      if (const std::int64_t index = index_of(pod);
          index >= 0 && index < facts_.completions.value_or(0)) {
        facts_.completed.insert(index);
      }
    } else if (succeeded) {
      facts_.uncounted_succeeded.push_back(uid);
    } else if (failed) {
      facts_.uncounted_failed.push_back(uid);
    } else {
      return;
    }
    facts_.to_release.push_back(pod);
  }

  // What a failed pod means for its index and for the job.
  void judge(const Object& pod) {
    if (!pod_failed(pod)) {
      return;
    }
    const std::int64_t index = index_of(pod);
    if (facts_.per_index && index >= 0 && index < facts_.completions.value_or(0) &&
        !facts_.completed.contains(index) && fails_index(facts_.job, pod)) {
      facts_.failed_indexes.insert(index);
    }
    FailureVerdict verdict = judge_failure(facts_.job, pod);
    if (verdict.action == FailureAction::FailJob && facts_.failure_policy_says.empty()) {
      facts_.failure_policy_says = std::move(verdict.message);
    }
  }

  // Uids whose pods are released, or gone, move into the counters.
  void finish() {
    facts_.counted_succeeded += static_cast<std::int64_t>(known_succeeded_.size());
    facts_.counted_failed += static_cast<std::int64_t>(known_failed_.size());
  }

 private:
  JobFacts& facts_;
  std::set<std::string> known_succeeded_{};
  std::set<std::string> known_failed_{};
};

Instant end_of_pod(const Object& pod) {
  std::optional<Instant> end;
  for (const char* list : {"containerStatuses", "initContainerStatuses"}) {
    for (const Value& status : pod.status()[list].items()) {
      const auto time = parse_time(status.at({"state", "terminated", "finishedAt"}).as_string());
      end = time && (!end || *time > *end) ? time : end;
    }
  }
  return end                   ? *end
         : pod.deletion_time() ? *pod.deletion_time()
                               : pod.creation_time().value_or(Instant{});
}

// After failures in a row among the pods that count.
template <typename Counts>
std::optional<Instant> wait_after(const JobFacts& facts, const Counts& counts) {
  std::optional<Instant> last_success;
  for (const Object& pod : facts.pods) {
    if (counts(pod) && pod_succeeded(pod)) {
      const Instant end = end_of_pod(pod);
      last_success = !last_success || end > *last_success ? end : *last_success;
    }
  }
  int failures = 0;
  std::optional<Instant> last_failure;
  for (const Object& pod : facts.pods) {
    if (!pod_failed(pod) || !counts(pod) ||
        judge_failure(facts.job, pod).action == FailureAction::Ignore) {
      continue;
    }
    const Instant end = end_of_pod(pod);
    if (!last_success || end > *last_success) {
      ++failures;
      last_failure = !last_failure || end > *last_failure ? end : *last_failure;
    }
  }
  if (failures == 0) {
    return std::nullopt;
  }
  Duration backoff = kFirstBackoff;
  for (int i = 1; i < failures && backoff < kMostBackoff; ++i) {
    backoff *= 2;
  }
  return *last_failure + std::min(backoff, kMostBackoff);
}

}  // namespace

std::int64_t JobFacts::succeeded() const {
  return indexed ? static_cast<std::int64_t>(completed.size())
                 : counted_succeeded + static_cast<std::int64_t>(uncounted_succeeded.size());
}

std::int64_t JobFacts::failed() const {
  return counted_failed + static_cast<std::int64_t>(uncounted_failed.size());
}

JobFacts gather(const Object& job, std::vector<Object> pods) {
  JobFacts facts{.job = job};
  read_spec(facts);
  Tracker tracker(facts);
  for (const Object& pod : pods) {
    tracker.take(pod);
    tracker.judge(pod);
    if (pod_succeeded(pod) || pod_failed(pod)) {
      continue;
    }
    if (pod.deleting()) {
      facts.terminating.push_back(pod);
      continue;
    }
    facts.active.push_back(pod);
    facts.ready += condition_is(pod.status()["conditions"], "Ready", "True") ? 1 : 0;
  }
  tracker.finish();
  facts.pods = std::move(pods);
  return facts;
}

bool is_finished(const Object& job) {
  const Value& conditions = job.status()["conditions"];
  return condition_is(conditions, "Complete", "True") || condition_is(conditions, "Failed", "True");
}

std::int64_t index_of(const Object& pod) {
  const std::string_view text = pod.annotation(kIndexKey);
  std::int64_t index = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  return error == std::errc{} && end == text.data() + text.size() ? index : -1;
}

bool pod_succeeded(const Object& pod) {
  return pod.status()["phase"].as_string() == "Succeeded";
}

bool pod_failed(const Object& pod) {
  return pod.status()["phase"].as_string() == "Failed";
}

std::optional<Instant> held_back_until(const JobFacts& facts) {
  return wait_after(facts, [](const Object&) { return true; });
}

std::optional<Instant> index_held_back_until(const JobFacts& facts, std::int64_t index) {
  return wait_after(facts, [&](const Object& pod) { return index_of(pod) == index; });
}

}  // namespace athanor::workloads
