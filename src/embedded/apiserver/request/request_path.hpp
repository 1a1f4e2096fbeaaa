// SPDX-License-Identifier: Apache-2.0
// What a request line asks for, before anything is looked up: the shape of the path and the verb
// (docs/spec/apiserver.md 3).
#pragma once

#include <string>

#include "base/result.hpp"
#include "base/time.hpp"
#include "embedded/apiserver/request/authorize.hpp"
#include "embedded/apiserver/request/http.hpp"

namespace athanor::apiserver {

// The parts of a request's path; what it does not have is empty.
struct RequestPath {
  bool is_resource = false;  // /api/VERSION/RESOURCE... or /apis/GROUP/VERSION/RESOURCE...
  std::string group{}, version{};
  std::string ns{}, resource{}, name{}, subresource{};
  std::string rest{};  // below the subresource (proxies)
  // get, list, watch, create, update, patch, delete, deletecollection; for other paths the
  // lower-case method.
  std::string verb{};
  bool legacy_watch = false;  // /api/v1/watch/...
};

// Parses path and method; any path has a result.
RequestPath parse_request_path(const Request& request);

// Watches, logs, streams and proxies: they may take as long as they like.
bool is_long_running(const RequestPath& path);

// Returns how long the request may take: the time for which it asks, at most `longest`. Errors name
// the flaw of its ?timeout= (docs/spec/apiserver.md 2.9).
Result<Duration> allotted_time(const Request& request, Duration longest);

// Returns the authorizer's question for this path.
Attributes attributes_of(const RequestPath& path, const Request& request, const UserInfo& user);

}  // namespace athanor::apiserver
