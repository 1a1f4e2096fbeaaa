// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/validation/webhooks.hpp"

#include "api/builtin.hpp"
#include "api/tekton.hpp"
#include "embedded/tekton/model/config_objects.hpp"
#include "embedded/tekton/model/ignored_fields.hpp"
#include "embedded/tekton/model/settings.hpp"
#include "embedded/tekton/validation/admission.hpp"

namespace athanor::tekton {
namespace {

bool is_update(const AdmissionRequest& request) {
  return request.operation == AdmissionRequest::Operation::Update;
}

Verdict mutate(const View& view, const AdmissionRequest& request, Instant /*now*/) {
  Value object = request.object;
  apply_defaults(object, is_update(request) ? WriteKind::Update : WriteKind::Create,
                 read_settings(view));
  return Verdict::change(request.object, object);
}

Verdict judge(const View& view, const AdmissionRequest& request, Instant /*now*/) {
  const auto denial = validate(request.object, is_update(request) ? &request.old_object : nullptr,
                               read_settings(view));
  if (denial) {
    return Verdict::refuse(*denial);
  }
  Verdict verdict = Verdict::allow();
  verdict.warnings = ignored_fields_of(request.object);
  return verdict;
}

Verdict judge_stored(const View& /*view*/, const AdmissionRequest& request, Instant /*now*/) {
  Verdict verdict = Verdict::allow();
  verdict.warnings = ignored_fields_of(request.object);
  return verdict;
}

Verdict judge_config(const View& /*view*/, const AdmissionRequest& request, Instant /*now*/) {
  if (const auto denial = validate_config(request.object)) {
    return Verdict::refuse(*denial);
  }
  Verdict verdict = Verdict::allow();
  verdict.warnings = config_warnings(request.object);
  return verdict;
}

constexpr std::string_view kWrites = "CREATE UPDATE";
constexpr WebhookRule kRules[] = {{&api::kPipelineRun, kWrites, ""},
                                  {&api::kTaskRun, kWrites, ""},
                                  {&api::kPipeline, kWrites, ""},
                                  {&api::kTask, kWrites, ""},
                                  {&api::kStepAction, kWrites, ""}};
constexpr WebhookRule kStoredRules[] = {{&api::kVerificationPolicy, kWrites, ""},
                                        {&api::kResolutionRequest, kWrites, ""}};
constexpr WebhookRule kConfigRules[] = {{&api::kConfigMap, kWrites, ""}};
constexpr Webhook kWebhooks[] = {
    {.name = "webhook.pipeline.tekton.dev", .mutating = true, .rules = kRules, .admit = mutate},
    {.name = "validation.webhook.pipeline.tekton.dev", .rules = kRules, .admit = judge},
    {.name = "stored.webhook.pipeline.tekton.dev", .rules = kStoredRules, .admit = judge_stored},
    {.name = "config.webhook.pipeline.tekton.dev",
     .rules = kConfigRules,
     .admit = judge_config,
     .ns = "tekton-pipelines"}};

}  // namespace

std::span<const Webhook> webhooks() {
  return kWebhooks;
}

}  // namespace athanor::tekton
