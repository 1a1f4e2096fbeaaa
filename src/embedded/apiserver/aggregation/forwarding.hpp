// SPDX-License-Identifier: Apache-2.0
// Passing a request on to another server, and its answer back: what aggregation and the proxies of
// nodes, pods and services share.
#pragma once

#include <string>
#include <string_view>

#include "embedded/apiserver/request/http.hpp"
#include "embedded/apiserver/request/options.hpp"
#include "embedded/apiserver/request/outside.hpp"

namespace athanor::apiserver {

// Encodes, by percent, everything but unreserved characters and those in `kept`.
std::string percent_encoded(std::string_view text, std::string_view kept);
// Returns "/PATH?QUERY", encoded.
std::string request_target(const Request& request);
// Returns the body as it was sent, or printed.
std::string body_text(const Request& request);
// Adds the headers that are not about one connection and not about who asks.
void pass_headers(const Request& request, const FrontProxy& proxy, OutsideRequest& out);
// Returns true if the request wants to leave HTTP for another protocol, whichever.
bool asks_to_switch(const Request& request);
// Asks for that protocol too; behind pass_headers().
void pass_upgrade(const Request& request, OutsideRequest& out);
// Returns the answer for the client; a stream in it stays one, and so does a channel.
Response passed_on(const Request& request, const OutsideAnswer& answer);

}  // namespace athanor::apiserver
