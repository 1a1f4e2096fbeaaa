// SPDX-License-Identifier: Apache-2.0
// A deployment with its ReplicaSets: which is the new one, and how many pods each may have.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kube/value/object.hpp"

namespace athanor::workloads {

// The number of a ReplicaSet's revision, and the numbers it had before, comma-separated.
inline constexpr const char* kRevisionAnnotation = "deployment.kubernetes.io/revision";
inline constexpr const char* kRevisionHistoryAnnotation =
    "deployment.kubernetes.io/revision-history";
// What the deployment's size and most pods were when a ReplicaSet was last sized.
inline constexpr const char* kDesiredAnnotation = "deployment.kubernetes.io/desired-replicas";
inline constexpr const char* kMaxAnnotation = "deployment.kubernetes.io/max-replicas";
// Distinguishes the pods of a deployment's ReplicaSets.
inline constexpr const char* kTemplateHashLabel = "pod-template-hash";

// A deployment with its defaults, and its ReplicaSets.
struct DeploymentFacts {
  Object deployment{};
  std::int64_t replicas = 1;
  std::int64_t max_surge = 0;        // pods beyond `replicas`
  std::int64_t max_unavailable = 0;  // pods below `replicas`
  bool recreate = false;
  bool paused = false;
  std::optional<Object> current{};  // the ReplicaSet of the template as it is now
  std::vector<Object> old{};        // oldest first
};
// Requires as `sets` those that the deployment controls.
DeploymentFacts gather_deployment(const Object& deployment, const std::vector<Object>& sets);

// Returns spec.replicas.
std::int64_t size_of(const Object& set);
// Returns a counter of the status ("readyReplicas"); 0 when absent.
std::int64_t status_of(const Object& set, const char* counter);
// Returns the number in kRevisionAnnotation; 0 when absent.
std::int64_t revision_of(const Object& set);

// Returns the sizes the ReplicaSets should have now, by name; the new one under the name "" until
// it exists. Leaves out those that stay as they are.
std::map<std::string, std::int64_t> wanted_sizes(const DeploymentFacts& facts);

// Annotations of the deployment that its ReplicaSets have, too.
Value shared_annotations(const Object& deployment);
// Returns the wanted kDesiredAnnotation and kMaxAnnotation.
Value size_annotations(const DeploymentFacts& facts);

// Makes the ReplicaSet of the present template.
Value make_replica_set(const DeploymentFacts& facts, std::int64_t size, std::int64_t revision);

}  // namespace athanor::workloads
