// SPDX-License-Identifier: Apache-2.0
// The controllers behind what the console shows: their health, queues and leader.
#pragma once

#include "console/routes/exchange.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// Returns {source, absent, items, ready, leader, leads, errors}: the state that the controllers
// process reports, and the Lease of the election. Reads the lab's own process, or the one at
// CONSOLE_CONTROLLERS_URL. Waits for both.
Value controllers_page(Exchange& exchange);

}  // namespace athanor::console
