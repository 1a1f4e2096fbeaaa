// SPDX-License-Identifier: Apache-2.0
#include "console/routes/route_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "base/check.hpp"
#include "console/routes/answer_notation.hpp"
#include "console/routes/answer_schemas.hpp"

namespace athanor::console {
namespace {

std::vector<std::string_view> segments_of(std::string_view path) {
  std::vector<std::string_view> segments;
  while (!path.empty()) {
    path.remove_prefix(path.front() == '/' ? 1 : 0);
    const std::size_t slash = path.find('/');
    segments.push_back(path.substr(0, slash));
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash);
  }
  return segments;
}

bool is_name(std::string_view segment) {
  return segment.starts_with('{');
}

// The parts of a path that has this pattern; nullopt: it has another. Fixed words come before
// names: `fixed` counts them.
std::optional<FoundRoute> match(const Route& route, const std::vector<std::string_view>& path,
                                std::size_t& fixed) {
  const std::vector<std::string_view> pattern = segments_of(route.path);
  if (pattern.size() != path.size()) {
    return std::nullopt;
  }
  FoundRoute found{.route = &route};
  fixed = 0;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (is_name(pattern[i])) {
      if (path[i].empty()) {
        return std::nullopt;
      }
      found.parts.emplace(pattern[i].substr(1, pattern[i].size() - 2), path[i]);
    } else if (pattern[i] != path[i]) {
      return std::nullopt;
    } else {
      ++fixed;
    }
  }
  return found;
}

Value parameter(std::string_view name, std::string_view in) {
  return Value::object({{"name", name},
                        {"in", in},
                        {"required", in == "path"},
                        {"schema", Value::object({{"type", "string"}})}});
}

// Returns the schema of a list of rows of a shape.
Value list_schema(const ListShape& shape) {
  return schema_of(fmt::format(
      "{{items: [@{}], total: whole, continue?, resourceVersion?, now?: time, partial?: "
      "flag, unavailable?: [text], facets?: <<whole>>}}",
      shape.name));
}

// Schema of a body with such members.
Value body_schema(const std::vector<std::string_view>& members) {
  Value properties = Value::object();
  for (const std::string_view member : members) {
    const std::size_t colon = std::min(member.find(':'), member.size());
    const std::string_view type = member.substr(std::min(colon + 1, member.size()));
    properties.set(member.substr(0, colon),
                   Value::object({{"type", type.empty() ? "string" : type}}));
  }
  return Value::object({{"type", "object"}, {"properties", std::move(properties)}});
}

Value json_content(Value schema) {
  return Value::object({{"application/json", Value::object({{"schema", std::move(schema)}})}});
}

Value operation_of(const Route& route) {
  Value parameters = Value::list();
  for (const std::string_view segment : segments_of(route.path)) {
    if (is_name(segment)) {
      parameters.push_back(parameter(segment.substr(1, segment.size() - 2), "path"));
    }
  }
  for (const std::string_view name : query_names(route)) {
    parameters.push_back(parameter(name, "query"));
  }
  Value content = Value::object();
  content.set(route.content_type, Value::object({{"schema", Value::object()}}));
  if (const std::string_view notation = answer_notation(route.method, route.path);
      route.shape != nullptr) {
    content.set("application/json", Value::object({{"schema", list_schema(route.shape())}}));
  } else if (!notation.empty()) {
    content.set("application/json", Value::object({{"schema", schema_of(notation)}}));
  }
  Value refused = Value::object({{"description", "refused"}});
  if (route.path.starts_with("/api/v1/")) {
    refused.set("content", json_content(Value::object({{"$ref", "#/components/schemas/Error"}})));
  }
  Value operation = Value::object(
      {{"summary", route.summary},
       {"parameters", std::move(parameters)},
       {"responses", Value::object({{"200", Value::object({{"description", "done"},
                                                           {"content", std::move(content)}})},
                                    {"default", refused}})}});
  if (!route.body.empty()) {
    operation.set("requestBody",
                  Value::object({{"content", json_content(body_schema(route.body))}}));
  }
  if (route.guard == Guard::Change) {
    operation.set("security", Value::list({Value::object({{"csrf", Value::list()}})}));
  }
  return operation;
}

}  // namespace

