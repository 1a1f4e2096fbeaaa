// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/rules/webhooks.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "embedded/kueue/model/configuration.hpp"
#include "embedded/kueue/rules/admission.hpp"
#include "embedded/kueue/rules/left_out.hpp"

namespace athanor::kueue {
namespace {

Verdict mutate(const View& /*view*/, const AdmissionRequest& request, Instant /*now*/) {
  Value object = request.object;
  apply_defaults(object);
  return Verdict::change(request.object, object);
}

// Where partial admission is off, no pod set can run with fewer pods (5.1).
Verdict mutate_workload(const View& view, const AdmissionRequest& request, Instant /*now*/) {
  if (configured_section(view)["partialAdmission"].as_bool(true)) {
    return Verdict::allow();
  }
  Value object = request.object;
  without_min_counts(object);
  return Verdict::change(request.object, object);
}

bool asks_for_the_same(const AdmissionRequest& request) {
  return request.object["spec"] == request.old_object["spec"] &&
         request.object["metadata"]["annotations"] == request.old_object["metadata"]["annotations"];
}

Verdict judge(const View& view, const AdmissionRequest& request, Instant /*now*/) {
  const bool update = request.operation == AdmissionRequest::Operation::Update;
  const auto valid = validate(request.object, update ? &request.old_object : nullptr);
  if (!valid.ok()) {
    return Verdict::refuse(valid.error());
  }
  Verdict verdict = Verdict::allow();
  if (request.subresource.empty() && !(update && asks_for_the_same(request))) {
    verdict.warnings = left_out(request.object);
    const bool fair = configured_section(view)["fairSharing"].as_bool();
    if (std::string sentence = left_out_weight(request.object, fair); !sentence.empty()) {
      verdict.warnings.push_back(std::move(sentence));
    }
  }
  return verdict;
}

// A configuration that would not be read is not stored.
Verdict judge_configuration(const View& view, const AdmissionRequest& request, Instant /*now*/) {
  const Value& text = request.object["data"][kConfigurationKey];
  if (request.key.name != kConfigurationName || !text.is_string()) {
    return Verdict::allow();
  }
  const auto read = read_configuration(view.config("kueue"), text.as_string());
  if (!read.ok()) {
    return Verdict::deny(fmt::format("{}: {}", kConfigurationKey, read.error().message));
  }
  Verdict verdict = Verdict::allow();
  for (const std::string& sentence : read->warnings) {
    verdict.warnings.push_back(fmt::format("{}: {}", kConfigurationKey, sentence));
  }
  return verdict;
}

constexpr std::string_view kWrites = "CREATE UPDATE";
constexpr WebhookRule kNewClusterQueue[] = {{&api::kueue::kClusterQueue, "CREATE", ""}};
constexpr WebhookRule kNewWorkload[] = {{&api::kueue::kWorkload, "CREATE", ""}};
constexpr WebhookRule kNewFlavor[] = {{&api::kueue::kResourceFlavor, "CREATE", ""}};
constexpr WebhookRule kConfiguration[] = {{&api::kConfigMap, kWrites, ""}};
// No other ConfigMap waits for the answer.
constexpr std::string_view kOnlyTheConfiguration = "object.metadata.name == 'kueue-manager-config'";
constexpr WebhookRule kClusterQueue[] = {{&api::kueue::kClusterQueue, kWrites, ""}};
constexpr WebhookRule kFlavor[] = {{&api::kueue::kResourceFlavor, kWrites, ""}};
constexpr WebhookRule kCohort[] = {{&api::kueue::kCohort, kWrites, ""}};
constexpr WebhookRule kLocalQueue[] = {{&api::kueue::kLocalQueue, kWrites, ""}};
constexpr WebhookRule kStored[] = {{&api::kueue::kTopology, kWrites, ""},
                                   {&api::kueue::kMultiKueueConfig, kWrites, ""},
                                   {&api::kueue::kMultiKueueCluster, kWrites, ""},
                                   {&api::kueue::kProvisioningRequestConfig, kWrites, ""}};
constexpr WebhookRule kWorkload[] = {{&api::kueue::kWorkload, kWrites, ""},
                                     {&api::kueue::kWorkload, "UPDATE", "status"}};

constexpr Webhook kWebhooks[] = {
    {.name = "mclusterqueue.kb.io", .mutating = true, .rules = kNewClusterQueue, .admit = mutate},
    {.name = "mresourceflavor.kb.io", .mutating = true, .rules = kNewFlavor, .admit = mutate},
    {.name = "mworkload.kb.io", .mutating = true, .rules = kNewWorkload, .admit = mutate_workload},
    {.name = "vclusterqueue.kb.io", .rules = kClusterQueue, .admit = judge},
    {.name = "vresourceflavor.kb.io", .rules = kFlavor, .admit = judge},
    {.name = "vcohort.kb.io", .rules = kCohort, .admit = judge},
    {.name = "vlocalqueue.kb.io", .rules = kLocalQueue, .admit = judge, .ignore_failure = true},
    {.name = "vstored.kb.io", .rules = kStored, .admit = judge, .ignore_failure = true},
    {.name = "vworkload.kb.io", .rules = kWorkload, .admit = judge},
    {.name = "vconfiguration.kb.io",
     .rules = kConfiguration,
     .admit = judge_configuration,
     .ns = kConfigurationNamespace,
     .condition = kOnlyTheConfiguration}};

}  // namespace

std::span<const Webhook> webhooks() {
  return kWebhooks;
}

}  // namespace athanor::kueue
