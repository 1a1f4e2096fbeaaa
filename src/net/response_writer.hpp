// SPDX-License-Identifier: Apache-2.0
// Responses to bytes: heads, dates, and the answers the transport gives by itself.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "net/http.hpp"
#include "net/request_head.hpp"

namespace athanor::net {

// How a response is framed on its connection.
struct Framing {
  std::optional<std::size_t> length{};  // nullopt: unknown, see chunked
  bool chunked = false;
  bool keep_alive = true;
  bool http_1_0 = false;  // of the request: keep-alive must be said
};

// Returns status line and header fields, with the empty line.
std::string response_head(const net::Response& response, const Framing& framing,
                          std::string_view date);
// Returns false for 1xx, 204 and 304.
bool has_body(int status);

// Returns "Sun, 06 Nov 1994 08:49:37 GMT".
std::string http_date(Instant instant);

// Returns the Kubernetes Status of an error.
net::Response status_response(const Error& error);
// Returns the answer to a request that the API server does not get: a Status for a body that is too
// large (docs/spec/apiserver.md 6), plain text for malformed HTTP.
net::Response rejection_response(const Rejection& rejection);

}  // namespace athanor::net
