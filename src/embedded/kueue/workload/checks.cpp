// SPDX-License-Identifier: Apache-2.0
// AdmissionChecks: the finalizer of each (docs/spec/kueue.md 9).
#include "embedded/kueue/workload/checks.hpp"

#include "api/kueue.hpp"

namespace athanor::kueue {
namespace {

Plan reconcile_check(const View& view, const Key& key, Instant /*now*/) {
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
  }
  return plan;
}

}  // namespace

const Operator& check_finalizer_operator() {
  static const Kind* const kReads[] = {&api::kueue::kAdmissionCheck};
  static const Kind* const kWrites[] = {&api::kueue::kAdmissionCheck};
  static const Access kAccess[] = {{&api::kueue::kAdmissionCheck, "patch"},
                                   {&api::kueue::kAdmissionCheck, "update", "finalizers"}};
  static const Operator kOperator{.name = "kueue-admissioncheck-finalizer",
                                  .primary = &api::kueue::kAdmissionCheck,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_check,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::kueue
