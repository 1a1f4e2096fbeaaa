// SPDX-License-Identifier: Apache-2.0
// Schemas of the Kueue kinds that are served and stored without behaviour (docs/spec/kueue.md 1).
// Private to src/api/kueue*.cpp.
#pragma once

#include "api/describe.hpp"

namespace athanor::api::kueue {

const TypeInfo& topology_type();
const TypeInfo& multi_kueue_config_type();
const TypeInfo& multi_kueue_cluster_type();
// Returns the type of v1beta1, which has the kubeconfig in the spec itself.
const TypeInfo& multi_kueue_cluster_type_v1beta1();
const TypeInfo& provisioning_request_config_type();

}  // namespace athanor::api::kueue
