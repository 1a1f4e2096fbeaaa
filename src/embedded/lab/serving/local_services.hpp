// SPDX-License-Identifier: Apache-2.0
// Services that the lab answers for itself, without a socket: what the systems serve as aggregated
// API servers (runtime/view/served_group.hpp).
#pragma once

#include <functional>
#include <memory>

#include "base/time.hpp"
#include "embedded/apiserver/request/outside.hpp"
#include "embedded/store/store.hpp"
#include "runtime/view/system.hpp"

namespace athanor::lab {

// Answers a request to one of these services, on the caller's thread; null: it goes to the network.
using LocalServices =
    std::function<std::unique_ptr<apiserver::OutsideAnswer>(const apiserver::OutsideRequest&)>;

// Returns the services; `store` and `clock` are asked with each request.
LocalServices local_services(Systems systems, const SystemConfig& config,
                             std::function<const store::Store&()> store,
                             std::function<Instant()> clock);

}  // namespace athanor::lab
