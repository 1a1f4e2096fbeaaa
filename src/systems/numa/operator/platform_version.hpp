// SPDX-License-Identifier: Apache-2.0
// Versions of OpenShift as far as defaults depend on them (docs/spec/numa.md 3.1).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/view/view.hpp"
#include "systems/numa/operator/node_groups.hpp"

namespace athanor::numa {

// Returns the version in the ClusterVersion; empty: none, or not OpenShift.
std::string platform_version_of(const View& view, Platform platform);

// Returns true if this version's kubelet lists the right pods: the scheduler may then share its
// informer. An unknown kind of pre-release counts as not.
bool has_fixed_kubelet(std::string_view version);

// Returns true if every kubelet is of Kubernetes 1.34 or later, which lists active pods alone.
bool kubelets_list_active_pods(const std::vector<Object>& nodes);

}  // namespace athanor::numa
