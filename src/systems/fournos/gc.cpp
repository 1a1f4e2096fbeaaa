// SPDX-License-Identifier: Apache-2.0
// Children that outlived their FournosJob (docs/spec/fournos.md R14.5). Each child is a key of its
// own, so a change costs one look-up and not a walk over all of them; the age limit keeps a child
// whose job is not in the view yet.
#include <string>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/tekton.hpp"
#include "runtime/view/live.hpp"
#include "systems/fournos/job.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/messages.hpp"
#include "systems/fournos/operators.hpp"
#include "systems/fournos/settings.hpp"

namespace athanor::fournos {
namespace {

struct Belonging {
  std::string job{};  // empty: not ours to judge
  std::string uid{};  // of the owner, when there is one
};

Belonging belonging_of(const Object& child, const Kind& kind) {
  if (child.label(name::kManagedBy) != name::kFournos) {
    return {};
  }
  Belonging belonging{.job = std::string(child.label(name::kJobName))};
  for (const OwnerReference& owner : child.owners()) {
    if (owner.kind == api::kFournosJob.name &&
        owner.api_version == api::kFournosJob.api_version()) {
      belonging.uid = owner.uid;
      // Secret copies carry no job label.
      if (&kind == &api::kSecret) {
        belonging.job = owner.name;
      }
    }
  }
  return belonging;
}

bool is_stray(const Belonging& belonging, const Object* job) {
  return job == nullptr || (!belonging.uid.empty() && belonging.uid != job->uid());
}

// Quota that a finished job still holds: the job's own last write saw an old view.
bool is_forgotten(const Kind& kind, const Object* job) {
  return &kind == &api::kueue::kWorkload && job != nullptr &&
         is_terminal(job->status()["phase"].as_string());
}

template <const Kind& K>
Plan collect_in(const View& view, const Key& key, const Settings& settings, Instant now) {
  const auto child = view.get(K, key);
  if (!child || child->deleting()) {
    return Plan::done();
  }
  const Belonging belonging = belonging_of(*child, K);
  const Key job_key{key.ns, belonging.job};
  const auto job = belonging.job.empty() ? std::nullopt : view.get(api::kFournosJob, job_key);
  if (belonging.job.empty()) {
    return Plan::done();
  }
  const bool forgotten = is_forgotten(K, job ? &*job : nullptr);
  if (!forgotten && !is_stray(belonging, job ? &*job : nullptr)) {
    return Plan::done();
  }
  Plan plan;
  const Instant due = child->creation_time().value_or(Instant()) + settings.gc_interval();
  if (due > now && !forgotten) {
    plan.wake_at(due);
    return plan;
  }
  // The last look past the caches, right before deleting
  // (docs/spec/fournos.md R14.5).
  const Live live = read_live(view, api::kFournosJob, job_key, now);
  const Object* seen = live.objects.empty() ? nullptr : &live.objects.front();
  if (live.known && (is_stray(belonging, seen) || is_forgotten(K, seen))) {
    plan.then(Delete{.target = {&K, key}, .guard = {.uid = std::string(child->uid())}});
  } else {
    plan.wake_at(now + kLiveAge);  // no answer, one of before the end, or caches that lag
  }
  return plan;
}

template <const Kind& K>
Plan collect(const View& view, const Key& key, Instant now) {
  const auto settings = api::decode<Settings>(view.config("fournos"));
  return key.ns == settings.workload_namespace ? collect_in<K>(view, key, settings, now)
                                               : Plan::done();
}

template <const Kind& K>
Plan collect_labelled(const View& view, const Key& key, Instant now) {
  const auto settings = api::decode<Settings>(view.config("fournos"));
  return is_labelled_elsewhere(view, settings, key.ns) ? collect_in<K>(view, key, settings, now)
                                                       : Plan::done();
}

constexpr const Kind* kGcReads[] = {&api::kFournosJob};
constexpr const Kind* kLabelledReads[] = {&api::kFournosJob, &api::kNamespace};
constexpr const Kind* kWorkloads[] = {&api::kueue::kWorkload};
constexpr const Kind* kRuns[] = {&api::kPipelineRun};
constexpr const Kind* kGcJobs[] = {&api::kJob};
constexpr const Kind* kSecrets[] = {&api::kSecret};

template <const Kind& K>
constexpr Access kGcAccess[] = {{&api::kFournosJob, "get"}, {&K, "delete"}};

template <const Kind& K>
constexpr Operator collector(std::string_view operator_name, std::span<const Kind* const> writes) {
  return {.name = operator_name,
          .primary = &K,
          .reads = kGcReads,
          .writes = writes,
          .reconcile = collect<K>,
          .access = kGcAccess<K>};
}

template <const Kind& K>
constexpr Operator labelled(std::string_view operator_name, std::span<const Kind* const> writes) {
  return {.name = operator_name,
          .primary = &K,
          .reads = kLabelledReads,
          .writes = writes,
          .reconcile = collect_labelled<K>,
          .access = kGcAccess<K>};
}

constexpr Operator kLabelled[] = {
    labelled<api::kueue::kWorkload>("fournos-labelled-workloads", kWorkloads),
    labelled<api::kPipelineRun>("fournos-labelled-pipelineruns", kRuns),
    labelled<api::kJob>("fournos-labelled-jobs", kGcJobs),
    labelled<api::kSecret>("fournos-labelled-secrets", kSecrets),
};

constexpr Operator kCollectors[] = {
    collector<api::kueue::kWorkload>("fournos-gc-workloads", kWorkloads),
    collector<api::kPipelineRun>("fournos-gc-pipelineruns", kRuns),
    collector<api::kJob>("fournos-gc-jobs", kGcJobs),
    collector<api::kSecret>("fournos-gc-secrets", kSecrets),
};

}  // namespace

std::span<const Operator* const> fournos_gc_operators() {
  static constexpr const Operator* kAll[] = {&kCollectors[0], &kCollectors[1], &kCollectors[2],
                                             &kCollectors[3]};
  return kAll;
}

std::span<const Operator* const> labelled_gc_operators() {
  static constexpr const Operator* kAll[] = {&kLabelled[0], &kLabelled[1], &kLabelled[2],
                                             &kLabelled[3]};
  return kAll;
}

std::span<const Operator* const> fournos_operators() {
  static const Operator* const kAll[] = {&fournosjob_operator(), &kCollectors[0], &kCollectors[1],
                                         &kCollectors[2], &kCollectors[3]};
  return kAll;
}

}  // namespace athanor::fournos
