// SPDX-License-Identifier: Apache-2.0
// What is served here: the discovery documents (docs/spec/apiserver.md 4.1, 4.2).
#pragma once

#include "embedded/apiserver/request/call.hpp"

namespace athanor::apiserver {

// Serves "/", "/api", "/apis", "/api/v1", "/apis/G" and "/apis/G/V"; nullopt for any other path.
std::optional<StatusResult<Response>> serve_discovery(Call& call);

// Returns the APIVersions of /api.
Value api_versions(const Core& core);
// Returns the APIGroupList of /apis.
Value api_group_list(const ResourceTable& table);
// Returns the APIGroup of one group.
Value api_group(const GroupInfo& group);
// Returns the APIResourceList of one group version.
Value api_resource_list(const ResourceTable& table, std::string_view group,
                        std::string_view version);
// Returns the APIGroupDiscoveryList of the core group, or of all others.
Value aggregated_discovery(const ResourceTable& table, bool core_group);

}  // namespace athanor::apiserver
