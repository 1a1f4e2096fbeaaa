// SPDX-License-Identifier: Apache-2.0
// The laptop lab as a scene: custom kinds, the sample setup of examples/fournos, Kueue and Tekton
// with their write-time rules, one node with timed pods.
#pragma once

#include "embedded/apiserver/request/admission.hpp"
#include "kube/value/value.hpp"
#include "simulation/world.hpp"

namespace athanor::api {
struct CustomKind;  // api/describe.hpp
}

namespace athanor::sim {

inline constexpr const char* kLabNamespace = "fournos-local-dev";

// Every object of a YAML file below the source tree.
std::vector<Value> objects_of(const std::string& file);
// The CustomResourceDefinition of a kind, which is a static.
Value definition_of(const api::CustomKind& kind);
// The webhooks of all systems, with default settings.
std::vector<apiserver::AdmissionStep> system_webhooks();
Scene lab_scene();
// A FournosJob like examples/fournos/sample-job.yaml.
Value sample_job(const std::string& name, const std::string& cluster);

}  // namespace athanor::sim
