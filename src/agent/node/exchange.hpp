// SPDX-License-Identifier: Apache-2.0
// Exchanging the slices of two pods that the kubelet served in another order than it was taken to
// (docs/spec/das.md N-B13).
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "kube/value/object.hpp"
#include "systems/das/agent/ledger.hpp"

namespace athanor::agent {

class ApiWrites;
class Slices;

// The name's ending of a claim that holds a slot while two others change places.
inline constexpr const char* kExchangeSuffix = "-exchange";

// Makes each claim of one grant name the slice of the other's, pair by pair. At no instant is one
// of the slots free: a third claim holds it meanwhile. Returns the claims as written.
Result<std::vector<Object>> exchange_claims(const das::Grant& one, const das::Grant& other,
                                            const das::NodeSight& sight, Slices& slices,
                                            ApiWrites& writes, const std::string& ns);

// Deletes what a crash in the middle left.
void clean_exchanges(const das::NodeSight& sight, ApiWrites& writes);

}  // namespace athanor::agent
