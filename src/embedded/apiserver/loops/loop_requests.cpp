// SPDX-License-Identifier: Apache-2.0
// Requests in process.
#include "embedded/apiserver/loops/loop_requests.hpp"

#include <fmt/core.h>

#include <utility>

namespace athanor::apiserver {
namespace {

std::string path_of(const ResourceInfo& resource, const std::string& ns, const std::string& name,
                    std::string_view subresource) {
  std::string path = resource.group.empty()
                         ? fmt::format("/api/{}", resource.version)
                         : fmt::format("/apis/{}/{}", resource.group, resource.version);
  if (resource.namespaced) {
    path += fmt::format("/namespaces/{}", ns);
  }
  path += "/" + resource.plural;
  if (!name.empty()) {
    path += "/" + name;
  }
  if (!subresource.empty()) {
    path += fmt::format("/{}", subresource);
  }
  return path;
}

}  // namespace

LoopRequests::LoopRequests(Server& server, std::string_view user)
    : server_(server), user_(fmt::format("system:serviceaccount:kube-system:{}", user)) {}

Result<void> LoopRequests::remove(const ResourceInfo& resource, const Key& key,
                                  std::string_view uid, std::string_view policy, Instant now) {
  Value options = Value::object({{"kind", "DeleteOptions"},
                                 {"apiVersion", "v1"},
                                 {"propagationPolicy", policy},
                                 {"preconditions", Value::object({{"uid", uid}})}});
  auto outcome = send("DELETE", path_of(resource, key.ns, key.name, {}), "application/json",
                      std::move(options), now);
  if (!outcome.ok() && outcome.error().code == 404) {
    return {};
  }
  return outcome;
}

Result<void> LoopRequests::merge_patch(const ResourceInfo& resource, const Key& key,
                                       std::string_view subresource, Value patch, Instant now) {
  return send("PATCH", path_of(resource, key.ns, key.name, subresource),
              "application/merge-patch+json", std::move(patch), now);
}

Result<void> LoopRequests::put(const ResourceInfo& resource, const Key& key,
                               std::string_view subresource, Value object, Instant now) {
  return send("PUT", path_of(resource, key.ns, key.name, subresource), "application/json",
              std::move(object), now);
}

Result<void> LoopRequests::create(const ResourceInfo& resource, const std::string& ns, Value object,
                                  Instant now) {
  return send("POST", path_of(resource, ns, {}, {}), "application/json", std::move(object), now);
}

Result<void> LoopRequests::send(std::string method, std::string path, std::string content_type,
                                Value body, Instant now) {
  Request request;
  request.method = std::move(method);
  request.path = std::move(path);
  request.headers.emplace("content-type", std::move(content_type));
  request.headers.emplace("user-agent", user_.substr(user_.rfind(':') + 1));
  request.body = std::move(body);
  request.credentials.internal_user = user_;
  const Response response = server_.handle(std::move(request), now);
  if (response.status < 400) {
    return {};
  }
  const Value status = response.value.value_or(Value());
  return Error{.code = response.status,
               .reason = status["reason"].str(),
               .message = status["message"].str()};
}

}  // namespace athanor::apiserver
