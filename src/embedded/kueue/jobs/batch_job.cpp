// SPDX-License-Identifier: Apache-2.0
// batch/v1 Job (docs/spec/kueue.md 10.2).
#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "api/builtin.hpp"
#include "base/ascii.hpp"
#include "embedded/kueue/jobs/adapter.hpp"
#include "embedded/kueue/jobs/names.hpp"
#include "kube/value/condition.hpp"

namespace athanor::kueue::jobs {
namespace {

std::optional<std::int64_t> index_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && error == std::errc() && end == text.data() + text.size()
             ? std::optional(number)
             : std::nullopt;
}

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

// Counts the indexes below `limit` in texts like "0,2-4", each once.
std::int64_t indexes_in(std::initializer_list<std::string_view> texts, std::int64_t limit) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (const std::string_view text : texts) {
    for (const std::string_view word : words_of(text, ',')) {
      const std::size_t dash = word.find('-');
      const auto first = index_number(word.substr(0, dash));
      const auto last =
          dash == std::string_view::npos ? first : index_number(word.substr(dash + 1));
      if (first && last) {
        ranges.emplace_back(*first, std::min(*last, limit - 1));
      }
    }
  }
  std::ranges::sort(ranges);
  std::int64_t count = 0;
  std::int64_t next = 0;
  for (const auto& [first, last] : ranges) {
    count += std::max<std::int64_t>(0, last - std::max(first, next) + 1);
    next = std::max(next, last + 1);
  }
  return count;
}

// Returns the pods that will not be started again: fewer completions remain than pods run. An index
// that failed for good does not remain.
Value reclaimable(const Object& job) {
  const std::int64_t parallelism = job.spec()["parallelism"].as_int(1);
  const std::int64_t completions = job.spec()["completions"].as_int(parallelism);
  const Value& status = job.status();
  const std::int64_t ended = job.spec()["completionMode"].as_string() == "Indexed"
                                 ? indexes_in({status["completedIndexes"].as_string(),
                                               status["failedIndexes"].as_string()},
                                              completions)
                                 : status["succeeded"].as_int();
  const std::int64_t left = std::max<std::int64_t>(0, completions - ended);
  return parallelism <= 1 || ended == 0 || left >= parallelism
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
