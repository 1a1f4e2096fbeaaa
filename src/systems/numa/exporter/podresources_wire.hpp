// SPDX-License-Identifier: Apache-2.0
// Messages of v1.PodResourcesLister on the wire (docs/spec/numa.md 9.4): protobuf.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "systems/numa/exporter/podresources.hpp"

namespace athanor::numa {

// gRPC paths of the kubelet's podresources API (docs/spec/numa.md 9.4).
inline constexpr std::string_view kListMethod = "/v1.PodResourcesLister/List";
inline constexpr std::string_view kAllocatableMethod =
    "/v1.PodResourcesLister/GetAllocatableResources";
inline constexpr std::string_view kGetMethod = "/v1.PodResourcesLister/Get";

// Reads ListPodResourcesResponse, AllocatableResourcesResponse, GetPodResourcesResponse and
// GetPodResourcesRequest. Unknown fields are skipped; an error says what is malformed.
Result<std::vector<PodResources>> decode_list(std::string_view bytes);
Result<AllocatableResources> decode_allocatable(std::string_view bytes);
Result<PodResources> decode_get(std::string_view bytes);
Result<Key> decode_get_request(std::string_view bytes);

// Returns the wire form of ListPodResourcesResponse and of AllocatableResourcesResponse.
std::string encode(const std::vector<PodResources>& pods);
std::string encode(const AllocatableResources& resources);
// Encodes GetPodResourcesResponse (the next function: GetPodResourcesRequest).
std::string encode_get(const PodResources& pod);
std::string encode_get_request(const Key& pod);

}  // namespace athanor::numa
