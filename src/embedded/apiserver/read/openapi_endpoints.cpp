// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/read/openapi_endpoints.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "embedded/apiserver/aggregation/aggregation.hpp"
#include "embedded/apiserver/read/document_cache.hpp"
#include "embedded/apiserver/request/respond.hpp"
#include "kube/openapi/openapi.hpp"
#include "kube/openapi/openapi_v2.hpp"
#include "kube/openapi/openapi_v2_protobuf.hpp"
#include "kube/text/json.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kRoot = "/openapi/v3";
constexpr std::string_view kSwaggerProtobuf =
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
constexpr std::string_view kSwaggerAnswer =
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
constexpr Duration kYear = std::chrono::hours(24 * 365);

// "api/v1" or "apis/GROUP/VERSION".
std::string document_path(std::string_view group, std::string_view version) {
  return group.empty() ? fmt::format("api/{}", version) : fmt::format("apis/{}/{}", group, version);
}

OpenApiResource openapi_resource(const ResourceInfo& info) {
  OpenApiResource resource;
  resource.plural = info.plural;
  resource.kind = info.kind;
  resource.list_kind = info.list_kind;
  resource.namespaced = info.namespaced;
  resource.verbs = info.verbs;
  for (const SubresourceInfo& sub : info.subresources) {
    resource.subresources.push_back({.name = sub.name,
                                     .group = sub.group,
                                     .version = sub.version,
                                     .kind = sub.kind,
                                     .verbs = sub.verbs});
  }
  resource.custom_schema = info.open_api;
  return resource;
}

DocumentCache::Resources resources_of(const ResourceTable& table, std::string_view group,
                                      std::string_view version) {
  DocumentCache::Resources resources;
  for (const auto& info : table.all()) {
    if (info->group == group && info->version == version) {
      resources.push_back(info);
    }
  }
  return resources;
}

Value describe(const DocumentCache::Resources& resources, std::string_view group,
               std::string_view version) {
  std::vector<OpenApiResource> described;
  described.reserve(resources.size());
  for (const auto& info : resources) {
    described.push_back(openapi_resource(*info));
  }
  return openapi_document(group, version, described);
}

std::shared_ptr<const CachedDocument> document_of(const Call& call, std::string_view group,
                                                  std::string_view version) {
  const DocumentCache::Resources resources = resources_of(*call.table, group, version);
  return call.core.documents->get(document_path(group, version), resources,
                                  [&] { return json::print(describe(resources, group, version)); });
}

// The first of the two forms that the client names.
bool wants_swagger_protobuf(const Request& request) {
  const std::string accept = request.header_list("accept");
  const std::size_t protobuf = accept.find(kSwaggerProtobuf);
  return protobuf != std::string_view::npos && protobuf < accept.find("json");
}

// Swagger 2.0 over all group-versions, those of other servers among them.
Response swagger(const Call& call) {
  const ResourceTable& table = *call.table;
  const std::vector<RemoteApi> remotes = call.core.aggregation->described();
  const bool protobuf = wants_swagger_protobuf(call.request);
  std::string name = protobuf ? "openapi/v2.pb" : "openapi/v2";
  for (const RemoteApi& api : remotes) {
    name += " " + api.openapi_hash;
  }
  const auto document = call.core.documents->get(name, table.all(), [&] {
    std::vector<Value> documents;
    for (const GroupInfo& group : table.groups()) {
      for (const std::string& version : group.versions) {
        documents.push_back(
            describe(resources_of(table, group.name, version), group.name, version));
      }
    }
    for (const RemoteApi& api : remotes) {
      documents.push_back(json::parse(*api.openapi).value_or(Value()));
    }
    const Value merged = openapi_v2_document(documents);
    return protobuf ? openapi_v2_protobuf(merged) : json::print(merged);
  });
  Response response;
  if (protobuf) {
    response.content_type = kSwaggerAnswer;
  }
  const std::string tag = "\"" + document->hash + "\"";
  response.headers.emplace_back("Etag", tag);
  response.headers.emplace_back("Vary", "Accept");
  if (call.request.header("if-none-match") == tag) {
    response.status = 304;
    return response;
  }
  response.body = document->text;
  return response;
}

std::string url_of(const std::string& path, const CachedDocument& document) {
  return fmt::format("{}/{}?hash={}", kRoot, path, document.hash);
}

