// SPDX-License-Identifier: Apache-2.0
// What an object asks for that the engine leaves out (docs/spec/kueue.md 1, 15): it is stored, and
// the answer warns of it. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/kueue_integration.hpp"
#include "kube/value/value.hpp"

namespace athanor::kueue {

// An annotation of jobs whose resizing is not available.
inline constexpr std::string_view kElasticAnnotation = "kueue.x-k8s.io/elastic-job";

using api::kueue::asks_for_topology;
using api::kueue::is_topology_annotation;

// Returns a sentence for a weight of a ClusterQueue or a Cohort without fair sharing; empty: none.
std::string left_out_weight(const Value& object, bool fair_sharing);
// Returns a sentence for each field of a kind of kueue.x-k8s.io that is set and has no effect, and
// for each annotation athanor.dev/* of a queue that its kind does not have (17).
std::vector<std::string> left_out(const Value& object);
// Returns them for a job with these pod sets ({template}), and for its own annotations.
std::vector<std::string> left_out_of_job(const Value& job, const Value& pod_sets);
// Returns them for each topology annotation of a pod.
std::vector<std::string> left_out_of_pod(const Value& pod);

}  // namespace athanor::kueue
