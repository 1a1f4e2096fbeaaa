// SPDX-License-Identifier: Apache-2.0
// The API that hands out a GPU: device plugins or DRA. A GPU belongs to one of them at a time
// (docs/spec/das.md 15.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"

namespace athanor::das {

// Annotation of a node: the API of each GPU, see wanted_apis().
inline constexpr const char* kAllocationApiAnnotation = "das.inference.redhat.com/allocation-api";
// Field of a GPU in a NodeAccelerator; absent: device plugins.
inline constexpr const char* kAllocationApiMember = "allocationApi";

// APIs that hand out GPUs.
enum class AllocationApi : std::uint8_t { DevicePlugin, Dra };
// Returns the name in settings and annotations: "deviceplugin" or "dra".
std::string_view name_of(AllocationApi api);

// Returns the wanted owner of each of `gpus` GPUs. `setting`: deviceplugin, dra or both; with both,
// the first half of them, rounded up, belongs to device plugins. `annotation` overrides that: one
// of the two names, or "INDEX=NAME,..." for some of them; empty: none. Errors name the annotation.
Result<std::vector<AllocationApi>> wanted_apis(std::string_view setting,
                                               std::string_view annotation, std::size_t gpus);

// Returns the owners of the node's GPUs by its NodeAccelerator, in its order.
std::vector<AllocationApi> apis_of(const Value& node_resources);

// Sets the owner of each GPU of `resources` from now on: the wanted one, but GPUs that hold claims
// (`used`: their UUIDs) keep that of `before`. Errors name the annotation; nothing changes then,
// and new GPUs have the setting's owner.
Result<void> assign_apis(Value& resources, const Value& before, std::string_view setting,
                         std::string_view annotation,
                         const std::set<std::string, std::less<>>& used);

// Writes it into status.nodeResources.
void set_apis(Value& node_resources, const std::vector<AllocationApi>& apis);

}  // namespace athanor::das
