// SPDX-License-Identifier: Apache-2.0
#include "console/world/api_port.hpp"

#include <fmt/format.h>

#include "client/connection.hpp"

namespace athanor::console {

std::string api_path(const Kind& kind, const std::string& ns, const std::string& name) {
  std::string path = kind.group.empty() ? fmt::format("/api/{}", kind.version)
                                        : fmt::format("/apis/{}/{}", kind.group, kind.version);
  if (kind.namespaced && !ns.empty()) {
    path += "/namespaces/" + client::escape(ns);
  }
  path += fmt::format("/{}", kind.plural);
  return name.empty() ? path : path + "/" + client::escape(name);
}

client::ApiRequest ApiPort::prepared(const Viewer& viewer, client::ApiRequest request) const {
  request.timeout = timeout_;
  request.head_timeout = timeout_;
  request.lane = client::Lane::Urgent;
  if (!viewer.user.empty()) {
    request.headers.emplace_back("Impersonate-User", viewer.user);
    for (const std::string& group : viewer.groups) {
      request.headers.emplace_back("Impersonate-Group", group);
    }
  }
  return request;
}

Result<Value> ApiPort::call(const Viewer& viewer, client::ApiRequest request) const {
  client::ApiResult result = client_->call(prepared(viewer, std::move(request)));
  if (result.error) {
    return *std::move(result.error);
  }
  return std::move(result.body);
}

Result<std::string> ApiPort::text(const Viewer& viewer, const std::string& path) const {
  client::ApiResult result =
      client_->call(prepared(viewer, {.path = path, .accept = "*/*", .text = true}));
  if (result.error) {
    return *std::move(result.error);
  }
  return std::move(result.text);
}

Result<Object> ApiPort::get(const Viewer& viewer, const Kind& kind, const Key& key) const {
  ATHANOR_TRY(Value body, call(viewer, {.path = api_path(kind, key.ns, key.name)}));
  return Object(std::move(body));
}

Result<std::vector<Object>> ApiPort::list(const Viewer& viewer, const Kind& kind,
                                          const std::string& ns, const std::string& query) const {
  ATHANOR_TRY(const Value body, call(viewer, {.path = api_path(kind, ns) + query}));
  std::vector<Object> objects;
  objects.reserve(body["items"].size());
  for (const Value& item : body["items"].items()) {
    Value object = item;
    object.set("apiVersion", kind.api_version());
    object.set("kind", kind.name);
    objects.emplace_back(std::move(object));
  }
  return objects;
}

Result<Object> ApiPort::create(const Viewer& viewer, const Kind& kind, const Value& object,
                               const std::string& query) const {
  const std::string ns = object["metadata"]["namespace"].str();
  ATHANOR_TRY(Value body,
              call(viewer, {.method = "POST", .path = api_path(kind, ns) + query, .body = object}));
  return Object(std::move(body));
}

Result<Object> ApiPort::patch(const Viewer& viewer, const Kind& kind, const Key& key,
                              const Value& merge) const {
  ATHANOR_TRY(Value body, call(viewer, {.method = "PATCH",
                                        .path = api_path(kind, key.ns, key.name) +
                                                "?fieldManager=athanor-console",
                                        .body = merge,
                                        .content_type = "application/merge-patch+json"}));
  return Object(std::move(body));
}

Result<void> ApiPort::remove(const Viewer& viewer, const Kind& kind, const Key& key,
                             const Value& options) const {
  const auto answer =
      call(viewer, {.method = "DELETE", .path = api_path(kind, key.ns, key.name), .body = options});
  return answer.ok() ? Result<void>() : answer.error();
}

}  // namespace athanor::console
