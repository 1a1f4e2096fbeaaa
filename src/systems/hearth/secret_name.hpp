// SPDX-License-Identifier: Apache-2.0
// Names of kubeconfig Secrets (docs/spec/hearth.md 4). Private to this folder.
#pragma once

#include <string>
#include <string_view>

namespace athanor::hearth {

// Returns the part of a Secret's name that the pattern calls {cluster}; empty: no match.
std::string cluster_of_secret(std::string_view secret, const std::string& pattern);

}  // namespace athanor::hearth
