// SPDX-License-Identifier: Apache-2.0
// The controllers behind what the console shows: their health, queues and leader.
#pragma once

#include "console/routes/exchange.hpp"
#include "kube/value/value.hpp"

namespace athanor::console {

// Returns {source, absent, items, ready, leader, leads, errors}: what the controllers' process says
// of itself, and the Lease of their election. The process is that of the lab, or the one at
// CONSOLE_CONTROLLERS_URL. Waits for both.
Value controllers_page(Exchange& exchange);

}  // namespace athanor::console
