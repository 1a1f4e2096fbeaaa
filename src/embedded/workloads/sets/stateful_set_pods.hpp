// SPDX-License-Identifier: Apache-2.0
// The pods of a StatefulSet and their claims: names, labels, volumes, who owns a claim.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::workloads {

// Labels of pods: their name and ordinal.
inline constexpr const char* kPodNameLabel = "statefulset.kubernetes.io/pod-name";
inline constexpr const char* kPodIndexLabel = "apps.kubernetes.io/pod-index";

// Returns the number at the end of a pod's name; -1 when the name is not "<set>-<number>".
std::int64_t ordinal_of(const Object& set, const Object& pod);
// Returns "<set>-<ordinal>".
std::string pod_name(const Object& set, std::int64_t ordinal);
// Returns "<template>-<set>-<ordinal>".
std::string claim_name(const Object& set, const Value& claim_template, std::int64_t ordinal);

// Makes the pod of an ordinal from a template of the set, also from an earlier one.
Value make_stateful_pod(const Object& set, const Value& pod_template, std::int64_t ordinal,
                        const std::string& revision);
// Makes the claim of an ordinal; the set owns it if its retention policy deletes claims with it.
Value make_claim(const Object& set, const Value& claim_template, std::int64_t ordinal);

// Returns true if a pod still carries the names its ordinal gives it, and mounts its own claims.
bool keeps_identity(const Object& set, const Object& pod, std::int64_t ordinal);

// Returns a claim's metadata.ownerReferences: the retention policy decides whether the set, the pod
// (one that is scaled away), or none is an owner. Other owners stay.
Value claim_owners(const Object& set, const Object& pod, const Object& claim, bool condemned);

}  // namespace athanor::workloads
