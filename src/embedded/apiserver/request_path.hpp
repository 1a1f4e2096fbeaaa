// SPDX-License-Identifier: Apache-2.0
// What a request line asks for, before anything is looked up: the shape of the path and the verb
// (spec/apiserver.md 3).
#pragma once

#include <string>

#include "embedded/apiserver/authorize.hpp"
#include "embedded/apiserver/http.hpp"

namespace athanor::apiserver {

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

RequestPath parse_request_path(const Request& request);

// What the authorizer is asked for this path.
Attributes attributes_of(const RequestPath& path, const Request& request, const UserInfo& user);

}  // namespace athanor::apiserver
