// SPDX-License-Identifier: Apache-2.0
// What a request's head may contain. A control byte in a header or an address could end the line
// and begin another header, or another request, so nothing that holds one is sent.
#pragma once

#include <string>
#include <string_view>

namespace athanor::client {

struct HttpQuery;

// Returns why a header must not be sent, as Go's net/http words it; empty: it may be. The text
// never holds the value, which may be a secret.
std::string header_flaw(std::string_view name, std::string_view value);
// Returns why a URL (or a path of one) must not be sent; empty: it may be.
std::string url_flaw(std::string_view url);
// Returns why a request must not be sent: its method, its address or a header.
std::string query_flaw(const HttpQuery& query);

}  // namespace athanor::client
