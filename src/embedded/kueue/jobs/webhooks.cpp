// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/jobs/webhooks.hpp"

#include <fmt/core.h>

#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "embedded/kueue/jobs/identifiers.hpp"
#include "embedded/kueue/jobs/job_admission.hpp"
#include "embedded/kueue/jobs/job_workload.hpp"
#include "embedded/kueue/jobs/names.hpp"
#include "embedded/kueue/jobs/unknown_names.hpp"
#include "embedded/kueue/jobs/unsupported.hpp"
#include "embedded/kueue/rules/left_out.hpp"

namespace athanor::kueue::jobs {
namespace {

using Operation = AdmissionRequest::Operation;
using Which = const Adapter& (*)();

// The namespace of the request counts: the object may leave it out.
Value placed(const AdmissionRequest& request) {
  Value object = request.object;
  if (object["metadata"].is_object()) {
    object.set_path({"metadata", "namespace"}, request.key.ns);
  }
  return object;
}

Verdict answer(const FieldTexts& errors) {
  return errors.empty() ? Verdict::allow() : Verdict::deny(joined(errors));
}

// The warning about a queue label in a namespace that the configuration leaves out.
void warn_unselected(const View& view, const Integrations& settings,
                     const AdmissionRequest& request, std::vector<std::string>& warnings) {
  if (!Object(request.object).label(name::kQueue).empty() &&
      !selects(view, settings, request.key.ns)) {
    warnings.push_back(
        fmt::format("metadata.labels[{}] has no effect: managedJobsNamespaceSelector does not "
                    "select the namespace",
                    name::kQueue));
  }
}

void append(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

std::string prebuilt_of(const Object& job) {
  return std::string(prebuilt_name(job));
}

template <Which which>
Verdict mutate(const View& view, const AdmissionRequest& request, Instant /*now*/) {
  const Value object = placed(request);
  return Verdict::change(object, with_job_defaults(view, integrations_of(view), which(), object));
}

template <Which which>
Verdict judge(const View& view, const AdmissionRequest& request, Instant /*now*/) {
  const Value object = placed(request);
  const Integrations settings = integrations_of(view);
  const bool labelled = !Object(object).label(name::kQueue).empty();
  if (!settings.has(which().framework)) {
    Verdict verdict = Verdict::allow();
    if (labelled && request.operation == Operation::Create) {
      verdict.warnings.push_back(unsupported_text(*which().kind));
    }
    return verdict;
  }
  if (request.operation == Operation::Create) {
    Verdict verdict = answer(validate_new_job(which(), object));
    if (verdict.allowed && labelled) {
      verdict.warnings = left_out_of_job(object, pod_sets_of(which(), settings, Object(object)));
    }
    warn_unselected(view, settings, request, verdict.warnings);
    append(verdict.warnings, unknown_names(*which().kind, object));
    append(verdict.warnings, api::kueue::left_to_prebuilt(object, request.old_object, prebuilt_of));
    return verdict;
  }
  const bool has_default =
      view.get(api::kueue::kLocalQueue, {request.key.ns, std::string(name::kDefaultQueue)})
          .has_value();
  Verdict verdict = answer(validate_job_update(which(), object, request.old_object, has_default));
  if (verdict.allowed && is_suspended(which(), object) &&
      !is_managed(view, settings, Object(object)) &&
      is_managed(view, settings, Object(request.old_object))) {
    verdict.warnings.push_back(api::kueue::left_queue(which().kind->name));
  }
  append(verdict.warnings, api::kueue::left_to_prebuilt(object, request.old_object, prebuilt_of));
  return verdict;
}

Verdict mutate_pod(const View& view, const AdmissionRequest& request, Instant /*now*/) {
  const Value object = placed(request);
  return Verdict::change(object, with_pod_defaults(view, integrations_of(view), object));
}

Verdict judge_pod(const View& view, const AdmissionRequest& request, Instant /*now*/) {
  const Object pod(request.object);
  const Integrations settings = integrations_of(view);
  if (!settings.has(kPodFramework) && pod.label(name::kManaged).empty()) {
    Verdict unqueued = Verdict::allow();
    // Pods of a controller may wait with what made them.
    if (request.operation == Operation::Create && !pod.label(name::kQueue).empty() &&
        !pod.controller()) {
      unqueued.warnings.push_back(unsupported_text(api::kPod));
    }
    return unqueued;
  }
  Verdict verdict = answer(validate_pod(request.object, request.old_object));
  append(verdict.warnings,
         api::kueue::left_to_prebuilt(request.object, request.old_object, prebuilt_of));
  if (!verdict.allowed || request.operation != Operation::Create) {
    return verdict;
  }
  warn_unselected(view, settings, request, verdict.warnings);
  append(verdict.warnings, left_out_of_pod(request.object));
  append(verdict.warnings, unknown_names(api::kPod, request.object));
  return verdict;
}

// Nothing is refused: it runs, and its owner should know without what.
Verdict warn_of_unsupported(const View& view, const AdmissionRequest& request, Instant /*now*/) {
  Verdict verdict = Verdict::allow();
  const Object object(placed(request));
  for (const Kind* kind : unsupported_kinds()) {
    if (kind->name == request.kind && kind->group == request.group &&
        is_unsupported(*kind, object) && !is_below_managed(view, integrations_of(view), object)) {
      verdict.warnings.push_back(unsupported_text(*kind));
    }
  }
  return verdict;
}

constexpr std::string_view kCreate = "CREATE";
constexpr std::string_view kWrites = "CREATE UPDATE";
constexpr WebhookRule kNewJob[] = {{&api::kJob, kCreate, ""}};
constexpr WebhookRule kJob[] = {{&api::kJob, kWrites, ""}};
constexpr WebhookRule kNewJobSet[] = {{&kJobSet, kCreate, ""}};
constexpr WebhookRule kAnyJobSet[] = {{&kJobSet, kWrites, ""}};
constexpr WebhookRule kNewPyTorchJob[] = {{&kPyTorchJob, kCreate, ""}};
constexpr WebhookRule kAnyPyTorchJob[] = {{&kPyTorchJob, kWrites, ""}};
constexpr WebhookRule kNewRayCluster[] = {{&kRayCluster, kCreate, ""}};
constexpr WebhookRule kAnyRayCluster[] = {{&kRayCluster, kWrites, ""}};
constexpr WebhookRule kNewRayJob[] = {{&kRayJob, kCreate, ""}};
constexpr WebhookRule kAnyRayJob[] = {{&kRayJob, kWrites, ""}};
constexpr WebhookRule kNewPod[] = {{&api::kPod, kCreate, ""}};
constexpr WebhookRule kPod[] = {{&api::kPod, kWrites, ""}};
constexpr WebhookRule kDeployment[] = {{&api::kDeployment, kCreate, ""}};
constexpr WebhookRule kStatefulSet[] = {{&api::kStatefulSet, kCreate, ""}};
constexpr WebhookRule kNewLeaderWorkerSet[] = {{&kLeaderWorkerSet, kCreate, ""}};
constexpr WebhookRule kNewUnsupported[] = {
    {&api::kReplicaSet, kCreate, ""}, {&api::kDaemonSet, kCreate, ""},
    {&api::kCronJob, kCreate, ""},    {&kRayService, kCreate, ""},
    {&kTrainJob, kCreate, ""},        {&kMpiJob, kCreate, ""},
    {&kTfJob, kCreate, ""},           {&kXgBoostJob, kCreate, ""},
    {&kPaddleJob, kCreate, ""},       {&kJaxJob, kCreate, ""}};

// If the webhook does not answer, a pod runs ungated rather than not at all: a cluster must be able
// to start the pods that serve the webhook.
constexpr Webhook kWebhooks[] = {
    {.name = "mjob.kb.io", .mutating = true, .rules = kNewJob, .admit = mutate<batch_job>},
    {.name = "mjobset.kb.io", .mutating = true, .rules = kNewJobSet, .admit = mutate<job_set>},
    {.name = "mpytorchjob.kb.io",
     .mutating = true,
     .rules = kNewPyTorchJob,
     .admit = mutate<pytorch_job>},
    {.name = "mraycluster.kb.io",
     .mutating = true,
     .rules = kNewRayCluster,
     .admit = mutate<ray_cluster>},
    {.name = "mrayjob.kb.io", .mutating = true, .rules = kNewRayJob, .admit = mutate<ray_job>},
    {.name = "mpod.kb.io",
     .mutating = true,
     .rules = kNewPod,
     .admit = mutate_pod,
     .ignore_failure = true},
    {.name = "vjob.kb.io", .rules = kJob, .admit = judge<batch_job>},
    {.name = "vjobset.kb.io", .rules = kAnyJobSet, .admit = judge<job_set>},
    {.name = "vpytorchjob.kb.io", .rules = kAnyPyTorchJob, .admit = judge<pytorch_job>},
    {.name = "vraycluster.kb.io", .rules = kAnyRayCluster, .admit = judge<ray_cluster>},
    {.name = "vrayjob.kb.io", .rules = kAnyRayJob, .admit = judge<ray_job>},
    {.name = "vpod.kb.io", .rules = kPod, .admit = judge_pod, .ignore_failure = true},
    {.name = "vdeployment.kb.io",
     .rules = kDeployment,
     .admit = warn_of_unsupported,
     .ignore_failure = true},
    {.name = "vstatefulset.kb.io",
     .rules = kStatefulSet,
     .admit = warn_of_unsupported,
     .ignore_failure = true},
    {.name = "vleaderworkerset.kb.io",
     .rules = kNewLeaderWorkerSet,
     .admit = warn_of_unsupported,
     .ignore_failure = true},
    {.name = "vunsupported.kb.io",
     .rules = kNewUnsupported,
     .admit = warn_of_unsupported,
     .ignore_failure = true}};

}  // namespace

std::span<const Webhook> webhooks() {
  return kWebhooks;
}

}  // namespace athanor::kueue::jobs