std::string remote_url(const RemoteApi& api) {
  return fmt::format("{}/{}?hash={}", kRoot, document_path(api.group, api.version),
                     api.openapi_hash);
}

Response index(const Call& call) {
  Value paths = Value::object();
  for (const GroupInfo& group : call.table->groups()) {
    for (const std::string& version : group.versions) {
      const std::string path = document_path(group.name, version);
      paths.set(path, Value::object({{"serverRelativeURL",
                                      url_of(path, *document_of(call, group.name, version))}}));
    }
  }
  for (const RemoteApi& api : call.core.aggregation->described()) {
    paths.set(document_path(api.group, api.version),
              Value::object({{"serverRelativeURL", remote_url(api)}}));
  }
  Response response;
  response.value = Value::object({{"paths", std::move(paths)}});
  return response;
}

// "Sat, 20 Nov 2027 10:00:00 GMT"
std::string http_date(Instant instant) {
  const auto days = std::chrono::floor<std::chrono::days>(instant);
  const std::chrono::year_month_day date(days);
  const std::chrono::hh_mm_ss time(std::chrono::floor<std::chrono::seconds>(instant - days));
  constexpr std::string_view kDays = "SunMonTueWedThuFriSat";
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT",
                     kDays.substr(std::chrono::weekday(days).c_encoding() * std::size_t{3}, 3),
                     static_cast<unsigned>(date.day()),
                     kMonths.substr((static_cast<unsigned>(date.month()) - 1) * std::size_t{3}, 3),
                     static_cast<int>(date.year()), time.hours().count(), time.minutes().count(),
                     time.seconds().count());
}

Response openapi_document(const Call& call, std::string_view group, std::string_view version) {
  const auto document = document_of(call, group, version);
  Response response;
  const auto hash = call.request.parameter("hash");
  if (hash && *hash != document->hash) {
    response.status = 301;
    response.headers.emplace_back("Location", url_of(document_path(group, version), *document));
    return response;
  }
  const std::string tag = "\"" + document->hash + "\"";
  response.headers.emplace_back("Etag", tag);
  response.headers.emplace_back("Vary", "Accept");
  if (hash) {
    response.headers.emplace_back("Cache-Control", "public, immutable");
    response.headers.emplace_back("Expires", http_date(call.now + kYear));
  }
  if (call.request.header("if-none-match") == tag) {
    response.status = 304;
    return response;
  }
  response.body = document->text;
  return response;
}

// Of another server, as it was when it was asked last.
Response remote_document(const Call& call, const RemoteApi& api) {
  Response response;
  const auto hash = call.request.parameter("hash");
  if (hash && *hash != api.openapi_hash) {
    response.status = 301;
    response.headers.emplace_back("Location", remote_url(api));
    return response;
  }
  response.headers.emplace_back("Etag", "\"" + api.openapi_hash + "\"");
  response.headers.emplace_back("Vary", "Accept");
  response.body = *api.openapi;
  return response;
}

bool accepts_json(const Request& request) {
  const std::string accept = request.header_list("accept");
  return accept.empty() || accept.find("json") != std::string::npos ||
         accept.find("*/*") != std::string::npos;
}

}  // namespace

std::optional<StatusResult<Response>> serve_openapi(Call& call) {
  std::string_view path = call.request.path;
  if (path == "/openapi/v2") {
    if (!accepts_json(call.request) && !wants_swagger_protobuf(call.request)) {
      return status::not_acceptable("application/json");
    }
    return swagger(call);
  }
  if (!path.starts_with(kRoot)) {
    return std::nullopt;
  }
  path.remove_prefix(kRoot.size());
  if (!accepts_json(call.request)) {
    return status::not_acceptable("application/json");
  }
  if (path.empty() || path == "/") {
    return index(call);
  }
  path.remove_prefix(1);
  for (const GroupInfo& group : call.table->groups()) {
    for (const std::string& version : group.versions) {
      if (path == document_path(group.name, version)) {
        return openapi_document(call, group.name, version);
      }
    }
  }
  for (const RemoteApi& api : call.core.aggregation->described()) {
    if (path == document_path(api.group, api.version)) {
      return remote_document(call, api);
    }
  }
  return status::page_not_found();
}

}  // namespace athanor::apiserver
