// SPDX-License-Identifier: Apache-2.0
// What is odd about the volumes of a pod, though allowed.
#pragma once

#include <string>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor::apiserver {

// Volumes of kinds that are gone, files that lie in each other's way; `path` is the pod spec's.
void warn_of_volumes(const Value& volumes, const std::string& path,
                     std::vector<std::string>& warnings);
// Fractions of bytes of storage; `path` is the claim spec's.
void warn_of_claim(const Value& claim_spec, const std::string& path,
                   std::vector<std::string>& warnings);

}  // namespace athanor::apiserver
