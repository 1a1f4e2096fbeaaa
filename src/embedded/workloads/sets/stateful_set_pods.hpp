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

// The number at the end of a pod's name; -1 when the name is not "<set>-<number>".
std::int64_t ordinal_of(const Object& set, const Object& pod);
// "<set>-<ordinal>".
std::string pod_name(const Object& set, std::int64_t ordinal);
// "<template>-<set>-<ordinal>".
std::string claim_name(const Object& set, const Value& claim_template, std::int64_t ordinal);

// The pod of an ordinal from a template of the set, which need not be its present one.
Value make_stateful_pod(const Object& set, const Value& pod_template, std::int64_t ordinal,
                        const std::string& revision);
// The claim of an ordinal, owned by the set where its retention policy deletes claims with it.
Value make_claim(const Object& set, const Value& claim_template, std::int64_t ordinal);

// Whether a pod still carries the names its ordinal gives it, and mounts its own claims.
bool keeps_identity(const Object& set, const Object& pod, std::int64_t ordinal);

// metadata.ownerReferences a claim should have: the retention policy decides whether the set, the
// pod (one that is scaled away), or none does. Other owners stay.
Value claim_owners(const Object& set, const Object& pod, const Object& claim, bool condemned);

}  // namespace athanor::workloads
