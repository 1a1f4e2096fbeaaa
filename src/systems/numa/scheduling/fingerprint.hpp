// SPDX-License-Identifier: Apache-2.0
// The fingerprint of a node's set of pods (docs/spec/numa.md 10.1): equal for equal sets, whatever
// their order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "kube/value/kind.hpp"

namespace athanor::numa {

// Returns the 64-bit xxHash of the bytes.
std::uint64_t xxh64(std::string_view data, std::uint64_t seed);

// Returns the fingerprint of the pods: "pfp0v001" and 16 hexadecimal digits. Duplicates count.
std::string fingerprint_of(std::span<const Key> pods);

// Computes the same in two steps, for sets that differ by a pod: a pod's share, and (the next one)
// the fingerprint of shares in ascending order.
std::uint64_t share_of(const Key& pod);
std::string fingerprint_of_shares(std::span<const std::uint64_t> ascending);

// Compares a computed fingerprint with one that a NodeResourceTopology carries. Errors have the
// texts of docs/spec/numa.md 10.1.
Result<void> check_fingerprint(std::string_view computed, std::string_view expected);

// Values of the attribute nodeTopologyPodsFingerprintMethod.
inline constexpr std::string_view kMethodAll = "all";
inline constexpr std::string_view kMethodExclusive = "with-exclusive-resources";

}  // namespace athanor::numa
