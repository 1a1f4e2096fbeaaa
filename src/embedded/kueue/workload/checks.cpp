// SPDX-License-Identifier: Apache-2.0
// AdmissionChecks: the finalizer of each, and the word on those whose controller is none of this
// engine's (docs/spec/kueue.md 9, 15).
#include "embedded/kueue/workload/checks.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "api/kueue.hpp"
#include "kube/value/condition.hpp"

namespace athanor::kueue {
namespace {

constexpr std::string_view kUnsupported[] = {"kueue.x-k8s.io/multikueue",
                                             "kueue.x-k8s.io/provisioning-request"};

Plan reconcile(const View& view, const Key& key, Instant now) {
  const auto check = view.get(api::kueue::kAdmissionCheck, key);
  Plan plan;
  if (!check || check->deleting()) {
    return plan;
  }
  if (!check->has_finalizer(api::kueue::kInUseFinalizer)) {
    Value finalizers = check->metadata()["finalizers"];
    finalizers.push_back(api::kueue::kInUseFinalizer);
    plan.then(
        Patch{.target = {&api::kueue::kAdmissionCheck, key},
              .merge = Value::object({{"metadata", Value::object({{"finalizers", finalizers}})}}),
              .guard = {.uid = std::string(check->uid()),
                        .resource_version = std::string(check->resource_version())}});
    return plan;
  }
  const std::string_view controller = check->spec()["controllerName"].as_string();
  if (std::ranges::find(kUnsupported, controller) == std::end(kUnsupported)) {
    return plan;
  }
  Value conditions = check->status()["conditions"];
  set_condition(
      conditions,
      {.type = "Active",
       .status = "False",
       .reason = "UnsupportedController",
       .message = fmt::format("controller {} is not available in the embedded engine", controller),
       .observed_generation = check->generation()},
      now);
  plan.then(Status{.target = {&api::kueue::kAdmissionCheck, key},
                   .status = Value::object({{"conditions", std::move(conditions)}}),
                   .guard = {.uid = std::string(check->uid())}});
  return plan;
}

}  // namespace

const Operator& check_finalizer_operator() {
  static const Kind* const kReads[] = {&api::kueue::kAdmissionCheck};
  static const Kind* const kWrites[] = {&api::kueue::kAdmissionCheck};
  static const Access kAccess[] = {{&api::kueue::kAdmissionCheck, "patch"},
                                   {&api::kueue::kAdmissionCheck, "patch", "status"},
                                   {&api::kueue::kAdmissionCheck, "update", "finalizers"}};
  static const Operator kOperator{.name = "kueue-admissioncheck-finalizer",
                                  .primary = &api::kueue::kAdmissionCheck,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::kueue
