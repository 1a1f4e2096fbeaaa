// SPDX-License-Identifier: Apache-2.0
// The discovery endpoints: which document, in which form.
#include "embedded/apiserver/read/discovery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/ascii.hpp"
#include "base/digest.hpp"
#include "embedded/apiserver/aggregation/aggregation.hpp"
#include "embedded/apiserver/read/document_cache.hpp"
#include "embedded/apiserver/read/health.hpp"
#include "embedded/apiserver/request/negotiate.hpp"
#include "embedded/apiserver/request/respond.hpp"
#include "kube/text/json.hpp"

namespace athanor::apiserver {
namespace {

// How the client wants /api or /apis.
enum class Form : std::uint8_t { Plain, Aggregated, None };

struct Wanted {
  Form form = Form::None;
  std::string media_type{};  // of the aggregated form as the client spelled it; empty: JSON
};

bool has_parameter(std::string_view element, std::string_view parameter) {
  while (!element.empty()) {
    const std::size_t end = std::min(element.find(';'), element.size());
    if (trimmed(element.substr(0, end), " ") == parameter) {
      return true;
    }
    element.remove_prefix(std::min(end + 1, element.size()));
  }
  return false;
}

Wanted wanted_form(const Request& request) {
  const std::string accept = request.header_list("accept");
  std::string_view header = accept;
  if (trimmed(header, " ").empty()) {
    return {.form = Form::Plain, .media_type = {}};
  }
  while (!header.empty()) {
    const std::size_t end = std::min(header.find(','), header.size());
    const std::string_view element = trimmed(header.substr(0, end), " ");
    header.remove_prefix(std::min(end + 1, header.size()));
    const std::string type = media_type(element);
    const bool json = type == "application/json" || type == "*/*" || type == "application/*";
    const bool other = type == "application/yaml" || type == kProtobufType;
    if ((json || other) && element.find("as=") == std::string_view::npos) {
      return {.form = Form::Plain, .media_type = other ? type : std::string()};
    }
    if (!json) {
      continue;
    }
    if (has_parameter(element, "g=apidiscovery.k8s.io") && has_parameter(element, "v=v2") &&
        has_parameter(element, "as=APIGroupDiscoveryList")) {
      return {.form = Form::Aggregated, .media_type = std::string(element)};
    }
  }
  return {};
}

Response json_response(Value value) {
  Response response;
  response.value = std::move(value);
  return response;
}

StatusResult<Response> encoded_as(const Wanted& wanted, StatusResult<Response> response) {
  if (response.ok() && wanted.form == Form::Plain && !wanted.media_type.empty()) {
    response->content_type = wanted.media_type;
  }
  return response;
}

StatusResult<Response> aggregated(Call& call, bool core_group, const std::string& type) {
  const ResourceTable& table = *call.table;
  std::shared_ptr<const CachedDocument> document;
  if (core_group || call.core.aggregation->empty()) {
    document = call.core.documents->get(
        core_group ? "discovery/api" : "discovery/apis", table.all(),
        [&] { return json::print(aggregated_discovery(table, core_group)); });
  } else {
    // Other servers come and go without our table.
    Value list = aggregated_discovery(table, false);
    call.core.aggregation->add_discovery(list);
    std::string text = json::print(list);
    std::string hash = sha256_hex(text);
    document = std::make_shared<const CachedDocument>(
        CachedDocument{.text = std::move(text), .hash = std::move(hash)});
  }
  Response response;
  const std::string tag = "\"" + document->hash + "\"";
  response.headers.emplace_back("Vary", "Accept");
  response.headers.emplace_back("Cache-Control", "public");
  response.headers.emplace_back("Etag", tag);
  response.content_type = type;
  if (call.request.header("if-none-match") == tag) {
    response.status = 304;
    return response;
  }
  response.body = document->text;
  return response;
}

Value root_paths(const Call& call) {
  std::set<std::string> paths = {"/.well-known/openid-configuration",
                                 "/api",
                                 "/apis",
                                 "/metrics",
                                 "/metrics/slis",
                                 "/openapi/v2",
                                 "/openapi/v3",
                                 "/openid/v1/jwks",
                                 "/version"};
  for (const std::string& path : health_paths()) {
    paths.insert(path);
  }
  for (const GroupInfo& group : call.table->groups()) {
    const std::string base = group.name.empty() ? "/api" : "/apis/" + group.name;
    paths.insert(base);
    for (const std::string& version : group.versions) {
      paths.insert(fmt::format("{}/{}", base, version));
    }
  }
  Value list = Value::list();
  for (const std::string& path : paths) {
    list.push_back(Value(path));
  }
  return Value::object({{"paths", std::move(list)}});
}

std::vector<std::string> segments_of(std::string_view path) {
  std::vector<std::string> segments;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0) {
      segments.emplace_back(path.substr(0, end));
    }
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return segments;
}

StatusResult<Response> group_document(const Call& call, const std::string& name) {
  for (const GroupInfo& group : call.table->groups()) {
    if (group.name == name && !name.empty()) {
      return json_response(api_group(group));
    }
  }
  if (auto remote = call.core.aggregation->group(name)) {
    return json_response(*std::move(remote));
  }
  return status::page_not_found();
}

StatusResult<Response> version_document(const Call& call, const std::string& group,
                                        const std::string& version) {
  if (!call.table->has_group(group)) {
    return status::page_not_found();
  }
  if (!call.table->has_version(group, version)) {
    return status::unknown_resource();
  }
  return json_response(api_resource_list(*call.table, group, version));
}

}  // namespace

std::optional<StatusResult<Response>> serve_discovery(Call& call) {
  const std::string& path = call.request.path;
  if (path == "/") {
    return json_response(root_paths(call));
  }
  if (path.starts_with("//") || !path.starts_with("/api")) {
    return std::nullopt;
  }
  const std::vector<std::string> segments = segments_of(path);
  const bool core_group = segments[0] == "api";
  if (!core_group && segments[0] != "apis") {
    return std::nullopt;
  }
  if (call.request.method != "GET" && call.request.method != "HEAD") {
    return status::method_not_allowed();
  }
  const Wanted wanted = wanted_form(call.request);
  if (segments.size() == 1) {
    if (wanted.form == Form::Aggregated) {
      return aggregated(call, core_group, wanted.media_type);
    }
    if (wanted.form == Form::None) {
      return status::not_acceptable(
          "application/json, application/yaml, application/vnd.kubernetes.protobuf");
    }
    if (core_group) {
      return encoded_as(wanted, json_response(api_versions(call.core)));
    }
    Value groups = api_group_list(*call.table);
    call.core.aggregation->add_groups(groups);
    return encoded_as(wanted, json_response(std::move(groups)));
  }
  if (core_group && segments.size() == 2) {
    return encoded_as(wanted, version_document(call, "", segments[1]));
  }
  if (!core_group && segments.size() == 2) {
    return encoded_as(wanted, group_document(call, segments[1]));
  }
  if (!core_group && segments.size() == 3) {
    return encoded_as(wanted, version_document(call, segments[1], segments[2]));
  }
  return std::nullopt;
}

}  // namespace athanor::apiserver
