// SPDX-License-Identifier: Apache-2.0
#include "embedded/tekton/system.hpp"

#include "api/tekton.hpp"
#include "embedded/tekton/instruments.hpp"
#include "embedded/tekton/model/config_objects.hpp"
#include "embedded/tekton/model/conversion.hpp"
#include "embedded/tekton/model/operators.hpp"
#include "embedded/tekton/model/setting_variables.hpp"
#include "embedded/tekton/validation/webhooks.hpp"

namespace athanor::tekton {
namespace {

std::vector<const api::CustomKind*> kinds(const Value& /*settings*/) {
  return {api::tekton_kinds().begin(), api::tekton_kinds().end()};
}

std::vector<Value> lab_objects(const LabFacts& lab) {
  const auto section = lab.config.find("tekton");
  return config_objects(section == lab.config.end() ? Value() : section->second);
}

// Connections of the poster, which bounds the messages that wait for them, too.
std::size_t events_at_once(const Value& /*settings*/) {
  return 64;
}

Result<Value> convert_object(const Value& object, std::string_view to_version) {
  return convert(object, to_version);
}

}  // namespace

const System& system() {
  static const System kSystem{.name = "tekton",
                              .summary = "Tekton-compatible pipelines",
                              .stand_in = true,
                              .kinds = kinds,
                              .convert = convert_object,
                              .operators = {&pipelinerun_operator(), &taskrun_operator(),
                                            &custom_run_events_operator(), &pruner_operator()},
                              .webhooks = {webhooks().begin(), webhooks().end()},
                              .instruments = &instruments(),
                              .settings = read_section,
                              .variables = {setting_variables().begin(), setting_variables().end()},
                              .probes = {{.name = "notify", .concurrency = events_at_once}},
                              .lab_objects = lab_objects};
  return kSystem;
}

}  // namespace athanor::tekton
