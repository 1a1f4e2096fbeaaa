// SPDX-License-Identifier: Apache-2.0
// Requests in, verdicts out.
#include "systems/appwrapper/admission/webhooks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "api/kueue.hpp"
#include "api/kueue_integration.hpp"
#include "api/shape.hpp"
#include "kube/text/json.hpp"
#include "systems/appwrapper/admission/admission.hpp"
#include "systems/appwrapper/model/fault_tolerance.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/appwrapper/model/managed.hpp"
#include "systems/appwrapper/model/names.hpp"
#include "systems/appwrapper/model/wrapped_kinds.hpp"

namespace athanor::appwrapper {
namespace {

constexpr std::string_view kIntegration = "Athanor's integration of AppWrappers";
constexpr Duration kAnswerAge{};  // each review asks afresh: a right taken away counts at once

using Operation = AdmissionRequest::Operation;

Entitlement entitlement(const View& view, const AdmissionRequest& request, bool check,
                        std::string_view api_version, std::string_view kind) {
  Entitlement right;
  const GroupVersion version = split_api_version(api_version);
  if (const auto served = find_served(view, api_version, kind)) {
    right.resource = served->plural;
    right.namespaced = served->namespaced;
  }
  if (!check) {
    return right;
  }
  Value spec =
      Value::object({{"resourceAttributes", Value::object({{"namespace", request.key.ns},
                                                           {"verb", "create"},
                                                           {"group", version.group},
                                                           {"version", version.version},
                                                           {"resource", right.resource}})}});
  const Value& user = request.user_info;
  const std::pair<std::string_view, std::string_view> members[] = {
      {"user", "username"}, {"uid", "uid"}, {"groups", "groups"}, {"extra", "extra"}};
  for (const auto& [to, from] : members) {
    if (!user[from].is_null()) {
      spec.set(to, user[from]);
    }
  }
  const Observed answer = view.observe("subject-access:" + json::print(spec), kAnswerAge);
  right.allowed = answer.value && (*answer.value)["allowed"].as_bool();
  if (!answer.value) {
    right.error = answer.error ? answer.error->message : "the access review is not answered yet";
  }
  return right;
}

Verdict answer(const Errors& errors) {
  return errors.empty() ? Verdict::allow() : Verdict::deny(joined(errors));
}

// The namespace of the request counts: the object may leave it out.
Value placed(const AdmissionRequest& request) {
  Value object = request.object;
  object.set_path({"metadata", "namespace"}, request.key.ns);
  return object;
}

// Kueue never touches these namespaces; the label may mean otherwise.
Verdict of_system_namespace(const AdmissionRequest& request) {
  Verdict verdict = Verdict::allow();
  if (request.operation == Operation::Create &&
      !Object(request.object).label(name::kQueueName).empty()) {
    verdict.warnings.push_back(
        fmt::format("metadata.labels[{}] has no effect: the queueing ignores namespace {}",
                    name::kQueueName, request.key.ns));
  }
  return verdict;
}

Errors kueue_errors(const View& view, const AdmissionRequest& request) {
  if (request.operation == Operation::Create) {
    return validate_kueue_create(request.object);
  }
  const bool has_default =
      view.get(api::kueue::kLocalQueue, {request.key.ns, "default"}).has_value();
  return validate_kueue_update(request.object, request.old_object, has_default);
}

// Annotations may change at any time; an update is warned of what it brings.
std::vector<std::string> new_annotation_warnings(const AdmissionRequest& request,
                                                 const FaultTolerance& settings) {
  std::vector<std::string> warnings = annotation_warnings(Object(request.object), settings);
  if (request.operation == Operation::Update) {
    const auto known = annotation_warnings(Object(request.old_object), settings);
    std::erase_if(warnings, [&](const std::string& one) {
      return std::ranges::find(known, one) != known.end();
    });
  }
  return warnings;
}

// Only an object of this kind's form can be changed; the API server refuses the others, as the
// schema says.
bool is_formed(const AdmissionRequest& request) {
  return api::is_shaped(api::Describe<AppWrapper>::type(), request.object);
}

// Where Kueue lacks its integration of AppWrappers, upstream's two webhooks have its rules, too.
Verdict mutate(const View& view, const AdmissionRequest& request, Instant /*now*/) {
  if (!is_formed(request)) {
    return Verdict::allow();
  }
  if (request.operation == Operation::Update) {
    return Verdict::change(request.object, with_kept_infos(request.object, request.old_object));
  }
  const Settings settings = settings_of(view);
  Value object = with_defaults(request.object, request.user_info, settings);
  if (settings.queueing.integrated) {
    object.set_path({"metadata", "namespace"}, request.key.ns);
    object = with_kueue_defaults(view, object, settings.queueing);
  }
  return Verdict::change(request.object, object);
}

void warn_beside_prebuilt(const AdmissionRequest& request, Verdict& verdict) {
  for (std::string& sentence :
       api::kueue::left_to_prebuilt(request.object, request.old_object, prebuilt_workload)) {
    verdict.warnings.push_back(std::move(sentence));
  }
}

Verdict judge(const View& view, const AdmissionRequest& request, Instant /*now*/) {
  const Settings settings = settings_of(view);
  Errors errors;
  if (request.operation == Operation::Update) {
    errors = validate_update(request.object, request.old_object);
  } else {
    const Entitle entitle = [&](std::string_view api_version, std::string_view kind) {
      return entitlement(view, request, settings.user_rbac_check, api_version, kind);
    };
    errors = validate_create(placed(request), request.user, entitle, settings);
  }
  const bool system = api::kueue::is_system_namespace(request.key.ns);
  if (settings.queueing.integrated && !system) {
    const Errors more = kueue_errors(view, request);
    errors.insert(errors.end(), more.begin(), more.end());
  }
  Verdict verdict = answer(errors);
  verdict.warnings = new_annotation_warnings(request, settings.fault_tolerance);
  if (request.operation == Operation::Create) {
    if (verdict.allowed && settings.queueing.integrated) {
      const auto more = system ? of_system_namespace(request).warnings
                               : kueue_warnings(request.object, kIntegration);
      verdict.warnings.insert(verdict.warnings.end(), more.begin(), more.end());
    }
  }
  if (settings.queueing.integrated && !system) {
    warn_beside_prebuilt(request, verdict);
  }
  return verdict;
}

Verdict mutate_for_kueue(const View& view, const AdmissionRequest& request, Instant /*now*/) {
  if (!is_formed(request)) {
    return Verdict::allow();
  }
  return Verdict::change(
      placed(request),
      with_kueue_defaults(view, placed(request), queueing_of(view, settings_of(view))));
}

Verdict judge_for_kueue(const View& view, const AdmissionRequest& request, Instant /*now*/) {
  if (api::kueue::is_system_namespace(request.key.ns)) {
    return of_system_namespace(request);
  }
  const Queueing queueing = queueing_of(view, settings_of(view));
  const bool named = !Object(request.object).label(name::kQueueName).empty();
  if (!queueing.enabled) {
    Verdict verdict = Verdict::allow();
    if (named) {
      verdict.warnings.push_back(
          fmt::format("{} is not integrated with the queueing: label {} has no effect, and its "
                      "pods run without quota",
                      kAppWrapper.name, name::kQueueName));
    }
    return verdict;
  }
  Errors errors = kueue_errors(view, request);
  if (request.operation == Operation::Create && !named &&
      is_queued(view, placed(request), queueing)) {
    const Errors wrong = check_queued_name(request.object);
    errors.insert(errors.end(), wrong.begin(), wrong.end());
  }
  Verdict verdict = answer(errors);
  if (verdict.allowed && request.operation == Operation::Create) {
    verdict.warnings = kueue_warnings(request.object, api::kueue::kEngine);
  }
  if (verdict.allowed && request.operation == Operation::Update &&
      request.object["spec"]["suspend"].as_bool() && !is_queued(view, placed(request), queueing) &&
      is_queued(view, request.old_object, queueing)) {
    verdict.warnings.push_back(api::kueue::left_queue(kAppWrapper.name));
  }
  warn_beside_prebuilt(request, verdict);
  return verdict;
}

constexpr std::string_view kMutator = "mappwrapper.kb.io";
constexpr std::string_view kValidator = "vappwrapper.kb.io";
constexpr std::string_view kMutatePath = "/mutate-workload-codeflare-dev-v1beta2-appwrapper";
constexpr std::string_view kValidatePath = "/validate-workload-codeflare-dev-v1beta2-appwrapper";
constexpr std::string_view kMutatingConfiguration = "appwrapper-mutating-webhook-configuration";
constexpr std::string_view kValidatingConfiguration = "appwrapper-validating-webhook-configuration";
constexpr WebhookRule kWrites[] = {{&kAppWrapper, "CREATE UPDATE", ""}};
constexpr WebhookRule kCreates[] = {{&kAppWrapper, "CREATE", ""}};

constexpr Webhook kWebhooks[] = {{.name = kMutator,
                                  .path = kMutatePath,
                                  .configuration = kMutatingConfiguration,
                                  .mutating = true,
                                  .rules = kWrites,
                                  .admit = mutate},
                                 {.name = kValidator,
                                  .path = kValidatePath,
                                  .configuration = kValidatingConfiguration,
                                  .rules = kWrites,
                                  .admit = judge}};
constexpr Webhook kKueueWebhooks[] = {
    {.name = kMutator,
     .mutating = true,
     .rules = kCreates,
     .admit = mutate_for_kueue,
     .yields_to_namesake = true},
    {.name = kValidator, .rules = kWrites, .admit = judge_for_kueue, .yields_to_namesake = true}};

}  // namespace

std::span<const Webhook> webhooks() {
  return kWebhooks;
}

std::span<const Webhook> kueue_webhooks() {
  return kKueueWebhooks;
}

}  // namespace athanor::appwrapper
