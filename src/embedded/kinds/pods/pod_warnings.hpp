// SPDX-License-Identifier: Apache-2.0
// What is allowed in a pod spec but hardly meant: texts of Warning headers.
#pragma once

#include <string>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor::apiserver {

// Adds the warnings of a pod spec at `path` ("spec", "spec.template.spec"), with its defaults.
void warn_of_pod_spec(const Value& spec, const std::string& path,
                      std::vector<std::string>& warnings);

}  // namespace athanor::apiserver
