// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/system.hpp"

#include "api/tekton.hpp"
#include "embedded/tekton/config_objects.hpp"
#include "embedded/tekton/operators.hpp"
#include "embedded/tekton/validation/webhooks.hpp"

namespace athanor::tekton {
namespace {

std::vector<const api::CustomKind*> kinds(const Value& /*settings*/) {
  return {api::tekton_kinds().begin(), api::tekton_kinds().end()};
}

std::vector<Value> lab_objects(const LabFacts& /*lab*/) {
  return config_objects();
}

}  // namespace

const System& system() {
  static const System kSystem{.name = "tekton",
                              .summary = "Tekton-compatible pipelines",
                              .stand_in = true,
                              .kinds = kinds,
                              .operators = {&pipelinerun_operator(), &taskrun_operator()},
                              .webhooks = {webhooks().begin(), webhooks().end()},
                              .lab_objects = lab_objects};
  return kSystem;
}

}  // namespace athanor::tekton
