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

namespace athanor::transport {

// How a response is framed on its connection.
struct Framing {
  std::optional<std::size_t> length{};  // nullopt: unknown, see chunked
  bool chunked = false;
  bool keep_alive = true;
  bool http_1_0 = false;  // of the request: keep-alive must be said
};

// Status line and header fields, with the empty line.
std::string response_head(const apiserver::Response& response, const Framing& framing,
                          std::string_view date);
// False for 1xx, 204 and 304.
bool has_body(int status);

// "Sun, 06 Nov 1994 08:49:37 GMT".
std::string http_date(Instant instant);

// The Kubernetes Status of an error.
apiserver::Response status_response(const Error& error);
// What a request gets that is not handed to the API server: a Status for a body that is too large
// (docs/spec/apiserver.md 6), plain text for what is not HTTP as it should be.
apiserver::Response rejection_response(const Rejection& rejection);

}  // namespace athanor::transport
