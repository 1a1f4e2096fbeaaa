// SPDX-License-Identifier: Apache-2.0
// batch/v1 Job (docs/spec/kueue.md 10.2).
#include <algorithm>
#include <charconv>

#include "api/builtin.hpp"
#include "embedded/kueue/jobs/adapter.hpp"
#include "embedded/kueue/jobs/names.hpp"
#include "kube/value/condition.hpp"

namespace athanor::kueue::jobs {
namespace {

std::int64_t pods_of(const Value& spec) {
  const std::int64_t parallelism = spec["parallelism"].as_int(1);
  return spec["completions"].is_integer() ? std::min(parallelism, spec["completions"].as_int())
                                          : parallelism;
}

std::vector<PodSetPlace> pod_sets(const Object& job) {
  PodSetPlace place{
      .name = "main", .pod_template = {"spec", "template"}, .count = pods_of(job.spec())};
  const std::string_view text = job.annotation(name::kMinParallelism);
  std::int64_t least = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), least);
  if (!text.empty() && error == std::errc() && least >= 1 && least < place.count) {
    place.min_count = least;
  }
  return {place};
}

std::optional<Outcome> outcome(const Object& job) {
  for (const auto& [type, succeeded] : {std::pair{"Complete", true}, {"Failed", false}}) {
    const Value& condition = find_condition(job.status()["conditions"], type);
    if (condition["status"].as_string() == "True") {
      return Outcome{.succeeded = succeeded, .message = condition["message"].str()};
    }
  }
  return std::nullopt;
}

bool active(const View& /*view*/, const Object& job) {
  return job.status()["active"].as_int() > 0 || job.status()["terminating"].as_int() > 0;
}

bool ready(const View& /*view*/, const Object& job) {
  const Value& status = job.status();
  return status["ready"].as_int() + status["succeeded"].as_int() >= pods_of(job.spec());
}

// Pods that will not be started again: fewer completions are left than pods run.
Value reclaimable(const Object& job) {
  const Value& completions = job.spec()["completions"];
  const std::int64_t parallelism = job.spec()["parallelism"].as_int(1);
  if (parallelism <= 1 || !completions.is_integer()) {
    return Value();
  }
  const std::int64_t left = completions.as_int() - job.status()["succeeded"].as_int();
  return left >= parallelism || job.status()["succeeded"].as_int() == 0
             ? Value()
             : Value::list({Value::object({{"name", "main"}, {"count", parallelism - left}})});
}

void set_count(Value& job, const PodSetPlace& /*place*/, std::int64_t count) {
  Value& spec = job.member("spec");
  const bool together =
      job["metadata"]["annotations"][name::kEqualCompletions].as_string() == "true";
  spec.set("parallelism", count);
  if (together) {
    spec.set("completions", count);
  }
}

}  // namespace

const Adapter& batch_job() {
  static constexpr std::string_view kSuspend[] = {"spec", "suspend"};
  static constexpr Adapter kAdapter{.kind = &api::kJob,
                                    .operator_name = "kueue-job",
                                    .framework = "batch/job",
                                    .suspend = kSuspend,
                                    .pod_sets = pod_sets,
                                    .outcome = outcome,
                                    .active = active,
                                    .ready = ready,
                                    .reclaimable = reclaimable,
                                    .set_count = set_count,
                                    .has_start_time = true};
  return kAdapter;
}

}  // namespace athanor::kueue::jobs
