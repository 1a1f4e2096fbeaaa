// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/request/request_path.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "base/ascii.hpp"
#include "kube/names/selector.hpp"

namespace athanor::apiserver {
namespace {

std::vector<std::string_view> split_path(std::string_view path) {
  std::vector<std::string_view> segments;
  segments.reserve(8);
  std::size_t start = 0;
  while (start <= path.size()) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    if (end > start) {
      segments.push_back(path.substr(start, end - start));
    }
    start = end + 1;
  }
  return segments;
}

bool asks_to_watch(const Request& request) {
  const auto watch = request.parameter("watch");
  return watch && (*watch == "1" || *watch == "true" || *watch == "True" || *watch == "TRUE" ||
                   *watch == "t" || *watch == "T");
}

std::string resource_verb(const Request& request, const RequestPath& path) {
  const std::string& method = request.method;
  if (method == "GET" || method == "HEAD") {
    if (!path.name.empty() && !path.legacy_watch) {
      return "get";
    }
    return path.legacy_watch || asks_to_watch(request) ? "watch" : "list";
  }
  if (method == "POST") {
    return "create";
  }
  if (method == "PUT") {
    return "update";
  }
  if (method == "PATCH") {
    return "patch";
  }
  if (method == "DELETE") {
    return path.name.empty() ? "deletecollection" : "delete";
  }
  return {};
}

// "namespaces/NS/RESOURCE/NAME/SUB/REST" behind the version.
void read_resource(const std::vector<std::string_view>& segments, std::size_t at,
                   RequestPath& path) {
  if (at < segments.size() && segments[at] == "watch") {
    path.legacy_watch = true;
    ++at;
  }
  // namespaces/NS/finalize and namespaces/NS/status are about the namespace itself.
  const bool about_namespace =
      at + 2 >= segments.size() || segments[at + 2] == "finalize" || segments[at + 2] == "status";
  if (at + 1 < segments.size() && segments[at] == "namespaces") {
    path.ns = std::string(segments[at + 1]);
    if (!about_namespace) {
      at += 2;
    }
  }
  const auto take = [&]() {
    return at < segments.size() ? std::string(segments[at++]) : std::string();
  };
  path.resource = take();
  path.name = take();
  path.subresource = take();
  while (at < segments.size()) {
    path.rest += "/" + take();
  }
}

}  // namespace

RequestPath parse_request_path(const Request& request) {
  RequestPath path;
  path.verb = lower(request.method);
  if (request.path.starts_with("//")) {
    return path;
  }
  const std::vector<std::string_view> segments = split_path(request.path);
  if (segments.size() >= 3 && segments[0] == "api") {
    path.version = std::string(segments[1]);
    path.is_resource = true;
    read_resource(segments, 2, path);
  } else if (segments.size() >= 4 && segments[0] == "apis") {
    path.group = std::string(segments[1]);
    path.version = std::string(segments[2]);
    path.is_resource = true;
    read_resource(segments, 3, path);
  }
  if (path.is_resource) {
    path.verb = resource_verb(request, path);
    if (path.verb.empty()) {
      path.verb = lower(request.method);
    }
  }
  return path;
}

bool is_long_running(const RequestPath& path) {
  constexpr std::array<std::string_view, 5> kSubresources = {"proxy", "attach", "exec",
                                                             "portforward", "log"};
  return path.verb == "watch" || path.verb == "proxy" ||
         std::ranges::find(kSubresources, path.subresource) != kSubresources.end();
}

Result<Duration> allotted_time(const Request& request, Duration longest) {
  const auto text = request.parameter("timeout");
  if (!text || text->empty()) {
    return longest;
  }
  auto wanted = parse_go_duration(*text);
  if (!wanted.ok()) {
    return Error::bad_request("invalid timeout specified in the request URL - " +
                              wanted.error().message);
  }
  return *wanted <= Duration::zero() ? longest : std::min(*wanted, longest);
}

Attributes attributes_of(const RequestPath& path, const Request& request, const UserInfo& user) {
  Attributes attributes;
  attributes.user = &user;
  attributes.verb = path.verb;
  attributes.is_resource = path.is_resource;
  if (!path.is_resource) {
    attributes.path = request.path;
    return attributes;
  }
  attributes.group = path.group;
  attributes.version = path.version;
  attributes.resource = path.resource;
  attributes.subresource = path.subresource;
  attributes.ns = path.ns;
  attributes.name = path.name;
  const bool many = path.verb == "list" || path.verb == "watch" || path.verb == "deletecollection";
  if (many && path.name.empty()) {
    if (const auto text = request.parameter("fieldSelector"); text && !text->empty()) {
      attributes.field_selector = *text;
      if (const auto fields = parse_field_selector(*text); fields.ok()) {
        for (const FieldRequirement& requirement : *fields) {
          if (requirement.field == "metadata.name" && requirement.equal) {
            attributes.name = requirement.value;
          }
        }
      }
    }
  }
  return attributes;
}

}  // namespace athanor::apiserver
