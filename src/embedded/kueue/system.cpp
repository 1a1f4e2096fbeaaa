// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/system.hpp"

#include "api/kueue.hpp"
#include "embedded/kueue/conversion.hpp"
#include "embedded/kueue/scheduler.hpp"
#include "embedded/kueue/settings.hpp"
#include "embedded/kueue/webhooks.hpp"

namespace athanor::kueue {
namespace {

std::vector<const api::CustomKind*> kinds(const Value& /*settings*/) {
  return {api::kueue_kinds().begin(), api::kueue_kinds().end()};
}

Result<Value> convert_object(const Value& object, std::string_view to_version) {
  return convert(object, to_version);
}

Result<Value> read(const SettingsSource& source) {
  ATHANOR_TRY(const Settings settings, parse_settings(source.variables));
  return api::encode(settings);
}

}  // namespace

const System& system() {
  static const System kSystem{
      .name = "kueue",
      .summary = "Kueue-compatible queueing",
      .stand_in = true,
      .kinds = kinds,
      .convert = convert_object,
      .operators = {&scheduler_operator(), &workload_operator(), &cluster_queue_operator(),
                    &local_queue_operator(), &resource_flavor_operator(),
                    &admission_check_operator()},
      .webhooks = {webhooks().begin(), webhooks().end()},
      .settings = read,
      .variables = {"KUEUE_BLOCK_ADMISSION", "KUEUE_PODS_READY_RECOVERY_TIMEOUT",
                    "KUEUE_PODS_READY_TIMEOUT", "KUEUE_REQUEUE_BACKOFF_BASE_SECONDS",
                    "KUEUE_REQUEUE_BACKOFF_LIMIT_COUNT", "KUEUE_REQUEUE_BACKOFF_MAX_SECONDS",
                    "KUEUE_WAIT_FOR_PODS_READY"}};
  return kSystem;
}

}  // namespace athanor::kueue
