// SPDX-License-Identifier: Apache-2.0
// Dispatches requests: host, session, rights to change, then the route's handler, or a page.
#pragma once

#include "console/routes/exchange.hpp"
#include "net/http.hpp"

namespace athanor::console {

// Answers a request. May wait for the API server.
net::Response dispatch(const net::Request& request, Services& services);

}  // namespace athanor::console