std::span<const Route> all_routes() {
  static const std::vector<Route> kRoutes = [] {
    std::vector<Route> routes;
    for (std::vector<Route> part :
         {job_routes(), fleet_routes(), appwrapper_routes(), node_routes(), schedule_routes(),
          log_routes(), result_routes(), what_if_routes(), tree_routes(), system_routes(),
          legacy_routes()}) {
      std::ranges::move(part, std::back_inserter(routes));
    }
    return routes;
  }();
  return kRoutes;
}

Result<FoundRoute> find_route(std::string_view method, std::string_view path) {
  const std::vector<std::string_view> segments = segments_of(path);
  std::optional<FoundRoute> best;
  std::size_t best_fixed = 0;
  bool known = false;
  for (const Route& route : all_routes()) {
    std::size_t fixed = 0;
    auto found = match(route, segments, fixed);
    if (!found) {
      continue;
    }
    known = true;
    if (route.method == method && (!best || fixed > best_fixed)) {
      best = std::move(found);
      best_fixed = fixed;
    }
  }
  if (best) {
    return *std::move(best);
  }
  if (known) {
    return Error{.code = 405,
                 .reason = "BadRequest",
                 .message = fmt::format("{} is not possible here", method)};
  }
  return Error::not_found(fmt::format("there is no {}", path));
}

std::vector<std::string_view> query_names(const Route& route) {
  std::vector<std::string_view> names;
  if (route.shape != nullptr) {
    names.assign({"filter", "sort", "fields", "limit", "continue"});
  }
  names.insert(names.end(), route.parameters.begin(), route.parameters.end());
  return names;
}

Result<void> check_query(const Route& route, const net::Request& request, std::string& unknown) {
  if (!route.path.starts_with("/api/v1/")) {
    return {};
  }
  const std::vector<std::string_view> known = query_names(route);
  for (const auto& [name, value] : request.query) {
    if (std::ranges::find(known, name) == known.end()) {
      unknown = name;
      return Error::bad_request(
          known.empty()
              ? fmt::format("unknown parameter \"{}\": {} takes none", name, route.path)
              : fmt::format("unknown parameter \"{}\"; known: {}", name, fmt::join(known, ", ")));
    }
  }
  return {};
}

Result<void> check_body(const Route& route, const Value& body, std::string& unknown) {
  std::vector<std::string_view> known;
  known.reserve(route.body.size());
  for (const std::string_view member : route.body) {
    known.push_back(member.substr(0, member.find(':')));
  }
  const bool is_object = std::ranges::find(known, "apiVersion") != known.end();
  if (known.empty() || is_object || !route.path.starts_with("/api/v1/")) {
    return {};
  }
  for (const Member& member : body.members()) {
    if (std::ranges::find(known, member.key()) == known.end()) {
      unknown = member.key();
      return Error::bad_request(
          fmt::format("unknown field \"{}\"; known: {}", unknown, fmt::join(known, ", ")));
    }
  }
  return {};
}

std::optional<std::string_view> Exchange::parameter(std::string_view name) const {
  const std::vector<std::string_view> all = parameters(name);
  return all.empty() ? std::nullopt : std::optional(all.front());
}

std::string Exchange::text(std::string_view name, std::string_view otherwise) const {
  return std::string(parameter(name).value_or(otherwise));
}

std::vector<std::string_view> Exchange::parameters(std::string_view name) const {
  const std::vector<std::string_view> known = query_names(route);
  ATHANOR_CHECK(
      std::ranges::find(known, name) != known.end() || !route.path.starts_with("/api/v1/"),
      "a handler reads what its route lists");
  return request.parameters(name);
}

Value openapi_document(std::string_view version) {
  Value paths = Value::object();
  for (const Route& route : all_routes()) {
    paths.member(route.path).set(lower(route.method), operation_of(route));
  }
  // {"error": {code, reason, message, field}} (docs/spec/dashboard.md B5).
  Value schemas = Value::object(
      {{"Error", schema_of("{error: {code: whole, reason, message, field?, token?}}")}});
  for (const NamedNotation& one : shared_schemas()) {
    schemas.set(one.name, schema_of(one.notation));
  }
  return Value::object(
      {{"openapi", "3.0.3"},
       {"info", Value::object({{"title", "Athanor console"}, {"version", version}})},
       {"paths", std::move(paths)},
       {"components",
        Value::object(
            {{"schemas", std::move(schemas)},
             {"securitySchemes",
              Value::object({{"csrf", Value::object({{"type", "apiKey"},
                                                     {"in", "header"},
                                                     {"name", "X-Athanor-CSRF"}})}})}})}});
}

}  // namespace athanor::console
