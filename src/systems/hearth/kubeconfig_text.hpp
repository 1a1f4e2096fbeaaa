// SPDX-License-Identifier: Apache-2.0
// What is wrong with a kubeconfig, in the words of docs/spec/hearth.md 6.2: what a FournosCluster
// says, and `athanor clusters add` before there is one.
#pragma once

#include <string>

#include "kube/text/kubeconfig.hpp"

namespace athanor::hearth {

// Returns one line without secrets; empty without a flaw.
std::string flaw_text(const KubeconfigReading& reading, const std::string& secret,
                      const std::string& cluster);

}  // namespace athanor::hearth
