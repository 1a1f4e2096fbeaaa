// SPDX-License-Identifier: Apache-2.0
// Events of Services and pods whose ports this lab cannot serve.
#pragma once

#include "base/time.hpp"
#include "embedded/apiserver/core/server.hpp"
#include "embedded/nodes/network/service_table.hpp"
#include "embedded/store/store.hpp"

namespace athanor::lab {

// Writes the Event "PortNotServed" of the problem's Service or pod; does nothing if it is gone.
// Thread-safe.
void write_port_event(apiserver::Server& server, const store::Store& store,
                      const nodes::PortProblem& problem, Instant now);

}  // namespace athanor::lab
