// SPDX-License-Identifier: Apache-2.0
// Requests that are not plain reads and writes of stored objects: bindings, evictions, logs,
// tokens, scale, reviews (docs/spec/apiserver.md 12, 16.4). One table from (resource, subresource,
// method) to a function.
#pragma once

#include <span>
#include <string_view>

#include "embedded/apiserver/request/call.hpp"

namespace athanor::apiserver {

using SubresourceHandler = StatusResult<Response> (*)(Call& call);

// One row of the table.
struct SubresourceRoute {
  std::string_view storage{};      // "pods", "tokenreviews.authentication.k8s.io"; "*" any
  std::string_view subresource{};  // "" for kinds that are never stored
  std::string_view method{};       // "POST"; "*" any
  SubresourceHandler handler = nullptr;
};

// Returns the handler; nullptr: a plain write of the main object's status, or not implemented.
SubresourceHandler subresource_handler(const ResourceInfo& resource, std::string_view subresource,
                                       std::string_view method);

// Returns serviceaccounts/token and the review kinds; defined in auth/.
std::span<const SubresourceRoute> auth_routes();

// What a body must be: its kind and schema.
struct ExpectedBody {
  std::string_view group{}, version{}, kind{};
  SchemaPtr schema = nullptr;
};
// Returns the parsed body (JSON, YAML, protobuf) of a POST or PUT, checked against `expected`;
// unknown fields are reported as fieldValidation says, absent kind and apiVersion filled in. For
// in-process callers: their Value as it is.
StatusResult<Value> read_body(Call& call, const ExpectedBody& expected);

// Returns a 201 (or other) answer with one object, encoded as the client accepts it.
Response object_response(Call& call, Value object, int code);

}  // namespace athanor::apiserver
