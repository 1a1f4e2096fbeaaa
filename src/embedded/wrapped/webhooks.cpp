// SPDX-License-Identifier: Apache-2.0
#include "embedded/wrapped/webhooks.hpp"

#include <fmt/core.h>

#include "embedded/wrapped/ignored_fields.hpp"
#include "embedded/wrapped/kinds.hpp"

namespace athanor::wrapped {
namespace {

constexpr Kind kAppWrapper{"workload.codeflare.dev", "v1beta2", "AppWrapper", "appwrappers", true};

Verdict judge(const View& /*view*/, const AdmissionRequest& request, Instant /*now*/) {
  Verdict verdict = Verdict::allow();
  if (request.kind != kAppWrapper.name) {
    verdict.warnings = ignored_fields(request.object);
    return verdict;
  }
  const Value& components = request.object["spec"]["components"];
  for (std::size_t i = 0; i < components.size(); ++i) {
    auto more =
        ignored_fields(components[i]["template"], fmt::format("spec.components[{}].template.", i));
    verdict.warnings.insert(verdict.warnings.end(), more.begin(), more.end());
  }
  return verdict;
}

constexpr std::string_view kWrites = "CREATE UPDATE";
// The templates of an AppWrapper never change.
constexpr WebhookRule kRules[] = {{&kJobSet, kWrites, ""},          {&kPyTorchJob, kWrites, ""},
                                  {&kRayCluster, kWrites, ""},      {&kRayJob, kWrites, ""},
                                  {&kLeaderWorkerSet, kWrites, ""}, {&kPodGroup, kWrites, ""},
                                  {&kSigsPodGroup, kWrites, ""},    {&kAppWrapper, "CREATE", ""}};
constexpr Webhook kWebhooks[] = {
    {.name = "wrapped.athanor.dev", .rules = kRules, .admit = judge, .ignore_failure = true}};

}  // namespace

std::span<const Webhook> webhooks() {
  return kWebhooks;
}

}  // namespace athanor::wrapped
