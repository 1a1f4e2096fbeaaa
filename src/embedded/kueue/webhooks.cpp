// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/webhooks.hpp"

#include "api/kueue.hpp"
#include "embedded/kueue/admission.hpp"

namespace athanor::kueue {
namespace {

Verdict mutate(const View& /*view*/, const AdmissionRequest& request, Instant /*now*/) {
  Value object = request.object;
  apply_defaults(object);
  return Verdict::change(request.object, object);
}

Verdict judge(const View& /*view*/, const AdmissionRequest& request, Instant /*now*/) {
  const bool update = request.operation == AdmissionRequest::Operation::Update;
  const auto valid = validate(request.object, update ? &request.old_object : nullptr);
  return valid.ok() ? Verdict::allow() : Verdict::refuse(valid.error());
}

constexpr std::string_view kWrites = "CREATE UPDATE";
constexpr WebhookRule kNewClusterQueue[] = {{&api::kueue::kClusterQueue, "CREATE", ""}};
constexpr WebhookRule kNewFlavor[] = {{&api::kueue::kResourceFlavor, "CREATE", ""}};
constexpr WebhookRule kNewCheck[] = {{&api::kueue::kAdmissionCheck, "CREATE", ""}};
constexpr WebhookRule kClusterQueue[] = {{&api::kueue::kClusterQueue, kWrites, ""}};
constexpr WebhookRule kFlavor[] = {{&api::kueue::kResourceFlavor, kWrites, ""}};
constexpr WebhookRule kCohort[] = {{&api::kueue::kCohort, kWrites, ""}};
constexpr WebhookRule kWorkload[] = {{&api::kueue::kWorkload, kWrites, ""},
                                     {&api::kueue::kWorkload, "UPDATE", "status"}};

constexpr Webhook kWebhooks[] = {
    {.name = "mclusterqueue.kb.io", .mutating = true, .rules = kNewClusterQueue, .admit = mutate},
    {.name = "mresourceflavor.kb.io", .mutating = true, .rules = kNewFlavor, .admit = mutate},
    {.name = "madmissioncheck.kb.io", .mutating = true, .rules = kNewCheck, .admit = mutate},
    {.name = "vclusterqueue.kb.io", .rules = kClusterQueue, .admit = judge},
    {.name = "vresourceflavor.kb.io", .rules = kFlavor, .admit = judge},
    {.name = "vcohort.kb.io", .rules = kCohort, .admit = judge},
    {.name = "vworkload.kb.io", .rules = kWorkload, .admit = judge}};

}  // namespace

std::span<const Webhook> webhooks() {
  return kWebhooks;
}

}  // namespace athanor::kueue
