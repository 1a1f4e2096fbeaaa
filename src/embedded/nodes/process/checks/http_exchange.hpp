// SPDX-License-Identifier: Apache-2.0
// HTTP checks by the rules of kubernetes/pkg/probe/http: redirects on the same host are followed,
// others pass with a warning; certificates are not checked.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "embedded/nodes/process/checks/check_exchange.hpp"
#include "kube/value/value.hpp"

namespace athanor::nodes {

// Makes the exchange of an action of type http.
std::unique_ptr<CheckExchange> make_http_exchange(const Value& action);

// Returns the action to which `location` leads from `action`, on any host; Null when it is no
// address of HTTP.
Value redirected_action(const Value& action, std::string_view location);

}  // namespace athanor::nodes
