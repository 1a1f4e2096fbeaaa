// SPDX-License-Identifier: Apache-2.0
// Pod specs, wherever they occur: in pods and in the templates of workloads
// (docs/spec/apiserver.md 14.2, 14.4).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/names/field_error.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// Whose spec it is; pods alone get service links, and requests from limits.
enum class PodSpecOf : std::uint8_t { Pod, Template };

// Sets the defaults of a spec, its containers and volumes.
void default_pod_spec(Value& spec, PodSpecOf of);
// Sets the defaults of a {metadata, spec}.
void default_pod_template(Value& pod_template);
// Returns BestEffort, Burstable or Guaranteed.
std::string_view qos_class(const Value& pod_spec);

// Returns the errors below `path` ("spec", "spec.template.spec").
std::vector<FieldError> validate_pod_spec(const Value& spec, const std::string& path);
// Returns the errors of a {metadata, spec}, its labels and annotations included.
std::vector<FieldError> validate_pod_template(const Value& pod_template, const std::string& path);

// Containers in one list: those of "initContainers", then "containers".
std::vector<Value> all_containers(const Value& pod_spec);

}  // namespace athanor::apiserver
