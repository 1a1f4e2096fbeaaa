// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/system.hpp"

#include "api/kueue.hpp"
#include "embedded/kueue/conversion.hpp"
#include "embedded/kueue/scheduler.hpp"
#include "embedded/kueue/webhooks.hpp"

namespace athanor::kueue {
namespace {

std::vector<const api::CustomKind*> kinds(const Value& /*settings*/) {
  return {api::kueue_kinds().begin(), api::kueue_kinds().end()};
}

Result<Value> convert_object(const Value& object, std::string_view to_version) {
  return convert(object, to_version);
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
      .webhooks = {webhooks().begin(), webhooks().end()}};
  return kSystem;
}

}  // namespace athanor::kueue
