// SPDX-License-Identifier: Apache-2.0
// Node ports of a service: who gets which, as Kubernetes allocates them.
#pragma once

#include <cstdint>
#include <set>

#include "embedded/kinds/kind_behaviour.hpp"

namespace athanor::apiserver {

// Gives the ports of an exposed service the numbers that they lack, or checks those it asks for.
// `old_spec` is Null on create; `taken` is what other services hold.
StatusResult<void> allocate_node_ports(Value& service, const Value& old_spec,
                                       std::set<std::int64_t> taken, Entropy& entropy);

}  // namespace athanor::apiserver
