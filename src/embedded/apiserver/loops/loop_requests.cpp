// SPDX-License-Identifier: Apache-2.0
// Requests in process.
#include "embedded/apiserver/loops/loop_requests.hpp"

#include <fmt/core.h>

#include <utility>

#include "base/log.hpp"

namespace athanor::apiserver {
namespace {

// Answers that a loop reckons with: the object went, or changed, meanwhile.
constexpr int kGone = 404;
constexpr int kConflict = 409;
constexpr Duration kWarningPause = std::chrono::minutes(1);

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
  const std::string request_line = method + " " + path;
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
  Error error{.code = response.status,
              .reason = status["reason"].str(),
              .message = status["message"].str()};
  if (error.code != kGone && error.code != kConflict) {
    note_refusal(request_line, error, now);
  }
  return error;
}

void LoopRequests::note_refusal(const std::string& request_line, const Error& error, Instant now) {
  server_.note_refusal(user_.substr(user_.rfind(':') + 1), error.code);
  // A loop comes back again and again.
  if (now < next_warning_ && error.message == last_warning_) {
    return;
  }
  next_warning_ = now + kWarningPause;
  last_warning_ = error.message;
  log::warn("a request of a control loop was refused",
            {{"loop", user_}, {"request", request_line}, {"error", error.message}});
}

}  // namespace athanor::apiserver
