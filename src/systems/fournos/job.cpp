// SPDX-License-Identifier: Apache-2.0
// From the stored spec to what it means.
#include "systems/fournos/job.hpp"

#include <algorithm>

#include "systems/fournos/messages.hpp"

namespace athanor::fournos {

bool Job::wants_gpus() const {
  return spec().hardware && !spec().hardware->gpu_type.empty() && spec().hardware->gpu_count > 0;
}

const std::string& Job::pinned_cluster() const {
  static const std::string kNone;
  const std::string& from = status().redirected_from;
  return !from.empty() && from == spec().cluster ? kNone : spec().cluster;
}

const Value& Job::forge() const {
  const Value& stored = object().spec();
  return dialect == Dialect::Seed ? stored["forge"] : stored["executionEngine"]["forge"];
}

Job effective(api::FournosJob typed) {
  Job job{.typed = std::move(typed)};
  const api::FournosJobSpec& spec = job.spec();
  job.lock_only = spec.lock_only.value_or(!spec.lock_until.empty());
  job.clusterless = spec.clusterless;
  job.dialect = !job.lock_only && !job.clusterless && spec.forge ? Dialect::Seed : Dialect::Engine;
  job.exclusive = spec.exclusive.value_or(job.dialect == Dialect::Engine);
  return job;
}

bool is_terminal(std::string_view phase) {
  return phase == phase::kSucceeded || phase == phase::kFailed || phase == phase::kStopped;
}

Instant ended_at(const Object& job) {
  if (const auto completed = parse_time(job.status()["completionTime"].as_string())) {
    return *completed;
  }
  Instant last = job.creation_time().value_or(Instant());
  for (const Value& condition : job.status()["conditions"].items()) {
    last = std::max(last, parse_time(condition["lastTransitionTime"].as_string()).value_or(last));
  }
  return last;
}

bool holds_lock(std::string_view phase) {
  return phase == phase::kAdmitted || phase == phase::kRunning || phase == phase::kStopping;
}

}  // namespace athanor::fournos
